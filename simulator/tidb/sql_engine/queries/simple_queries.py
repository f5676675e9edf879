"""Rows of one table, matched and selected without a query in DuckDB: most of what UPDATE, DELETE and a SELECT by key
need.

A query finds the same rows and values. It computes whatever raises NotSimple here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import pyarrow as pa

from simulator.columns.cells import Places, latin1
from simulator.tidb.ddl.catalog import Key, object_key
from simulator.tidb.expressions.trees import strip_parentheses
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import is_binary
from simulator.tidb.sql_engine.queries import simple_values
from simulator.tidb.sql_engine.queries.literals import NotSimple
from simulator.tidb.sql_engine.queries.simple_values import Condition
from simulator.tidb.sql_engine.result_columns import table_column
from simulator.tidb.sql_engine.storage.row_keys import columns_by_name, encode_key, unique_keys
from simulator.tidb.sql_engine.storage.rows import column_arrays, table_rows, texts_at
from simulator.tidb.sql_engine.storage.sorted_blocks import FEW
from simulator.tidb.sql_engine.storage.state import ResultSet, StoredRows, Upstream
from simulator.tidb.syntax.expressions import ColumnName, Node
from simulator.tidb.syntax.queries import Limit, OrderItem, QueryTree, SelectTree, Star, TableSource

SHOWN_DIGITS = 38
"""Digits of the longest DECIMAL whose cells are what a client is shown."""

SHOWN_TYPES = frozenset(
    "tinyint smallint mediumint int bigint date datetime timestamp time char varchar tinytext text mediumtext longtext "
    "enum set json".split()
)
"""Other types whose cells are what a client is shown."""


@dataclass(frozen=True)
class SimpleMatch:
    """The rows of one table that WHERE, ORDER BY and LIMIT select."""

    alias: str
    """As written: the table's alias, or its name."""

    key: Key
    stored: StoredRows
    places: pa.Array
    """int64 positions in `stored`, in the order of the statement."""

    resolve: Callable[[Node], Column]
    """Returns the stored column that a name means. Raises NotSimple."""

    @property
    def table(self) -> Table:
        return self.stored.table

    @cached_property
    def _texts(self) -> Mapping[str, pa.Array]:
        return texts_at(self.stored, np.asarray(self.places, np.int64))

    def cells(self, node: Node) -> pa.Array:
        """Return the cells (binary) of a column in the matched rows."""
        return self._texts[self.resolve(node).name]

    def shown(self, column: Column, upstream: Upstream) -> pa.Array:
        """Return the cells of a column as the server sends them to a client. Raises NotSimple."""
        type = column.type
        if column.generated == "virtual" or not (
            type.name in SHOWN_TYPES or type.name == "decimal" and type.length <= SHOWN_DIGITS
        ):
            raise NotSimple
        if type.name == "timestamp" and upstream.session.time_zone not in ("UTC", "+00:00"):
            raise NotSimple
        cells = self._texts[column.name]
        return latin1(cells) if is_binary(type) else cells


def match_simply(
    source: TableSource, where: Node | None, order: Sequence[OrderItem], limit: Limit | None, upstream: Upstream
) -> SimpleMatch:
    """Return the matched rows of a table. Raises NotSimple."""
    schema, table_name = source.name.schema or upstream.session.database, source.name.name
    key = object_key(schema, table_name)
    table = upstream.catalog.tables.get(key)
    if table is None or source.partitions:
        raise NotSimple
    alias = source.alias or table_name
    resolve = partial(resolve_stored_column, table, "" if source.alias else schema, alias)
    stored = table_rows(upstream, table)
    places = _matching_places(simple_values.parse_conditions(where, resolve), stored)
    if order and (len(places) > 1 or not all(resolve(strip_parentheses(item.expression)) for item in order)):
        raise NotSimple
    if limit is not None:
        places = places.slice(limit.offset, limit.count)
    return SimpleMatch(alias, key, stored, places, resolve)


def _matching_places(conditions: Sequence[Condition], stored: StoredRows) -> pa.Array:
    """Return the int64 positions of the rows that meet all conditions, ascending."""
    found = _places_by_key(conditions, stored)
    if found is None:
        return simple_values.matching_places(conditions, column_arrays(stored.cells), stored.cells.num_rows)
    matches = simple_values.matching_places(conditions, texts_at(stored, found), len(found))
    return pa.array(found).take(matches)


def _places_by_key(conditions: Sequence[Condition], stored: StoredRows) -> Places | None:
    """Return the positions of the rows that may meet conditions on all columns of a unique key; None without them."""
    table, keys = stored.table, stored.keys
    assert keys is not None
    values = {each.column.name.lower(): each for each in conditions if each.operator == "="}
    for key in unique_keys(table):
        parts = [values.get(part.name.lower()) for part in key.columns if not part.expression and part.length < 0]
        if None in parts or len(parts) < len(key.columns) or key.clustered and table.partitioning is not None:
            continue
        wanted = [_storable_texts(part) for part in parts if part is not None]
        if math.prod(map(len, wanted)) > FEW:
            continue
        cells = zip(*itertools.product(*wanted), strict=True) if all(wanted) else [()] * len(wanted)
        texts = {
            part.column.name: pa.array(column, pa.binary())
            for part, column in zip(parts, cells, strict=True)
            if part is not None
        }
        encoded = encode_key(table, key, texts)
        places = keys.find_handles(encoded) if key.clustered else keys.find_unique(key.name.lower(), encoded)
        return np.unique(places[places >= 0])
    return None


def _storable_texts(condition: Condition) -> list[bytes]:
    """Return the texts of a condition that a cell of its column can have."""
    return [text.encode() for text in condition.texts if not (condition.column.type.unsigned and text.startswith("-"))]


def match_and_evaluate(
    source: TableSource,
    where: Node | None,
    order: Sequence[OrderItem],
    limit: Limit | None,
    upstream: Upstream,
    expressions: Mapping[str, Node],
    targets: Mapping[str, Column],
) -> tuple[SimpleMatch, Mapping[str, pa.Array]]:
    """Return the matched rows of a table, and the datums of expressions over them by name. Raises NotSimple."""
    match = match_simply(source, where, order, limit, upstream)
    values = simple_values.simple_columns(
        list(expressions.values()),
        [targets.get(name) for name in expressions],
        match.resolve,
        match.cells,
        len(match.places),
    )
    return match, dict(zip(expressions, values, strict=True))


def select_simply(tree: QueryTree, upstream: Upstream) -> ResultSet:
    """Return the rows of a SELECT of columns of one table, whose cells are what a client is shown. Raises NotSimple."""
    if not isinstance(tree, SelectTree) or not isinstance(tree.source, TableSource) or tree.having is not None:
        raise NotSimple
    if tree.group_by or tree.distinct or tree.windows or tree.unsupported:
        raise NotSimple
    match = match_simply(tree.source, tree.where, tree.order, tree.limit, upstream)
    names, columns = list[str](), list[Column]()
    for item in tree.items:
        if isinstance(item, Star):
            if item.table is not None:
                raise NotSimple
            columns += match.table.columns
            names += [column.name for column in match.table.columns]
        else:
            columns.append(match.resolve(strip_parentheses(item.expression)))
            names.append(item.name)
    shown = [match.shown(column, upstream) for column in columns]
    rows = pa.table(shown, [f"shown {place}" for place in range(len(shown))])
    table, alias = match.table, match.alias
    described = (
        table_column(name, column, table, table.schema, alias) for name, column in zip(names, columns, strict=True)
    )
    return ResultSet(tuple(described), rows)


def resolve_stored_column(table: Table, schema: str, alias: str, node: Node) -> Column:
    """Return the stored column of a table that a name means. Raises NotSimple."""
    if isinstance(node, ColumnName):
        *qualifier, name = (part.lower() for part in node.parts)
        if qualifier in ([], [alias.lower()]) or schema and qualifier == [schema.lower(), alias.lower()]:
            column = columns_by_name(table).get(name)
            if column is not None and column.generated != "virtual":
                return column
    raise NotSimple
