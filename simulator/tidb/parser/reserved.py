"""Words that are no names without back-quotes.

After a `.` and between back-quotes any word is a name. Elsewhere no word of RESERVED is a name, and no word of
NOT_CALLED is the name of a function.
"""

from __future__ import annotations

from importlib import resources


def _read_keywords() -> list[tuple[str, str, str]]:
    """Return the word of each line of `keywords.tsv`, its kind, and whether it may be the name of a function."""
    with resources.files(__package__).joinpath("keywords.tsv").open(encoding="utf-8") as lines:
        next(lines)
        return [(word, kind, called) for word, kind, called in map(str.split, lines)]


_KEYWORDS = _read_keywords()
RESERVED = frozenset(word for word, kind, _ in _KEYWORDS if kind == "reserved")
"""TiDB v8.5: the reserved words of pkg/parser/keywords.go, and their other spellings in misc.go."""

UNRESERVED = frozenset(word for word, kind, _ in _KEYWORDS if kind == "unreserved")
"""TiDB v8.5: the other words of pkg/parser/keywords.go."""

NOT_CALLED = frozenset(word for word, _, called in _KEYWORDS if called == "no")
"""TiDB v6.5: words of the grammar that may name a column but no function (pkg/parser/parser.y)."""

FUNCTIONS = frozenset(
    """
    CAST CURDATE CURTIME DATE_ADD DATE_SUB EXTRACT NOW POSITION SUBSTR SUBSTRING TRIM BIT_AND BIT_OR BIT_XOR
    GROUP_CONCAT MAX MIN STD STDDEV STDDEV_POP STDDEV_SAMP SUM VARIANCE VAR_POP VAR_SAMP APPROX_COUNT_DISTINCT
    APPROX_PERCENTILE COUNT MID SYSDATE TRANSLATE
    """.split()
)
"""Words that are no names if `(` follows them, under IGNORE_SPACE also after blanks (pkg/parser/misc.go, btFuncTokenMap)."""
