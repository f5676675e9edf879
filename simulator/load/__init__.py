"""Load: a continuous stream of generated changes, encoded and sent a window at a time.

A window is sent in this order: its rows, then, once all are acknowledged, the checkpoint and the watermark. A restart
therefore repeats at most the open window.
"""
