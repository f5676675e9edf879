"""Open Protocol's row keys: `{"ts":…,"scm":…,"tbl":…,"rid":…,"ptn":…,"t":1,"ohk":true}` (tiflow v8.5.3:
pkg/sink/codec/internal/message_key.go; ticdc: pkg/sink/codec/open/codec.go).

One law: a key says which row it is, and whether its value is cut down.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from simulator.releases import Release
from simulator.ticdc.codecs.members import Piece
from simulator.ticdc.codecs.open_protocol.members import string
from simulator.ticdc.codecs.rows import Rows
from simulator.ticdc.codecs.text import decimal, join


def row_keys(rows: Rows, mark: tuple[Piece, ...], release: Release) -> pa.Array:
    """Key JSON; `rid` is left out where it is null or 0, `ptn` where the table has no partitions. `mark` is what says
    that values are cut down."""
    table = rows.table
    names = b',"scm":' + string(table.schema, release) + b',"tbl":' + string(table.name, release)
    row_id = _row_id(rows.row_id) if release.open_row_ids else []
    physical = rows.partition_id if release.open_partition_ids else None
    partition = b"" if physical is None else b',"ptn":%d' % physical
    tail = [b',"t":1', *mark, partition] if release.open_partition_last else [partition + b',"t":1', *mark]
    return join(b'{"ts":', decimal(rows.commit_ts), names, *row_id, *tail, b"}", null=b"")


def _row_id(row_id: pa.Array) -> list[Piece]:
    if row_id.null_count == len(row_id):
        return []
    shown = pc.fill_null(pc.not_equal(row_id, 0), False)
    if pc.all(shown).as_py():
        return [b',"rid":', decimal(row_id)]
    text = join(b',"rid":', decimal(row_id), null=b"")
    return [pc.if_else(shown, text, pa.scalar(b"", pa.binary()))]


def cut_mark(locations: pa.Array | None, release: Release) -> tuple[Piece, ...]:
    """What says in a key that the value is cut down: `ohk`, or `ccl` with the place of the whole one."""
    if locations is None:
        return (b',"ohk":true',)
    flag = b',"ohk":true,"ohk":false' if release.open_location_repeats_ohk else b""
    texts = [string(location.decode(), release) for location in locations.to_pylist()]
    return flag + b',"ccl":', pa.array(texts, pa.binary())
