"""What TiDB's parser itself refuses in PARTITION BY, before it knows the table.

One law: counts, kinds of values and their widths agree (TiDB: pkg/parser/ast/ddl.go, PartitionOptions.Validate).
"""

from __future__ import annotations

from collections.abc import Iterator

from simulator.errors import SchemaError
from simulator.tidb.parser.cursor import Cursor, position
from simulator.tidb.syntax.tables import PartitionDefinition, PartitionSyntax

KINDS = {
    "range": ("less than",),
    "list": ("in", "default"),
    "hash": ("",),
    "key": ("",),
    "system_time": ("history", "current"),
}
NEEDS = {
    "range": "VALUES LESS THAN", "list": "VALUES IN", "system_time": "HISTORY or CURRENT", "hash": "no VALUES",
    "key": "no VALUES",
}
"""How a partition of each kind of partitioning says what it holds."""


def check_partitioning(cursor: Cursor, partitioning: PartitionSyntax) -> None:
    """Raises SchemaError for the first thing that is wrong."""
    wrong = next(mistakes(partitioning), "")
    if wrong:
        raise SchemaError(f"{position(cursor.sql, partitioning.at)}: {wrong}")


def mistakes(partitioning: PartitionSyntax) -> Iterator[str]:
    count, written, kind = partitioning.count, len(partitioning.definitions), partitioning.kind
    if count and written and count != written:
        yield f"PARTITIONS {count}, but {written} are written out"
    yield from subpartition_mistakes(partitioning)
    if kind in ("range", "list") and not written and not partitioning.interval:
        yield f"{kind.upper()} partitioning needs its partitions written out"
    if kind == "system_time" and written < 2:
        yield "SYSTEM_TIME partitioning needs two partitions or more: HISTORY ones, and a CURRENT one at the end"
    for definition in partitioning.definitions:
        yield from definition_mistakes(definition, kind, len(partitioning.columns))


def subpartition_mistakes(partitioning: PartitionSyntax) -> Iterator[str]:
    counts = {len(definition.subpartitions) for definition in partitioning.definitions}
    written = max(counts, default=0)
    if len(counts) > 1:
        yield "every partition needs the same number of subpartitions"
    if not partitioning.subpartition:
        if written:
            yield "subpartitions are written out, but no SUBPARTITION BY says how rows are spread over them"
    elif written and partitioning.subpartition.count not in (0, written):
        yield f"SUBPARTITIONS {partitioning.subpartition.count}, but {written} are written out"


def definition_mistakes(definition: PartitionDefinition, kind: str, columns: int) -> Iterator[str]:
    if definition.kind not in KINDS[kind]:
        yield f"partition {definition.name!r} of {kind.upper()} needs {NEEDS[kind]}"
    widths = {len(row) for row in definition.values if row != ("DEFAULT",)}
    if widths - {columns or 1}:
        yield f"partition {definition.name!r} needs {columns or 1} values at a time"
