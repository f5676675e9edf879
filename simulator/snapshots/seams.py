"""Stands for functions of other rooms until they are there: `values`, `keys`, `expressions` and `partitions`."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from simulator.schema.table import ColumnType, Table

Texts = Mapping[str, pa.Array]


def tidb_text(type: ColumnType, raw: pa.Array) -> pa.Array:
    """simulator.values.tidb_text"""
    raise NotImplementedError


def accepted(type: ColumnType) -> str:
    """simulator.values.accepted"""
    raise NotImplementedError


def generated(table: Table, texts: Texts) -> dict[str, pa.Array]:
    """simulator.expressions.generated"""
    raise NotImplementedError


def locate_partition(table: Table, texts: Texts) -> pa.Array:
    """simulator.snapshots.partitions.locate_partition"""
    raise NotImplementedError


def handle(table: Table, texts: Texts) -> pa.Array:
    """simulator.keys.handle"""
    raise NotImplementedError
