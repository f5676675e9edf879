"""Optimizer hints that a statement's result depends on: SET_VAR and MAX_EXECUTION_TIME.

They count in the first comment `/*+ … */` of a statement (tidb pkg/util/hint/hint_processor.go).
"""

from __future__ import annotations

import re
from functools import lru_cache

COMMENT = re.compile(r"/\*\+(.*?)\*/", re.DOTALL)
SET_VARIABLE = re.compile(r"\bSET_VAR\s*\(\s*`?(\w+)`?\s*=\s*(?:'([^']*)'|\"([^\"]*)\"|([\w.+-]+))\s*\)", re.IGNORECASE)
TIME_LIMIT = re.compile(r"\bMAX_EXECUTION_TIME\s*\(\s*(?:@\w+\s+)?(\d+)\s*\)", re.IGNORECASE)


@lru_cache(256)
def hinted_variables(text: str) -> tuple[tuple[str, str], ...]:
    """Return the variables that hints set while the statement runs, with their values."""
    comment = COMMENT.search(text)
    if comment is None:
        return ()
    limits = [("max_execution_time", number) for number in TIME_LIMIT.findall(comment[1])]
    found = SET_VARIABLE.findall(comment[1])
    return (*((name.lower(), one or other or word) for name, one, other, word in found), *limits)
