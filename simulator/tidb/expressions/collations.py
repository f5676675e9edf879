"""MySQL's collations in SQL: what of a text is compared, itself or its sort key.

One law: texts are equal and sorted here as handle keys are, for both are made by `keys`.
"""

from __future__ import annotations

import pyarrow as pa

from simulator.tidb.collations import compare
from simulator.tidb.expressions.sql import Sql, sql


def collated(found: Sql, collation: str) -> Sql:
    """What compares as the text does: a text, or a BLOB."""
    if compare.is_weighed(collation):
        return sql(f"sort_key_{collation}({{}})", found)
    return sql("rtrim({}, ' ')", found) if compare.pads(collation) else found


def folded(found: Sql, collation: str) -> Sql:
    """The text with one character for each of its own, alike where the collation finds them alike."""
    return sql(f"alike_{collation}({{}})", found) if compare.is_weighed(collation) else found


def folded_text(found: str, collation: str) -> str:
    """The same of a constant."""
    return str(compare.alike(collation, pa.array([found]))[0]) if compare.is_weighed(collation) else found


def is_exact(collation: str) -> bool:
    """Whether the collation tells upper from lower case."""
    return collation == "binary" or collation.endswith("_bin")
