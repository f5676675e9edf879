"""Which columns tell the rows of a table apart, and which no update may touch.

One law: of each unique key one column at least differs from row to row, and it stays as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from simulator.errors import SchemaError, UserError
from simulator.sources.generate.values.counted import COUNTED
from simulator.sources.generate.values.generators import (
    ColumnWanted,
    Provider,
    Range,
    Reference,
    Sequence,
    Template,
    Text,
)
from simulator.tidb.expressions.trees import definition_tree, find_column
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.types import family
from simulator.tidb.sql_engine.storage.row_keys import UniqueKey, columns_by_name, unique_keys
from simulator.tidb.syntax.expressions import names_in

Wants = Mapping[str, ColumnWanted]


class Distinct(NamedTuple):
    counted: Mapping[str, int]
    """Columns that count up by key, and how many characters of each have to differ; -1 for all."""

    paired: tuple[frozenset[str], ...]
    """Unique keys of columns that all refer to other tables."""


def distinct(table: Table, wanted: Wants) -> Distinct:
    """Raises UserError for a unique key whose columns cannot tell rows apart."""
    counted: dict[str, int] = {}
    paired = []
    referring = _referring(table)
    for key in unique_keys(table):
        parts = _parts(table, key)
        columns = {column.name: column for column, _ in parts}
        length = {column.name: length for column, length in parts if length >= 0}
        if any(_tells(table, name, wanted, counted) for name in columns):
            continue
        free = [
            column
            for column in columns.values()
            if column.name not in referring and family(column.type) in COUNTED and _may_count(wanted.get(column.name))
        ]
        if free:
            best = min(free, key=lambda each: (each.name in wanted, COUNTED.index(family(each.type))))
            counted[best.name] = length.get(best.name, -1)
        elif columns and columns.keys() <= referring | _wanting_references(wanted):
            paired.append(frozenset(columns))
        else:
            raise UserError(
                f"unique key {key.name}: nothing tells rows apart in {', '.join(columns)}; accepted: a column of it "
                "without a generator, with a sequence, or with a template that has such a column in it"
            )
    return Distinct(counted, tuple(paired))


def _tells(table: Table, name: str, wanted: Wants, counted: Collection[str]) -> bool:
    column = columns_by_name(table)[name.lower()]
    if column.auto_increment or column.auto_random or name in counted:
        return True
    values = wanted[name].values if name in wanted else None
    if isinstance(values, Template):
        known = columns_by_name(table)
        return any(
            other.lower() in known and _tells(table, known[other.lower()].name, wanted, counted)
            for _, other in values.parts
            if other
        )
    return isinstance(values, Sequence)


def _may_count(wanted: ColumnWanted | None) -> bool:
    values = wanted.values if wanted else None
    return (
        values is None
        or isinstance(values, Provider | Text)
        or isinstance(values, Range)
        and (isinstance(values.least, int))
    )


def _wanting_references(wanted: Wants) -> set[str]:
    return {name for name, each in wanted.items() if isinstance(each.values, Reference)}


def _parts(table: Table, key: UniqueKey) -> list[tuple[Column, int]]:
    """The columns that a key is made of, and how many of their first characters; those that expressions name."""
    found: dict[str, tuple[Column, int]] = {}
    for part in key.columns:
        for name in _based(table, part.expression or part.name, bool(part.expression)):
            found.setdefault(name, (columns_by_name(table)[name.lower()], part.length))
    return list(found.values())


def _based(table: Table, text: str, expression: bool) -> Iterator[str]:
    """Columns with values of their own that a column or an expression comes down to."""
    known = columns_by_name(table)
    if not expression:
        column = known.get(text.lower())
        if column is None:
            return
        if not column.generated:
            yield column.name
            return
        text = column.generated_expression
    try:
        named = names_in(definition_tree(text, table))
    except SchemaError:
        return
    for each in named:
        other = find_column(each, table)
        if other is not None:
            yield from _based(table, other.name, False)


def based(table: Table, names: Iterable[str]) -> set[str]:
    return {each for name in names for each in _based(table, name, False)}


def _referring(table: Table) -> set[str]:
    return based(table, (name for foreign in table.foreign_keys for name in foreign.columns))


def fixed_columns(table: Table) -> set[str]:
    """Columns that no update touches: of unique keys and foreign keys, and those that a row's partition follows."""
    found = {column.name for key in unique_keys(table) for column, _ in _parts(table, key)} | _referring(table)
    rule = table.partitioning
    if rule is None:
        return found
    if rule.expression:
        return found | set(_based(table, rule.expression, True))
    return found | based(table, rule.columns or table.primary_key)
