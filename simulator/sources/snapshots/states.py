"""Rows of snapshots as states: the table of a row, its key, and its image.

All tables and formats have the same columns. A row that TiDB would reject is an error.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from simulator.columns import row_image
from simulator.columns.change_frame import SNAPSHOT_ROWS
from simulator.sources.snapshots import checked, parquet, records, streams
from simulator.sources.snapshots.parquet import BYTES, ROWS
from simulator.sources.snapshots.physical import locate_rows
from simulator.sources.snapshots.pieces import FilePiece
from simulator.sources.snapshots.records import RawRows
from simulator.ticdc import key_bytes
from simulator.ticdc.table_info import handle_key
from simulator.tidb.model.table import ROW_ID, visible_columns

TOGETHER = 2 << 20
"""Bytes of text whose rows are combined into a batch, unless there are too many rows."""


def state_batches(pieces: Iterable[FilePiece]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a task's pieces, in order, as batches of STATE; raise SnapshotError.

    The handle of a table without a handle key is the image.
    """
    waiting: list[pa.RecordBatch] = []
    rows = bytes = 0
    for batch in (batch for piece in pieces for batch in _states(piece)):
        if waiting and (rows + len(batch) > ROWS or bytes + batch.nbytes > BYTES):
            yield _together(waiting)
            waiting, rows, bytes = [], 0, 0
        waiting.append(batch)
        rows, bytes = rows + len(batch), bytes + batch.nbytes
    if waiting:
        yield _together(waiting)


def _together(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def _states(piece: FilePiece) -> Iterator[pa.RecordBatch]:
    if piece.rows is not None:
        columns = visible_columns(piece.table)
        values = (piece.rows[column.name].combine_chunks().view(pa.string()) for column in columns)
        texts = {column.name: value for column, value in zip(columns, values, strict=True)}
        yield _state(piece, texts, locate_rows(piece.scan.place, texts, piece.rows.num_rows))
        return
    with streams.steady(piece.part):
        for raw in _raws(piece):
            for start, length in _slices(raw):
                part = RawRows(tuple(column.slice(start, length) for column in raw.columns), raw.given)
                texts = checked.texts(piece, part)
                yield _state(piece, texts, checked.tables(piece, texts, part))


def _raws(piece: FilePiece) -> Iterator[RawRows]:
    table = piece.table
    if piece.format == "parquet":
        return parquet.batches(piece.part, table)
    layout = records.layout(table)
    if piece.format == "sql":
        return _gathered(records.sql_batches(piece.part, layout))
    return _gathered(records.csv_batches(piece.part, layout, piece.scan.table.csv, piece.escape))


def _gathered(raws: Iterator[RawRows]) -> Iterator[RawRows]:
    """Combine the rows of several blocks of text, so that there are fewer batches."""
    waiting: list[RawRows] = []
    bytes = 0
    for raw in raws:
        if waiting and (bytes >= TOGETHER or raw.given != waiting[0].given):
            yield _joined(waiting)
            waiting, bytes = [], 0
        waiting.append(raw)
        bytes += sum(column.nbytes for column in raw.columns)
    if waiting:
        yield _joined(waiting)


def _joined(raws: list[RawRows]) -> RawRows:
    if len(raws) == 1:
        return raws[0]
    columns = zip(*(raw.columns for raw in raws))
    return RawRows(tuple(pa.concat_arrays(column) for column in columns), raws[0].given)


def _slices(raw: RawRows) -> Iterator[tuple[int, int]]:
    """Return where to cut rows so that a batch has neither too many nor too large ones."""
    rows = len(raw.columns[0])
    bytes = sum(column.nbytes for column in raw.columns)
    step = max(min(ROWS, rows * BYTES // max(bytes, 1)), 1)
    return ((start, min(step, rows - start)) for start in range(0, rows, step))


def _state(piece: FilePiece, texts: dict[str, pa.Array], numbers: pa.Array) -> pa.RecordBatch:
    """Return rows of the table or partition of that number, given as TiDB texts by column."""
    scan = piece.scan
    row_ids = texts.pop(ROW_ID, None)
    handle = key_bytes.handles_of_row_ids(row_ids) if scan.place.row_ids else None
    if scan.finish is not None:
        made = scan.finish(list(texts.values()), numbers, handle)
        columns = [made.column(name) for name in SNAPSHOT_ROWS.names[1:]]
    else:
        image = row_image.pack(list(texts.values()))
        if handle is None:
            handle = key_bytes.handle_keys(scan.place.table, texts) if handle_key(scan.place.table) else image
        columns = [numbers, handle, image, pa.nulls(len(image), pa.binary())]
    moves = pa.repeat(pa.scalar(scan.move, pa.int32()), len(columns[0]))
    return pa.RecordBatch.from_arrays([moves, *columns], schema=SNAPSHOT_ROWS)
