"""What the database makes of values: the functions of other rooms that schema changes need, under one name."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from simulator.schema.table import ColumnType, Table


def text_as(source: ColumnType, target: ColumnType, text: pa.Array) -> pa.Array:
    """TiDB text of one type as that of another; null where it is NULL or does not fit."""
    raise NotImplementedError


def generated(table: Table, texts: Mapping[str, pa.Array]) -> dict[str, pa.Array]:
    """The texts with the stored generated columns that they lack."""
    raise NotImplementedError


def locate_partition(table: Table, texts: Mapping[str, pa.Array]) -> pa.Array:
    """int32 ordinal of the partition that takes each row; null where none does."""
    raise NotImplementedError


def handle(table: Table, texts: Mapping[str, pa.Array]) -> pa.Array:
    """Binary bytes of the handle key."""
    raise NotImplementedError
