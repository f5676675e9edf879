"""Keys by which the order of row changes matters: values of unique keys, which one row hands on to another, and of foreign
keys, which name a row of the parent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from simulator.errors import SchemaError, SqlError
from simulator.sources.snapshots import PhysicalTable
from simulator.ticdc.table_info import other_unique_indexes
from simulator.tidb.model.table import ForeignKey, IndexColumn, Table, visible_columns
from simulator.tidb.sql_engine.storage.row_keys import UniqueKey, encode_key

BEFORE, AFTER, COMES, FOLLOWS, NONE = range(5)
"""Roles: of one value, changes with BEFORE precede those with AFTER, and those with COMES, which may be earlier than by
the row alone, those with FOLLOWS."""

FIRST = (BEFORE, COMES)


@dataclass(frozen=True)
class OrderedKey:
    """A key of a table whose values rows hand on or name."""

    key: UniqueKey
    """Its columns; those of a foreign key need not be unique."""

    roles: tuple[tuple[str, int | None, int | None], ...]
    """What the values are of, and the roles of a row that loses one and of a row that gets one."""


@dataclass(frozen=True)
class KeyOrder:
    """The keys of the tables of a comparison."""

    tables: tuple[PhysicalTable, ...]
    _keys: dict[int, tuple[OrderedKey, ...]] = field(default_factory=dict, init=False, compare=False)

    @cached_property
    def matters(self) -> bool:
        """Whether any table has such a key."""
        return any(map(self.keys, range(len(self.tables))))

    @cached_property
    def moves_earlier(self) -> bool:
        """Whether rows may change earlier than by their row alone."""
        keys = (key for number in range(len(self.tables)) for key in self.keys(number))
        return any(COMES in roles for key in keys for _, *roles in key.roles)

    def keys(self, number: int) -> tuple[OrderedKey, ...]:
        """Return the keys of a table; none if the order of its changes does not matter."""
        if number not in self._keys:
            table = self.tables[number].table
            self._keys[number] = (*_unique(table), *_naming(table), *self._named(table))
        return self._keys[number]

    def _named(self, table: Table) -> Iterator[OrderedKey]:
        """Yield the columns to which foreign keys refer.

        A parent is there as long as rows name it: one that takes the place of another comes before that goes. As both
        have a unique key, they change in one transaction then.
        """
        for name, foreign in self._foreign_keys.get(_lower(table.schema, table.name), {}).items():
            roles = ((f"{name} goes", AFTER, None), (f"{name} comes", None, COMES), (f"{name} stays", AFTER, BEFORE))
            yield OrderedKey(_key(foreign.references), roles)

    @cached_property
    def _foreign_keys(self) -> Mapping[tuple[str, str], Mapping[str, ForeignKey]]:
        """The foreign keys by the table to which they refer, each by a name of its own."""
        found: dict[tuple[str, str], dict[str, ForeignKey]] = {}
        for table in {id(physical.table): physical.table for physical in self.tables}.values():
            for foreign in table.foreign_keys:
                found.setdefault(_lower(foreign.schema, foreign.table), {})[_name(table, foreign.name)] = foreign
        return found


def _unique(table: Table) -> Iterator[OrderedKey]:
    """Yield the unique keys but the handle key and those that cannot be computed."""
    for index in other_unique_indexes(table):
        key = UniqueKey(index.name, index.columns)
        if _is_computable(key, table):
            yield OrderedKey(key, ((_name(table, key.name), BEFORE, AFTER),))


def _is_computable(key: UniqueKey, table: Table) -> bool:
    """Return whether the key's values follow from a row; those of a multi-valued index do not."""
    try:
        encode_key(table, key, {column.name: pa.array([], pa.string()) for column in visible_columns(table)})
    except (SchemaError, SqlError):
        return False
    return True


def _naming(table: Table) -> Iterator[OrderedKey]:
    """Yield the columns that name a row of a parent."""
    for foreign in table.foreign_keys:
        name = _name(table, foreign.name)
        yield OrderedKey(_key(foreign.columns), ((f"{name} goes", BEFORE, None), (f"{name} comes", None, FOLLOWS)))


def _key(columns: Sequence[str]) -> UniqueKey:
    return UniqueKey("", tuple(map(IndexColumn, columns)))


def _name(table: Table, key: str) -> str:
    return repr((*_lower(table.schema, table.name), key.lower()))


def _lower(schema: str, name: str) -> tuple[str, str]:
    return schema.lower(), name.lower()
