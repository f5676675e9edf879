"""What the database makes of values, value by value in plain Python, for integers, decimals and short texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from decimal import ROUND_HALF_UP, Decimal

import pyarrow as pa
import pytest

from simulator.schema.keys import handle_key, visible_columns
from simulator.schema.table import ColumnType, Table
from simulator.schema.types import family
from simulator.transitions import database

BITS = {"smallint": 16, "int": 32, "bigint": 64}


@pytest.fixture(autouse=True, scope="module")
def database_standins() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for function in (text_as, handle, locate_partition, generated):
            patch.setattr(database, function.__name__, function)
        yield


def text_as(source: ColumnType, target: ColumnType, text: pa.Array) -> pa.Array:
    return each(text, lambda value: converted(target, value))


def converted(target: ColumnType, value: str) -> str | None:
    if family(target) == "integer":
        number = int(Decimal(value).quantize(Decimal(1), ROUND_HALF_UP))
        return str(number) if -1 << BITS[target.name] - 1 <= number < 1 << BITS[target.name] - 1 else None
    if target.name == "decimal":
        rounded = Decimal(value).quantize(Decimal(1).scaleb(-target.decimal), ROUND_HALF_UP)
        return str(rounded) if abs(rounded) < 10 ** (target.length - target.decimal) else None
    return value if len(value) <= target.length else None


def handle(table: Table, texts: Mapping[str, pa.Array]) -> pa.Array:
    columns = [texts[name].to_pylist() for name in handle_key(table)]
    return pa.array(["\x00".join(cells).encode() for cells in zip(*columns, strict=True)], pa.binary())


def locate_partition(table: Table, texts: Mapping[str, pa.Array]) -> pa.Array:
    """Of a table partitioned by ranges of the integer `id`."""
    assert table.partitioning is not None
    bounds = [float("inf") if one.values[0][0] == "MAXVALUE" else int(one.values[0][0])
              for one in table.partitioning.partitions]
    places = [next((place for place, bound in enumerate(bounds) if int(id) < bound), None)
              for id in texts["id"].to_pylist()]
    return pa.array(places, pa.int32())


def generated(table: Table, texts: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """Of columns that are another one plus 1."""
    found = dict(texts)
    for column in visible_columns(table):
        if column.name not in found:
            match = re.search(r"`?(\w+)`? ?\+ ?1", column.generated_expression)
            assert match
            found[column.name] = each(texts[match[1]], lambda value: str(int(value) + 1))
    return found


def each(text: pa.Array, function: Callable[[str], str | None]) -> pa.Array:
    return pa.array([None if one is None else function(one) for one in text.to_pylist()], pa.string())
