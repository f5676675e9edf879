"""The values that messages do not distinguish from NULL: some releases write a zero value, a text or the column's default for
it, or NULL for them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from simulator.columns import row_image
from simulator.errors import EncodeError
from simulator.reader.decode.batches import StreamDecoder
from simulator.reader.decode.row_images import STRINGS, ZERO_TEXTS, row_images
from simulator.reader.events import UNKNOWN_CELL, record_batch
from simulator.releases import Release
from simulator.ticdc.codecs import CODECS, CodecOptions, RowChanges
from simulator.ticdc.codecs.schema_registry import SchemaManager, with_schema_ids
from simulator.tidb.model.table import Column, Table, visible_columns
from simulator.tidb.model.types import family

EPOCH = r"|^1970-01-01 00:00:00"
"""The time that is sent for a zero TIMESTAMP, which no other value of it has."""

ZEROS = {"date": "0000-00-00", "datetime": "0000-00-00 00:00:00"}
"""The value that is sent as NULL, by family of types, where NULL itself is sent as the default."""


def zeros_as_null(table: Table, options: CodecOptions, release: Release) -> Mapping[str, str]:
    """Return the columns of which messages have NULL for a zero value alone, with that value."""
    nulls = CODECS[options.protocol].fidelity(options, release).nulls
    of_default = ((column.name, family(column.type)) for column in defaults_like_null(table, options, release))
    return {name: ZEROS[kind] for name, kind in of_default if kind in nulls and kind in ZEROS}


def texts_like_null(table: Table, options: CodecOptions, release: Release) -> Mapping[str, str]:
    """Return the columns of which messages do not distinguish some values from NULL, with a regular expression of these
    values' texts."""
    fidelity = CODECS[options.protocol].fidelity(options, release)
    likes: dict[str, list[str]] = {}
    for column in visible_columns(table):
        kind = family(column.type)
        if kind in fidelity.nulls and kind in ZERO_TEXTS:
            likes.setdefault(column.name, []).append(ZERO_TEXTS[kind] + EPOCH * (column.type.name == "timestamp"))
        if fidelity.null_word and kind in STRINGS:
            likes.setdefault(column.name, []).append("^null$")
        text = (
            _read_of_null(table, column, options, release)
            if column in defaults_like_null(table, options, release)
            else None
        )
        if text is not None:
            likes.setdefault(column.name, []).append(f"^{re.escape(text)}$")
    return {name: "|".join(texts) for name, texts in likes.items()}


def defaults_like_null(table: Table, options: CodecOptions, release: Release) -> tuple[Column, ...]:
    """Return the columns whose default messages do not distinguish from NULL."""
    if not CODECS[options.protocol].fidelity(options, release).null_is_default:
        return ()
    return tuple(column for column in visible_columns(table) if column.default is not None and not column.not_null)


def _read_of_null(table: Table, column: Column, options: CodecOptions, release: Release) -> str | None:
    """Return the text that a reader finds in place of NULL in a column; None for NULL, and where TiCDC stops."""
    alone = replace(table, columns=(column,), indexes=(), primary_key=(), partitioning=None)
    codec, manager = CODECS[options.protocol], SchemaManager()
    nulls, images = pa.nulls(1, pa.binary()), pa.array([row_image.image_of([None])])
    changes = RowChanges(alone, None, pa.array([1]), pa.nulls(1, pa.int64()), nulls, images)
    try:
        encoded = with_schema_ids(codec.encode(changes, options, release), manager)
    except EncodeError:
        return None
    messages = codec.frame(encoded, np.zeros(1, np.int64), options, release)
    keys = [None] if messages.keys is None else messages.keys.to_pylist()
    decoding = StreamDecoder(options.protocol, schemas=manager.texts)
    events = decoding.decoded(record_batch([[0], [0], keys, messages.values.to_pylist()]))
    if not decoding.layouts:
        return None
    _, after = row_images(events, decoding.layouts[0], alone, codec.fidelity(options, release))
    (cell,) = row_image.cells_of(after[0].as_py())
    return None if cell is None or cell == UNKNOWN_CELL else cell.decode("utf-8", "surrogateescape")
