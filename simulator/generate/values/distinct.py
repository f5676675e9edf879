"""The columns that make rows unique, which updates must not change, and templates that tell rows apart.

At least one column of each unique key differs from row to row and is never changed. A template tells rows apart if a
column that does so can be read back from each value: read from the left, a part ends where a character comes that it
has not; the same holds from the right.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from simulator.errors import SchemaError, UserError
from simulator.generate.values import generators
from simulator.generate.values.generators import Template
from simulator.generate.values.key_recipes import (
    COUNTED,
    AutoRandomRecipe,
    CountingRecipe,
    NumberedTextRecipe,
    ReferenceRecipe,
    counting_recipe,
)
from simulator.generate.values.pools import pool
from simulator.generate.values.recipes import (
    ConstantRecipe,
    NullableRecipe,
    PooledRecipe,
    RangeRecipe,
    Recipe,
    RowTimeRecipe,
    TemplateRecipe,
    UpdateCountRecipe,
)
from simulator.tidb.expressions.trees import definition_tree
from simulator.tidb.model.table import Column, Table, UniqueKey, columns_by_name, unique_keys
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
        other = columns_by_name(table).get(each.parts[-1].lower())
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


DIGITS = frozenset("0123456789")
NUMBER = DIGITS | frozenset("+-.e")
TIME = DIGITS | frozenset("-: .")

Letters = frozenset[str]
"""Characters in lower case."""


def distinct_template(recipe: TemplateRecipe, telling: Sequence[int], prefix: int) -> TemplateRecipe | None:
    """Return the recipe if one of its `telling` parts can be read back from each value; None if none can.

    With a prefix, which is not -1, that part must be the first one, and lie within that many characters.
    """
    letters = [_letters(each) for each in recipe.recipes]
    literals = [text.lower() for text in recipe.literals]
    if prefix < 0:
        mirrored, last = [text[::-1] for text in reversed(literals)], len(letters) - 1
        readable = any(
            _readable(literals, letters, at) or _readable(mirrored, letters[::-1], last - at) for at in telling
        )
        return recipe if readable else None
    first = recipe.recipes[0]
    digits = min(prefix - len(recipe.literals[0]), 18)
    if 0 not in telling or not isinstance(first, CountingRecipe) or letters[0] != DIGITS or digits < 1:
        return None
    if not _readable(literals, letters, 0) or len(literals) == 2 and literals[1][:1] in DIGITS:
        return None
    counted = replace(first, most=min(first.most, 10**digits - 1), where=recipe.where)
    return replace(recipe, recipes=(counted, *recipe.recipes[1:]))


def _readable(literals: Sequence[str], letters: Sequence[Letters | None], at: int) -> bool:
    """Return whether each part up to that one ends where a character comes that it has not, or where the rest is fixed."""
    for place in range(min(at + 1, len(letters) - 1)):
        after, those = _following(literals, letters, place), letters[place]
        if after is None or those is None or after & those:
            return False
    return True


def _following(literals: Sequence[str], letters: Sequence[Letters | None], place: int) -> Letters | None:
    """Return the characters that may come after a part; None for any."""
    if literals[place + 1]:
        return frozenset(literals[place + 1][0])
    if place + 1 == len(letters):
        return frozenset()
    those, after = letters[place + 1], _following(literals, letters, place + 1)
    return None if those is None or after is None else those | after


def _letters(recipe: Recipe) -> Letters | None:
    """Return the characters of all values; None for any."""
    match recipe:
        case CountingRecipe(type, first, step):
            if family(type) in ("date", "datetime"):
                return TIME
            plain = family(type) in ("integer", "bit", "string", "text") and first >= 0 and step > 0
            return DIGITS if plain else NUMBER
        case AutoRandomRecipe():
            return DIGITS
        case UpdateCountRecipe() | RangeRecipe() | RowTimeRecipe():
            return NUMBER | TIME
        case ConstantRecipe(text):
            return frozenset((text or b"").decode().lower())
        case PooledRecipe(values, type, seed):
            return frozenset(b"".join(pool(values, type, seed).texts.to_pylist()).decode().lower())
        case NullableRecipe(inner) | ReferenceRecipe(inner):
            return _letters(inner)
        case NumberedTextRecipe(_, pooled):
            words = _letters(pooled)
            return None if words is None else words | DIGITS | {"-"}
        case TemplateRecipe(literals, recipes):
            parts = [frozenset("".join(literals).lower()), *map(_letters, recipes)]
            known = [each for each in parts if each is not None]
            return frozenset().union(*known) if len(known) == len(parts) else None
    return None
