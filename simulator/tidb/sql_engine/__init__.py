"""The scripted upstream: what a session's SQL makes of rows, and which net changes of it a changefeed sees.

One law: a statement takes an `Upstream` and gives another, with what was committed on the way; nothing is kept
elsewhere.
"""
