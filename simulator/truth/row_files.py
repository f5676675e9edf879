"""Writes the rows of a truth to one file per table, with one batch in memory and one open file at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa

from simulator.columns import row_image
from simulator.columns.change_frame import by_table, ints
from simulator.sources.snapshots.written import TableFile, table_file
from simulator.tidb.model.table import Table, visible_columns

LEFT_OUT = -1
"""The number of a table whose rows are not written."""

ROWS = pa.schema([("table", pa.int32()), ("image", pa.binary())])
"""Rows of a truth: the table's index, and the row image."""


def write_rows(
    batches: Iterable[pa.RecordBatch],
    tables: Sequence[Table],
    directory: Path,
    format: str,
    part: Callable[[int], int | None],
) -> Counter[int]:
    """Write rows (ROWS, grouped by table) and return their counts by table.

    `part` returns the number of a table's file; None if it has only one.
    """
    counts: Counter[int] = Counter()
    with ExitStack() as opened:
        current = LEFT_OUT
        file: TableFile | None = None
        for number, images in _by_table(batches):
            if number == LEFT_OUT:
                continue
            if file is None or number != current:
                opened.close()
                file = table_file(directory, tables[number], format, part(number))
                opened.push(file)
                current = number
            file.write(row_image.named(images, [column.name for column in visible_columns(tables[number])]))
            counts[number] += len(images)
    return counts


def _by_table(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.Array]]:
    for batch in batches:
        for number, places in by_table(ints(batch, "table")):
            images = batch["image"]
            yield number, images if len(places) == batch.num_rows else images.take(pa.array(places))
