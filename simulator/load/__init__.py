"""Load: a stream that goes on for as long as asked, made and sent a window at a time.

One law: a window's rows are all acknowledged before its watermark is sent, and its watermark before the next window's
rows; so what a restart repeats is at most the open window.
"""
