"""Text as typed, TiDB's features put into comments by searching for their words, as old releases do.

One law: a text that has a mark already stays as it is (TiDB: sessionctx/binloginfo/binloginfo.go AddSpecialComment,
types/parser_driver/special_cmt_ctrl.go).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

SHARDS = (
    re.compile(r"(?ai)(?P<mark>SHARD_ROW_ID_BITS\s*=\s*\d+\s*)"),
    re.compile(r"(?ai)(?P<mark>PRE_SPLIT_REGIONS\s*=\s*\d+\s*)"),
)
FEATURES = (
    ("auto_rand", re.compile(r"(?ai)(?P<mark>AUTO_RANDOM\b\s*(\s*\(\s*\d+\s*\)\s*)?)")),
    ("auto_id_cache", re.compile(r"(?ai)(?P<mark>AUTO_ID_CACHE\s*=?\s*\d+\s*)")),
    ("auto_rand_base", re.compile(r"(?ai)(?P<mark>AUTO_RANDOM_BASE\s*=?\s*\d+\s*)")),
    ("clustered_index", re.compile(r"(?ai)(PRIMARY)?\s+KEY(\s*\(.*\))?\s+(?P<mark>(NON)?CLUSTERED\b)")),
    ("force_inc", re.compile(r"(?ai)(?P<mark>FORCE)\b\s*AUTO_INCREMENT\s*")),
)


def marked(query: str, opening: str) -> str:
    """The query with its features marked; `opening` is the mark of SHARD_ROW_ID_BITS and PRE_SPLIT_REGIONS."""
    if opening in query or "/*T!" in query:
        return query
    query = collected(query, opening, SHARDS)
    for feature, pattern in FEATURES:
        query = collected(query, f"/*T![{feature}]", (pattern,))
    return query


def collected(query: str, opening: str, patterns: Iterable[re.Pattern[str]]) -> str:
    """All that the patterns find, taken out and put into one comment where the first of it stood."""
    found: list[str] = []
    first = len(query)
    for pattern in patterns:
        while match := pattern.search(query):
            start, end = match.span("mark")
            found.append(query[start:end])
            first = min(first, start)
            query = query[:start] + query[end:]
    if not found:
        return query
    comment = opening
    for text in (*found, "*/"):
        comment += text if comment.endswith(" ") else f" {text}"
    rest = query[first:]
    return f"{query[:first]}{comment} {rest}" if rest else query[:first] + comment
