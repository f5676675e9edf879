"""Values of columns, chosen from pools or counted up, whole columns at a time.

One law: each column has random numbers of its own, so that its values do not depend on which other columns there are.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Mapping
from datetime import date, datetime, timedelta
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.errors import UserError
from simulator.sources.generate.wanted import Choice, Provider, Range, Wanted
from simulator.tidb.ddl.catalog import key
from simulator.tidb.model.table import Column, ForeignKey, Table
from simulator.tidb.model.types import family
from simulator.tidb.upstream.state import Upstream
from simulator.tidb.upstream.stored import columns_of, rows_of
from simulator.tidb.upstream.unique import columns_by_name, unique_keys
from simulator.tidb.values.numbers import bounds

Draw: TypeAlias = Callable[[int], pa.Array]
"""So many values, as `upstream.assign` takes them; each call goes on where the one before ended."""

MOST = 1_000_000
"""Of whole numbers that nobody asked for."""

FIRST_DAY = date(2020, 1, 1)
DAYS = 5 * 365
MASK = (1 << 64) - 1


def draws(table: Table, wanted: Mapping[str, Wanted], upstream: Upstream, seed: int, salt: int) -> dict[str, Draw]:
    """Of each column that new rows need a value for, by its name. Raises UserError for a column whose type nobody
    makes values of, and for rows of other tables that are not there."""
    counted = _counted(table, wanted)
    found: dict[str, Draw] = {}
    for column in table.columns:
        if column.generated or column.auto_increment or column.auto_random or is_time(column) and (
                column.name not in wanted):
            continue
        found[column.name] = _draw(table, column, wanted.get(column.name), column.name in counted, upstream, seed, salt)
    for foreign in table.foreign_keys:
        named = {columns_by_name(table)[name.lower()].name: other for name, other in zip(
            foreign.columns, foreign.references, strict=True)}
        open_ = {name: other for name, other in named.items() if name in found and name not in wanted}
        found |= _of_parents(table, foreign, open_, upstream, _numbers(seed, table, foreign.name, salt))
    return found


def is_time(column: Column) -> bool:
    """Whether new rows have the time of their transaction in it."""
    return column.default_expression and (column.default or "").upper().startswith("CURRENT_TIMESTAMP")


def keyed(table: Table) -> Collection[str]:
    """Columns of unique keys and of foreign keys, which updates leave alone."""
    known = columns_by_name(table)
    names = [part.name.lower() for each in unique_keys(table) for part in each.columns]
    names += [name.lower() for foreign in table.foreign_keys for name in foreign.columns]
    return {known[name].name for name in names if name in known}


def _counted(table: Table, wanted: Mapping[str, Wanted]) -> Collection[str]:
    """A column of each unique key, counted up so that no two rows are alike in it."""
    known, found = columns_by_name(table), set[str]()
    foreign = {name.lower() for each in table.foreign_keys for name in each.columns}
    for unique in unique_keys(table):
        columns = [known[part.name.lower()] for part in unique.columns if part.name.lower() in known]
        if any(column.auto_increment or column.auto_random or column.name in found for column in columns):
            continue
        free = [column for column in columns if not column.generated and column.name.lower() not in foreign and (
            family(column.type) in COUNTED)]
        free.sort(key=lambda column: (column.name in wanted, COUNTED.index(family(column.type))))
        found |= {column.name for column in free[:1]}
    return found


COUNTED = ("integer", "string", "text", "decimal", "date", "datetime", "float")


def _numbers(seed: int, table: Table, name: str, salt: int) -> np.random.Generator:
    where = zlib.crc32(f"{table.schema}.{table.name}.{name}".lower().encode())
    return np.random.default_rng([seed & MASK, where, salt])


def _draw(
    table: Table, column: Column, wanted: Wanted | None, counted: bool, upstream: Upstream, seed: int, salt: int
) -> Draw:
    numbers, kind = _numbers(seed, table, column.name, salt), family(column.type)
    if not counted or isinstance(wanted, Choice):
        return _chosen(column, wanted, numbers, seed)
    first = _first(columns_of(rows_of(upstream, table).cells)[column.name].cast(pa.string()), kind)
    if isinstance(wanted, Range) and isinstance(wanted.least, int) and isinstance(first, int):
        first = max(first, wanted.least)
    step = _stepping(first)
    if kind not in ("string", "text") or wanted is None:
        return step
    chosen = _chosen(column, wanted, numbers, seed)
    return lambda count: pc.binary_join_element_wise(step(count), chosen(count).cast(pa.string()), "-")


def _first(there: pa.Array, kind: str) -> int | date:
    """What a column goes on counting with, above all that it has."""
    if kind in ("date", "datetime"):
        days = pc.utf8_slice_codeunits(there, 0, 10)
        highest = pc.max(days).as_py()
        return FIRST_DAY if highest is None else max(FIRST_DAY, date.fromisoformat(highest) + timedelta(1))
    digits = pc.struct_field(pc.extract_regex(there, r"^(?P<n>[0-9]{1,18})"), "n")
    return (pc.max(digits.cast(pa.int64())).as_py() or 0) + 1


def _stepping(first: int | date) -> Draw:
    now = first

    def step(count: int) -> pa.Array:
        nonlocal now
        if isinstance(now, int):
            start, now = now, now + count
            return pa.array(np.arange(start, start + count)).cast(pa.string())
        day = np.datetime64(now, "D")
        now = now + timedelta(count)
        return pa.array(day + np.arange(count)).cast(pa.string())

    return step


def _chosen(column: Column, wanted: Wanted | None, numbers: np.random.Generator, seed: int) -> Draw:
    if isinstance(wanted, Range):
        return _between(wanted, numbers)
    if isinstance(wanted, Choice):
        whole = all(isinstance(each, int) for each in wanted.values)
        values = pa.array(wanted.values if whole else [str(each) for each in wanted.values])
    elif isinstance(wanted, Provider):
        values = _pool(wanted.name, seed)
    else:
        return _by_type(column, numbers, seed)
    return _from(values, numbers)


def _from(values: pa.Array, numbers: np.random.Generator) -> Draw:
    return lambda count: values.take(pa.array(numbers.integers(len(values), size=count)))


def _pool(name: str, seed: int) -> pa.Array:
    from simulator.sources.generate import providers  # Faker takes half a second

    return pa.array(providers.pool(name, seed), pa.string())


def _between(wanted: Range, numbers: np.random.Generator) -> Draw:
    least, greatest = wanted.least, wanted.greatest
    if isinstance(least, int) and isinstance(greatest, int):
        return lambda count: pa.array(numbers.integers(least, greatest, count, endpoint=True))
    if isinstance(least, datetime) and isinstance(greatest, datetime):
        start, seconds = np.datetime64(least.replace(tzinfo=None), "s"), int((greatest - least).total_seconds())
        return lambda count: _times(start + numbers.integers(seconds, size=count, endpoint=True))
    if isinstance(least, date) and isinstance(greatest, date):
        day, days = np.datetime64(least, "D"), (greatest - least).days
        return lambda count: pa.array(day + numbers.integers(days, size=count, endpoint=True)).cast(pa.string())
    low, high = float(least), float(greatest)  # type: ignore[arg-type]
    return lambda count: pa.array(np.round(numbers.uniform(low, high, count), 2)).cast(pa.string())


def _times(moments: np.typing.NDArray[np.datetime64]) -> pa.Array:
    return pa.array(moments).cast(pa.string())


def _by_type(column: Column, numbers: np.random.Generator, seed: int) -> Draw:
    """Values that every column of the type takes."""
    type_, kind = column.type, family(column.type)
    last_day = FIRST_DAY + timedelta(DAYS)
    match kind:
        case "integer":
            return _between(Range(0, min(MOST, bounds(type_)[1])), numbers)
        case "bit":
            return _between(Range(0, (1 << min(type_.length, 62)) - 1), numbers)
        case "year":
            return _between(Range(2000, 2030), numbers)
        case "decimal":
            scale = max(type_.decimal, 0)
            most = min(MOST * 10 ** min(scale, 6), 10 ** min(type_.length, 18) - 1)
            return lambda count: _scaled(numbers.integers(most, size=count, endpoint=True), scale)
        case "float":
            most = 10 ** min(6, type_.length - max(type_.decimal, 0)) - 1 if type_.decimal >= 0 else 1000
            return _between(Range(0.0, float(most)), numbers)
        case "date":
            return _between(Range(FIRST_DAY, last_day), numbers)
        case "datetime":
            return _between(Range(datetime(2020, 1, 1), datetime(2025, 1, 1)), numbers)
        case "time":
            day = np.datetime64("2020-01-01", "s")
            return lambda count: pc.utf8_slice_codeunits(_times(day + numbers.integers(86_400, size=count)), 11, 19)
        case "enum" | "set":
            return _from(pa.array(type_.elements), numbers)
        case "json":
            count_up = _between(Range(0, MOST), numbers)
            return lambda count: pc.binary_join_element_wise('{"n": ', count_up(count).cast(pa.string()), "}", "")
        case "string" | "text":
            words = _pool("word", seed)
            return _from(pc.utf8_slice_codeunits(words, 0, type_.length) if type_.length >= 0 else words, numbers)
    raise UserError(f"no values are made for column {column.name!r} of type {type_.name}: say in columns which it has")


def _scaled(whole: np.typing.NDArray[np.int64], scale: int) -> pa.Array:
    """Whole numbers as decimals with so many digits behind the point."""
    digits = pc.utf8_lpad(pa.array(whole).cast(pa.string()), scale + 1, "0")
    if not scale:
        return digits
    return pc.binary_join_element_wise(
        pc.utf8_slice_codeunits(digits, 0, -scale), pc.utf8_slice_codeunits(digits, -scale, None), ".")


def _of_parents(
    table: Table, foreign: ForeignKey, columns: Mapping[str, str], upstream: Upstream, numbers: np.random.Generator
) -> dict[str, Draw]:
    """Values of rows that a foreign key may refer to; NULL where there are none, and in a table that refers to
    itself."""
    parent = upstream.catalog.tables.get(key(foreign.schema, foreign.table))
    if not columns or parent is None:
        return {}
    stored = rows_of(upstream, parent)
    known = columns_by_name(parent)
    itself = key(parent.schema, parent.name) == key(table.schema, table.name)
    if itself or not stored.cells.num_rows:
        bound = [name for name in columns if columns_by_name(table)[name.lower()].not_null]
        if bound and not itself:
            raise UserError(f"column {bound[0]!r} refers to {parent.schema}.{parent.name}, which has no rows")
        return {name: lambda count: pa.nulls(count, pa.string()) for name in columns if name not in bound}
    texts, state = columns_of(stored.cells), numbers.integers(1 << 62)

    def of(name: str) -> Draw:
        values = texts[known[name.lower()].name]
        return _from(values, np.random.default_rng(int(state)))  # the same rows for all columns of the key

    return {name: of(other) for name, other in columns.items()}
