"""Keys by which the order of row changes matters: values of unique keys, which one row hands on to another, and of foreign
keys, which name a row of the parent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa

from simulator.errors import SchemaError, SqlError
from simulator.sources.snapshots import PhysicalTable
from simulator.ticdc.table_info import other_unique_indexes
from simulator.tidb.ddl.catalog import object_key
from simulator.tidb.model.table import ForeignKey, Index, IndexColumn, Table, UniqueKey, visible_columns
from simulator.tidb.storage.row_keys import encode_key

BEFORE, AFTER, COMES, FOLLOWS, STAYS, ENDS = range(6)
"""Roles, in pairs: of one value, changes with the even one precede those with the odd one. Those with COMES may be earlier
than by the row alone."""

UNIQUE, CHILD, PARENT = range(0, 6, 2)
"""Sides: what a row that loses a value of a unique key, or of a foreign key's columns in the child or the parent, has to
do with the value; a row that gets one has the odd number behind it."""

ROLES = ((BEFORE,), (AFTER,), (BEFORE,), (FOLLOWS,), (AFTER, ENDS), (COMES, STAYS))
"""The roles of each side."""


@dataclass(frozen=True)
class OrderedKey:
    """A key of a table whose values rows hand on or name."""

    key: UniqueKey
    """Its columns; those of a foreign key need not be unique."""

    name: str
    """What the values are of: those of keys with different names differ."""

    side: int
    """UNIQUE, CHILD or PARENT."""


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
        return any(key.side == PARENT for number in range(len(self.tables)) for key in self.keys(number))

    def keys(self, number: int) -> tuple[OrderedKey, ...]:
        """Return the keys of a table; none if the order of its changes does not matter."""
        if number not in self._keys:
            table = self.tables[number].table
            self._keys[number] = (*_unique(self.tables[number]), *_naming(table), *self._named(table))
        return self._keys[number]

    def _named(self, table: Table) -> Iterator[OrderedKey]:
        """Yield the columns to which foreign keys refer.

        A parent is there as long as rows name it: one that takes the place of another comes before that goes. As both
        have a unique key, they change in one transaction then.
        """
        for name, foreign in self._foreign_keys.get(object_key(table.schema, table.name), {}).items():
            yield OrderedKey(_key(foreign.references), name, PARENT)

    @cached_property
    def _foreign_keys(self) -> Mapping[tuple[str, str], Mapping[str, ForeignKey]]:
        """The foreign keys by the table to which they refer, each by a name of its own."""
        found: dict[tuple[str, str], dict[str, ForeignKey]] = {}
        for table in {id(physical.table): physical.table for physical in self.tables}.values():
            for foreign in table.foreign_keys:
                name = _name(table, "foreign", foreign.name)
                found.setdefault(object_key(foreign.schema, foreign.table), {})[name] = foreign
        return found


def _unique(physical: PhysicalTable) -> Iterator[OrderedKey]:
    """Yield the unique keys but those that cannot be computed and the one by which rows are compared."""
    table = physical.table
    every = (index for index in table.indexes if index.unique)
    for key in computable_keys(table, every if physical.row_ids else other_unique_indexes(table)):
        yield OrderedKey(key, _name(table, "unique", key.name), UNIQUE)


def computable_keys(table: Table, indexes: Iterable[Index]) -> Iterator[UniqueKey]:
    """Yield those of the unique keys of a table whose values follow from a row."""
    for index in indexes:
        key = UniqueKey(index.name, index.columns)
        if _is_computable(key, table):
            yield key


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
        yield OrderedKey(_key(foreign.columns), _name(table, "foreign", foreign.name), CHILD)


def _key(columns: Sequence[str]) -> UniqueKey:
    return UniqueKey("", tuple(map(IndexColumn, columns)))


def _name(table: Table, kind: str, key: str) -> str:
    return repr((*object_key(table.schema, table.name), kind, key.lower()))
