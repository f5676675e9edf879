"""The columns that make rows unique, and the columns that updates must not change.

At least one column of each unique key differs from row to row and is never changed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from simulator.errors import SchemaError, UserError
from simulator.generate.values import generators
from simulator.generate.values.counted import COUNTED, counting_recipe
from simulator.generate.values.generators import Template
from simulator.tidb.expressions.trees import definition_tree, find_column
from simulator.tidb.model.table import Column, Table
from simulator.tidb.model.table_keys import UniqueKey, columns_by_name, unique_keys
from simulator.tidb.model.types import family
from simulator.tidb.syntax.expressions import names_in

Wants = Mapping[str, generators.ColumnGenerator]

ENOUGH = (1 << 31) - 1
"""A column that counts as many rows as an INT is not exchanged for one that counts more."""


class DistinctColumns(NamedTuple):
    counted: Mapping[str, int]
    """Columns that count up by key, with the number of characters that must differ; -1 for all."""

    telling: Mapping[str, int]
    """The same of other columns whose generators tell rows apart."""

    paired: tuple[frozenset[str], ...]
    """Unique keys whose columns all refer to other tables."""


def distinct_columns(table: Table, by_column: Wants) -> DistinctColumns:
    """Return the columns that make rows unique; raise UserError for a unique key whose columns cannot."""
    counted: dict[str, int] = {}
    told: dict[str, int] = {}
    paired = []
    referring = _referring(table)
    for key in unique_keys(table):
        parts = _parts(table, key)
        columns = {column.name: column for column, _ in parts}
        length = {column.name: length for column, length in parts if length >= 0}
        telling = [name for name in columns if tells(table, name, by_column, counted)]
        if telling:
            name = min(telling, key=lambda name: (name in length, isinstance(_values(by_column, name), Template)))
            narrowed = counted if name in counted else told
            narrowed[name] = _shorter(length.get(name, -1), narrowed.get(name, -1))
            continue
        free = [
            column
            for column in columns.values()
            if column.name not in referring
            and family(column.type) in COUNTED
            and _may_count(by_column.get(column.name))
        ]
        if free:
            best = min(free, key=lambda each: _preference(each, length.get(each.name, -1), by_column))
            counted[best.name] = length.get(best.name, -1)
        elif columns and columns.keys() <= referring | _wanting_references(by_column):
            paired.append(frozenset(columns))
        else:
            raise UserError(
                f"unique key {key.name}: nothing tells rows apart in {', '.join(columns)}; accepted: a column of it "
                "without a generator, with a sequence, or with a template that has such a column in it"
            )
    return DistinctColumns(counted, told, tuple(paired))


def tells(table: Table, name: str, by_column: Wants, counted: Collection[str]) -> bool:
    """Return whether the values of a column tell rows apart, or those of a column in its template."""
    column = columns_by_name(table)[name.lower()]
    if column.auto_increment or column.auto_random or name in counted:
        return True
    values = _values(by_column, name)
    if isinstance(values, Template):
        known = columns_by_name(table)
        return any(
            other.lower() in known and tells(table, known[other.lower()].name, by_column, counted)
            for _, other in values.parts
            if other
        )
    return isinstance(values, generators.NumberSequence)


def _values(by_column: Wants, name: str) -> generators.Generator | None:
    return by_column[name].values if name in by_column else None


def _shorter(length: int, other: int) -> int:
    """Return the shorter of two lengths of prefixes; -1 is the whole text."""
    return min((each for each in (length, other) if each >= 0), default=-1)


def _preference(column: Column, length: int, by_column: Wants) -> tuple[bool, int, int]:
    """Return what sorts columns that could count: first one without a generator; one that counts far enough."""
    rows = counting_recipe(column.type, "", prefix=length).rows
    return column.name in by_column, -min(rows, ENOUGH), COUNTED.index(family(column.type))


def _may_count(generator: generators.ColumnGenerator | None) -> bool:
    values = generator.values if generator else None
    return (
        values is None
        or isinstance(values, generators.FakerProvider | generators.Text)
        or isinstance(values, generators.Range)
        and (isinstance(values.least, int))
    )


def _wanting_references(by_column: Wants) -> set[str]:
    return {name for name, each in by_column.items() if isinstance(each.values, generators.Reference)}


def _parts(table: Table, key: UniqueKey) -> list[tuple[Column, int]]:
    """Return the columns of a key with their prefix lengths, including those in expressions."""
    parts: dict[str, tuple[Column, int]] = {}
    for part in key.columns:
        for name in _based(table, part.expression or part.name, bool(part.expression)):
            parts.setdefault(name, (columns_by_name(table)[name.lower()], part.length))
    return list(parts.values())


def _based(table: Table, text: str, expression: bool) -> Iterator[str]:
    """Yield the columns with their own values that a column or an expression is derived from."""
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
    """Return the columns that updates do not change: those of unique keys and foreign keys, and of the partitioning."""
    names = {column.name for key in unique_keys(table) for column, _ in _parts(table, key)} | _referring(table)
    rule = table.partitioning
    if rule is None:
        return names
    if rule.expression:
        return names | set(_based(table, rule.expression, True))
    return names | based(table, rule.columns or table.primary_key)
