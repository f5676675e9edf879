"""The catalog: databases, tables, views and sequences, and how names find them and their columns, keys and partitions.

A catalog is immutable: each change returns another one. Lookups ignore case, and names keep the spelling of their
statement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, ValuesView
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import NamedTuple

from msgspec import structs

from simulator.errors import DdlError
from simulator.tidb import syntax
from simulator.tidb.ddl.table_definitions import DEFAULT_CHARSET
from simulator.tidb.errors import tidb_error
from simulator.tidb.expressions.trees import parse_expression
from simulator.tidb.model.table import Column, Index, Partitioning, SoftDelete, Table, columns_by_name

Key = tuple[str, str]
"""Schema and name in lower case."""


@dataclass(frozen=True)
class DatabaseInfo:
    name: str
    charset: str = DEFAULT_CHARSET[0]
    collation: str = DEFAULT_CHARSET[1]
    """The default of new tables."""

    soft_delete: SoftDelete | None = None


@dataclass(frozen=True)
class ViewInfo:
    schema: str
    name: str
    query: str
    """SQL text."""

    columns: tuple[str, ...] = ()
    algorithm: str = "UNDEFINED"
    definer: tuple[str, str] = ("root", "%")
    security: str = "DEFINER"
    stars: tuple[tuple[Key, tuple[str, ...]], ...] = ()
    """The columns that `*` means of each table: those that it had when the view was created."""


@dataclass(frozen=True)
class SequenceInfo:
    schema: str
    name: str
    options: tuple[tuple[str, int | None], ...] = ()


MAX_CHANGES = 128


class SharedTables(Mapping[Key, Table]):
    """A mapping of tables with a few changes on top of a shared dict.

    A statement in a catalog of ten thousand tables then copies the changes only.
    """

    def __init__(self, below: Mapping[Key, Table], changed: Mapping[Key, Table | None]) -> None:
        self._below, self._changed = below, changed
        """A dict, and the changes since; None stands for a dropped table."""

    def __getitem__(self, place: Key) -> Table:
        table = self._changed[place] if place in self._changed else self._below[place]
        if table is None:
            raise KeyError(place)
        return table

    def __iter__(self) -> Iterator[Key]:
        changed, below = self._changed, self._below
        yield from (place for place in below if place not in changed or changed[place] is not None)
        yield from (place for place, table in changed.items() if table is not None and place not in below)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def values(self) -> ValuesView[Table]:
        return SharedTablesValues(self)

    def every(self) -> Iterator[Table]:
        """Yield all tables without a lookup for each, since foreign keys are searched in all tables."""
        changed, below = self._changed, self._below
        existing = (table if place not in changed else changed[place] for place, table in below.items())
        yield from (table for table in existing if table is not None)
        yield from (table for place, table in changed.items() if table is not None and place not in below)

    def also(self, changed: Mapping[Key, Table | None]) -> Mapping[Key, Table]:
        """Return the mapping with changes, None for dropped tables; a name that is added again comes last."""
        again = any(place in self._changed and self._changed[place] is None for place in changed)
        if again or len(self._changed) + len(changed) > MAX_CHANGES:
            return _with_changes(dict(self), changed)
        return SharedTables(self._below, {**self._changed, **changed})

    def differing(self, before: Mapping[Key, Table]) -> Iterable[Key] | None:
        """Return the names whose tables may differ from those of an earlier mapping; None if that is not known."""
        if self._below is before:
            return self._changed
        if isinstance(before, SharedTables) and before._below is self._below:
            return {**before._changed, **self._changed}
        return None


class SharedTablesValues(ValuesView[Table]):
    def __init__(self, tables: SharedTables) -> None:
        super().__init__(tables)
        self._tables = tables

    def __iter__(self) -> Iterator[Table]:
        return self._tables.every()


def _with_changes(tables: Mapping[Key, Table], changed: Mapping[Key, Table | None]) -> Mapping[Key, Table]:
    """Return the tables with changes, None for dropped tables."""
    if isinstance(tables, SharedTables):
        return tables.also(changed)
    if len(tables) > MAX_CHANGES >= len(changed):
        return SharedTables(tables, changed)
    merged = {**tables, **changed}
    return {place: table for place, table in merged.items() if table is not None}


@dataclass(frozen=True)
class Catalog:
    databases: Mapping[str, DatabaseInfo] = field(default_factory=dict)
    """Databases by name in lower case."""

    tables: Mapping[Key, Table] = field(default_factory=dict)
    views: Mapping[Key, ViewInfo] = field(default_factory=dict)
    sequences: Mapping[Key, SequenceInfo] = field(default_factory=dict)
    dropped: Mapping[Key, Table] = field(default_factory=dict)
    """The last table of each name that was dropped or truncated, for RECOVER and FLASHBACK."""

    dropped_databases: Mapping[str, DatabaseInfo] = field(default_factory=dict)
    policies: frozenset[str] | None = None
    """Names of placement policies in lower case; None if they are unknown."""

    def database(self, name: str) -> DatabaseInfo | None:
        return self.databases.get(name.lower())

    def existing_database(self, name: str) -> DatabaseInfo:
        """Return the database. Raises DdlError if there is none."""
        database = self.database(name)
        if database is None:
            raise tidb_error("schema:1049", name)
        return database

    def table(self, schema: str, name: str) -> Table | None:
        return self.tables.get(object_key(schema, name))

    def has(self, schema: str, name: str) -> bool:
        """Return whether a table, a view or a sequence has the name."""
        place = object_key(schema, name)
        return place in self.tables or place in self.views or place in self.sequences


def check_placement_policy(catalog: Catalog | None, options: Iterable[syntax.TableOption]) -> None:
    """Raise DdlError for a placement policy that does not exist. DEFAULT is no policy."""
    for option in options:
        named = option.name == "PLACEMENT POLICY" and not option.default and option.value.lower() != "default"
        if named and catalog and catalog.policies is not None and option.value.lower() not in catalog.policies:
            raise tidb_error("ddl:8239", option.value)


def object_key(schema: str, name: str) -> Key:
    return schema.lower(), name.lower()


def build_catalog(tables: Iterable[Table], databases: Iterable[str | DatabaseInfo] = ()) -> Catalog:
    tables_by_key = {object_key(table.schema, table.name): table for table in tables}
    schemas = dict.fromkeys(table.schema for table in tables_by_key.values())
    infos = [DatabaseInfo(name) if isinstance(name, str) else name for name in (*schemas, *databases)]
    return Catalog({database.name.lower(): database for database in infos}, tables_by_key)


def changed_tables(before: Catalog, after: Catalog) -> list[Key]:
    """Return the names whose tables are not those of the catalog before, in the order of the later catalog."""
    one, other = before.tables, after.tables
    if one is other:
        return []
    names = other.differing(one) if isinstance(other, SharedTables) else None
    if names is None:
        names = dict.fromkeys((*other, *one))
    return [name for name in names if one.get(name) is not other.get(name)]


def with_table(catalog: Catalog, table: Table) -> Catalog:
    return with_tables(catalog, (table,))


def with_tables(catalog: Catalog, tables: Iterable[Table]) -> Catalog:
    changed = {object_key(table.schema, table.name): table for table in tables}
    return replace(catalog, tables=_with_changes(catalog.tables, changed))


def without_table(catalog: Catalog, table: Table) -> Catalog:
    return replace(catalog, tables=_with_changes(catalog.tables, {object_key(table.schema, table.name): None}))


def with_dropped(catalog: Catalog, table: Table) -> Catalog:
    return replace(catalog, dropped=_with_changes(catalog.dropped, {object_key(table.schema, table.name): table}))


def with_database(catalog: Catalog, database: DatabaseInfo) -> Catalog:
    return replace(catalog, databases={**catalog.databases, database.name.lower(): database})


def without_database(catalog: Catalog, name: str) -> Catalog:
    """Return the catalog without the database and its objects; its tables count as dropped."""
    lowered = name.lower()
    dropped = {place: table for place, table in catalog.dropped.items() if place[0] != lowered}
    dropped |= {place: table for place, table in catalog.tables.items() if place[0] == lowered}
    return replace(
        catalog,
        databases={key: database for key, database in catalog.databases.items() if key != lowered},
        tables={place: table for place, table in catalog.tables.items() if place[0] != lowered},
        views={place: view for place, view in catalog.views.items() if place[0] != lowered},
        sequences={place: sequence for place, sequence in catalog.sequences.items() if place[0] != lowered},
        dropped=dropped,
        dropped_databases={**catalog.dropped_databases, lowered: catalog.databases[lowered]},
    )


MAX_NAME_LENGTH = 64


def lower_names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(name.lower() for name in names)


def check_length(name: str) -> None:
    if len(name) > MAX_NAME_LENGTH:
        raise tidb_error("ddl:1059", name)


def first_repeated(names: Iterable[str]) -> str:
    """Return the first name that repeats an earlier one; empty if there is none."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            return name
        seen.add(name.lower())
    return ""


def find_column(table: Table, name: str) -> Column | None:
    return columns_by_name(table).get(name.lower())


def existing_column(table: Table, name: str, error: DdlError) -> Column:
    """Return the column of that name. Raises the error if there is none."""
    column = find_column(table, name)
    if column is None:
        raise error
    return column


def hidden_names(table: Table) -> frozenset[str]:
    """Return the names, in lower case, of the hidden columns of functional keys."""
    return frozenset(part.name.lower() for index in table.indexes for part in index.columns if part.expression)


def place_after(table: Table, after: str) -> int:
    """Return the position behind a column; 0 for an empty name (FIRST)."""
    return lower_names(column.name for column in table.columns).index(after.lower()) + 1 if after else 0


def find_index(table: Table, name: str) -> Index | None:
    """Return the index of that name; columnar indexes count, too."""
    lowered = name.lower()
    return next((index for index in (*table.indexes, *table.columnar_indexes) if index.name.lower() == lowered), None)


def resolve_part(part: syntax.KeyPart, table: Table) -> syntax.KeyPart:
    """Return a part of a key with its column spelled as in the table."""
    column = find_column(table, part.column) if part.column else None
    return structs.replace(part, column=column.name) if column else part


def part_names(index: Index) -> tuple[str, ...]:
    """Return the names of the columns of an index in lower case."""
    return lower_names(part.name for part in index.columns)


def partition_names(partitioning: Partitioning) -> tuple[str, ...]:
    """Return the names of the partitions in lower case."""
    return lower_names(partition.name for partition in partitioning.partitions)


def last_index_id(table: Table) -> int:
    """Return the highest id that an index of the table ever had."""
    return max(table.last_ids.index, *(index.id for index in (*table.indexes, *table.columnar_indexes)), 0)


# -- columns that expressions name ----------------------------------------------------------------------------------------


@lru_cache(maxsize=4096)
def qualified_names(expression: str) -> frozenset[tuple[str, ...]]:
    """Return the columns that an expression names, with their qualifiers."""
    return frozenset(name.parts for name in syntax.names_in(parse_expression(expression)))


def column_names(expression: str) -> frozenset[str]:
    """Return the names of columns in an expression, in lower case."""
    return frozenset(parts[-1].lower() for parts in qualified_names(expression))


def generation_columns(column: Column) -> frozenset[str]:
    return column_names(column.generated_expression) if column.generated else frozenset()


def expression_columns(index: Index) -> frozenset[str]:
    return frozenset().union(*(column_names(part.expression) for part in index.columns if part.expression))


def partitioning_columns(partitioning: Partitioning | None) -> frozenset[str]:
    if partitioning is None:
        return frozenset()
    return frozenset(name.lower() for name in partitioning.columns) | column_names(partitioning.expression or "1")


def dependency_error(table: Table, name: str) -> DdlError | None:
    """Return the error for a column that a generated column or a functional key depends on (TiDB:
    hasDependentByGeneratedColumn)."""
    lowered = name.lower()
    if any(lowered in generation_columns(column) for column in table.columns):
        return tidb_error("ddl:3108", name)
    return (
        tidb_error("ddl:3837", name) if any(lowered in expression_columns(index) for index in table.indexes) else None
    )


def normalize(expression: str) -> str:
    """Return an expression in lower case without blanks and backquotes."""
    return "".join(expression.replace("`", "").split()).lower()


# -- sequences ---------------------------------------------------------------------------------------------------------


CACHE = 1000


class SequenceLimits(NamedTuple):
    start: int
    least: int
    most: int
    increment: int
    cache: int
    """0 for NOCACHE."""

    cycle: bool


def sequence_limits(sequence: SequenceInfo) -> SequenceLimits:
    """Return the options of a sequence. Of two that exclude each other the last one counts."""
    given = dict(sequence.options)
    increment = given.get("INCREMENT BY") or 1
    least = _limit(sequence, "MINVALUE", 1 if increment > 0 else -(2**63) + 1)
    most = _limit(sequence, "MAXVALUE", 2**63 - 2 if increment > 0 else -1)
    start = given.get("START WITH")
    start = (least if increment > 0 else most) if start is None else start
    cached = _last(sequence, "CACHE", "NOCACHE") != "NOCACHE"
    cache = given.get("CACHE", CACHE) if cached else None
    return SequenceLimits(start, least, most, increment, cache or 0, _last(sequence, "CYCLE", "NOCYCLE") == "CYCLE")


def check_sequence(sequence: SequenceInfo) -> SequenceInfo:
    """Return a sequence. Raises DdlError for options that do not go together (tidb pkg/ddl/sequence.go,
    validateSequenceOptions)."""
    given, limits = dict(sequence.options), sequence_limits(sequence)
    step = abs(limits.increment)
    is_valid = (
        given.get("INCREMENT BY") != 0
        and (limits.cache > 0 or _last(sequence, "CACHE", "NOCACHE") != "CACHE")
        and limits.least <= limits.start <= limits.most
        and -(2**63) < limits.least < limits.most < 2**63 - 1
        and limits.cache < (2**63 - 1 - step) // step
    )
    if not is_valid:
        raise tidb_error("schema:4136", sequence.schema, sequence.name)
    return sequence


def _limit(sequence: SequenceInfo, name: str, usual: int) -> int:
    value = dict(sequence.options).get(name) if _last(sequence, name, f"NO {name}") == name else None
    return usual if value is None else value


def _last(sequence: SequenceInfo, *names: str) -> str:
    """Return the last of these options, or an empty text without any."""
    return next((name for name, _ in reversed(sequence.options) if name in names), "")
