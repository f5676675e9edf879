"""Decoded rows as TiDB text."""

from __future__ import annotations

from simulator.consumer.decode import Image, RowEvent
from simulator.consumer.decode.row_texts import value_text
from simulator.tidb.model.table import Table


def full_image(event: RowEvent) -> Image:
    """The row that the event leaves, or that a DELETE removes."""
    image = event.before if event.after is None else event.after
    assert image is not None
    return image


def row_text(image: Image, table: Table) -> dict[str, str | None]:
    """The image's columns in table order; bytes as Latin-1 text."""
    return {column.name: value_text(image[column.name], column) for column in table.columns if column.name in image}
