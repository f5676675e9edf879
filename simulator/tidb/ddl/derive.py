"""The ALTER statements that lead from one definition of a table to another.

One law: applied in order they give the second definition; each changes one thing, so that every release takes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from simulator.tidb.ddl.definitions import (
    column_text,
    foreign_key_text,
    index_text,
    partitioning_text,
    partitions_text,
    ttl_text,
)
from simulator.tidb.model.table import Column, ForeignKey, Index, Partition, Partitioning, Table
from simulator.tidb.restore.names import literal, quoted

K = TypeVar("K", Index, ForeignKey)


def alterations(before: Table, after: Table, renamed: Mapping[str, str]) -> tuple[str, ...]:
    """Statements, none where nothing differs; `renamed` gives columns' new names by their old ones.

    Keys that lose a column go first and new ones come last, as TiDB wants it.
    """
    if before is after and not renamed:
        return ()
    target = f"ALTER TABLE {quoted(after.schema)}.{quoted(after.name)}"
    moved = _renamed(before, renamed)
    specs = [f"RENAME COLUMN {quoted(old)} TO {quoted(new)}" for old, new in renamed.items()]
    specs += _charset(before, after)
    specs += [f"DROP FOREIGN KEY {quoted(key.name)}" for key in _gone(moved.foreign_keys, after.foreign_keys)]
    specs += [_dropped(index) for index in _gone(moved.indexes, after.indexes)]
    specs += _columns(moved, after)
    specs += [f"ADD {index_text(index)}" for index in _gone(after.indexes, moved.indexes)]
    specs += [f"ADD {foreign_key_text(key)}" for key in _gone(after.foreign_keys, moved.foreign_keys)]
    specs += _visibility(moved, after)
    specs += _options(before, after)
    specs += _partitions(before.partitioning, after.partitioning)
    return tuple(f"{target} {spec}" for spec in specs)


def _renamed(table: Table, names: Mapping[str, str]) -> Table:
    """The table with those columns under their new names."""
    def new(name: str) -> str:
        return names.get(name, name)

    indexes = tuple(
        replace(index, columns=tuple(replace(part, name=new(part.name)) for part in index.columns))
        for index in table.indexes
    )
    columns = tuple(replace(column, name=new(column.name)) for column in table.columns)
    return replace(table, columns=columns, indexes=indexes, primary_key=tuple(map(new, table.primary_key)))


def _charset(before: Table, after: Table) -> list[str]:
    if (before.charset, before.collation) == (after.charset, after.collation):
        return []
    return [f"DEFAULT CHARACTER SET = {after.charset} COLLATE = {after.collation}"]


def _gone(keys: Sequence[K], others: Sequence[K]) -> list[K]:
    """The keys that the others have not, or have under the same name as another key."""
    known = [_bare(key) for key in others]
    return [key for key in keys if _bare(key) not in known]


def _bare(key: Index | ForeignKey) -> Index | ForeignKey:
    """A key without what can change while it stays."""
    if isinstance(key, ForeignKey):
        return replace(key, id=0, name=key.name.lower())
    return replace(key, id=0, name=key.name.lower(), visible=True)


def _dropped(index: Index) -> str:
    return "DROP PRIMARY KEY" if index.primary else f"DROP INDEX {quoted(index.name)}"


def _visibility(before: Table, after: Table) -> Iterator[str]:
    known = {index.name.lower(): index.visible for index in before.indexes}
    for index in after.indexes:
        if known.get(index.name.lower(), index.visible) != index.visible:
            yield f"ALTER INDEX {quoted(index.name)} {'VISIBLE' if index.visible else 'INVISIBLE'}"


def _columns(before: Table, after: Table) -> Iterator[str]:
    """Columns dropped, then from left to right those added, changed or moved."""
    wanted = {column.name.lower() for column in after.columns}
    for column in before.columns:
        if column.name.lower() not in wanted:
            yield f"DROP COLUMN {quoted(column.name)}"
    known = {column.name.lower(): column for column in before.columns if column.name.lower() in wanted}
    staying = _staying(list(known), [column.name.lower() for column in after.columns if column.name.lower() in known])
    previous: Column | None = None
    for number, column in enumerate(after.columns):
        place = f" AFTER {quoted(previous.name)}" if previous else " FIRST"
        place = "" if number == len(after.columns) - 1 and column.name.lower() not in known else place
        yield from _column(known.get(column.name.lower()), column, after, place, column.name.lower() in staying)
        previous = column


def _column(known: Column | None, column: Column, table: Table, place: str, stays: bool) -> Iterator[str]:
    if known is None:
        yield f"ADD COLUMN {column_text(column, table)}{place}"
    elif known != column or not stays:
        yield f"MODIFY COLUMN {column_text(column, table)}{'' if stays else place}"


def _staying(before: Sequence[str], after: Sequence[str]) -> set[str]:
    """The most columns that can keep their place: a longest common subsequence of two orders of the same names."""
    place = {name: number for number, name in enumerate(before)}
    chains: list[tuple[str, ...]] = []
    for name in after:
        shorter = [chain for chain in chains if place[chain[-1]] < place[name]]
        chains.append((*_longest(shorter), name))
    return set(_longest(chains))


def _longest(chains: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    return max(chains, key=lambda chain: len(chain), default=())


def _options(before: Table, after: Table) -> Iterator[str]:
    if before.comment != after.comment:
        yield f"COMMENT = {literal(after.comment)}"
    if after.ttl != before.ttl:
        yield ttl_text(after.ttl) if after.ttl else "REMOVE TTL"


def _partitions(before: Partitioning | None, after: Partitioning | None) -> list[str]:
    """What leads from one partitioning to the other: by name where only the ends differ, else PARTITION BY."""
    if before == after:
        return []
    if after is None:
        return ["REMOVE PARTITIONING"]
    if before is not None and after.kind in ("range", "list") and _rule(before) == _rule(after):
        by_name = _by_name(after.kind, before.partitions, after.partitions)
        if by_name is not None:
            return by_name
    return [f"PARTITION BY {partitioning_text(after)}"]


def _rule(partitioning: Partitioning) -> Partitioning:
    return replace(partitioning, partitions=())


def _by_name(kind: str, before: Sequence[Partition], after: Sequence[Partition]) -> list[str] | None:
    """DROP and ADD PARTITION; None where they do not lead there."""
    gone = [one for one in before if one not in after]
    kept = [one for one in before if one in after]
    new = list(after[len(kept):])
    if not kept or list(after[:len(kept)]) != kept:
        return None
    specs = [f"DROP PARTITION {', '.join(quoted(one.name) for one in gone)}"] if gone else []
    return specs + ([f"ADD PARTITION {partitions_text(kind, new)}"] if new else [])
