"""Old values without a column's name: a defect of the new architecture with only-output-updated-columns.

A column that becomes NULL is written into `p` as `"t":15,"f":64,"v":"…"` beside the named ones (ticdc up to v8.5.7 and
v26.3.4: pkg/sink/codec/open/codec.go). One law: a value gets a name only where no other column could have it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

Column: TypeAlias = "dict[str, Any]"
"""`t`, `f`, `v` of one column."""


def named(
    value: list[tuple[str, Any]], updated: Mapping[str, Column],
) -> tuple[dict[str, Column], list[Column]]:
    """The members of `p` by name, and those that stay without one; `value` is the message's value as pairs."""
    columns: dict[str, Column] = {}
    nameless: list[Column] = []
    for name, found in next(one for member, one in value if member == "p"):
        if isinstance(found, list):
            columns[name] = dict(found)
            continue
        if name == "t":
            nameless.append({})
        if not nameless:
            raise ValueError(f"member {name!r} of p is no column")
        nameless[-1][name] = found
    return _matched(columns, nameless, updated)


def _matched(
    columns: dict[str, Column], nameless: list[Column], updated: Mapping[str, Column],
) -> tuple[dict[str, Column], list[Column]]:
    """Where as many columns became NULL as values of their type and flags have no name, both in table order."""
    left: list[Column] = []
    for kind in dict.fromkeys(map(_kind, nameless)):
        values = [one for one in nameless if _kind(one) == kind]
        empty = [
            name for name, one in updated.items()
            if one["v"] is None and name not in columns and _kind(one) == kind
        ]
        if len(empty) == len(values):
            columns.update(zip(empty, values, strict=True))
        else:
            left += values
    return columns, left


def _kind(column: Column) -> tuple[Any, Any]:
    return column["t"], column.get("f")
