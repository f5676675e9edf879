"""MySQL's collations: the form of a text whose bytes order and equality are the collation's.

One law: general_ci goes character by character, by the capital without its accent; unicode_ci and 0900_ai_ci go by the
primary weights of the Unicode Collation Algorithm, which ICU has.
"""

from __future__ import annotations

from simulator.expressions.sql import Sql, sql


def collated(found: Sql, collation: str) -> Sql:
    """A text that compares as the collation does; all but utf8mb4_0900_… and binary ignore blanks at the end."""
    if collation == "binary":
        return found
    padded = found if "_0900_" in collation else sql("rtrim({}, ' ')", found)
    if is_exact(collation):
        return padded
    if "unicode" in collation or "_0900_" in collation:
        return sql("regexp_extract(icu_sort_key({}, 'und'), '^(?:..)*?01')", padded)
    return folded(padded, collation)


def folded(found: Sql, collation: str) -> Sql:
    """The text with one character for each of its own, alike where the collation finds them alike."""
    if is_exact(collation):
        return found
    if collation.startswith(("gbk", "gb18030")):
        return sql("lower({})", found)
    return sql("replace(upper(strip_accents({})), 'ẞ', 'S')", found)


def is_exact(collation: str) -> bool:
    """Whether the collation tells upper from lower case."""
    return collation == "binary" or collation.endswith("_bin")
