"""How deep statements and expressions may nest.

Their trees are read by functions that call themselves, a few calls for each level, so that Python's limit of nested
calls is the limit of nesting. TiDB has none of its own: `1 + 1 + …` of a thousand terms has a value.
"""

from __future__ import annotations

import sys

CALLS = 8_000
"""Nested calls. Through C, as in `hash`, each takes up to 0.8 kB of a thread's stack, which has 8 MB (Python 3.11)."""

TOO_DEEP = "the statement is nested too deeply"


def allow_deep_nesting() -> None:
    """Allow as many nested calls in all threads, or more if more are allowed already."""
    if sys.getrecursionlimit() < CALLS:
        sys.setrecursionlimit(CALLS)
