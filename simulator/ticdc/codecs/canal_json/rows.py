"""Rows of Canal-JSON: an envelope whose members stand in the release's order, around the columns of a row.

One law: rows of one operation are glued from constants and columns in one go, never row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.row_image import Image
from simulator.releases import Release
from simulator.ticdc import table_info
from simulator.ticdc.codecs import members, row_keys, values
from simulator.ticdc.codecs.canal_json.columns import CanalColumn, columns
from simulator.ticdc.codecs.members import Piece
from simulator.ticdc.codecs.operations import Changes
from simulator.ticdc.codecs.options import CodecOptions
from simulator.ticdc.codecs.text import decimal, join, quoted
from simulator.tidb.model.table import Table
from simulator.tidb.model.types import ColumnType

Columns = Sequence[CanalColumn]


@dataclass(frozen=True)
class Cut:
    """That rows are cut down to their handle key."""

    locations: pa.Array | None
    """binary: where the whole message of each row is; None for handle-key-only."""


def row_values(changes: Changes, options: CodecOptions, release: Release, cut: Cut | None) -> pa.Array:
    """JSON of rows that are all of one operation; `options` are those that the release knows (canal_options)."""
    table, deletes = changes.rows.table, changes.operation == "DELETE"
    every = columns(table, changes.rows.selected, options.content_compatible, release)
    if cut or deletes and (options.delete_only_output_handle_key_columns or not options.enable_old_value):
        every = tuple(column for column in every if column.member.handle)
    sent = [column for column in every if column.selected]
    data = changes.before() if deletes else changes.after()
    row = [b"[{", *members.object_pieces([column.member for column in sent], data), b"}]"]
    old = _old(every if release.canal_blank_old_values else sent, changes, row, data, options, release)
    images = [b',"old":', *old, b',"data":', *row] if release.canal_old_first else [b',"data":', *row, b',"old":', *old]
    return join(
        *_head(changes, options, release), *_types(sent, data, release), *images, *_extension(changes, options, cut),
        b"}" + (b"" if cut else options.terminator.encode()))


def _head(changes: Changes, options: CodecOptions, release: Release) -> list[Piece]:
    physical = decimal(pc.shift_right(changes.rows.commit_ts, 18))
    build: Piece = physical if options.build_ts is None else b"%d" % options.build_ts
    seen = changes.rows.selected if release.column_selectors == "rows" else None
    names = _names(changes.rows.table, changes.operation, seen, release)
    return [names, physical, b',"ts":', build if release.canal_build_time else b"0", b',"sql":""']


@lru_cache(maxsize=1024)
def _names(table: Table, operation: str, seen: frozenset[str] | None, release: Release) -> bytes:
    primary = table_info.primary_key_names(table, release)
    names = b",".join(quoted(name) for name in primary if seen is None or name in seen)
    return b'{"id":0,"database":%s,"table":%s,"pkNames":[%s],"isDdl":false,"type":"%s","es":' % (
        quoted(table.schema), quoted(table.name), names, operation.encode())


def _types(sent: Columns, data: Image, release: Release) -> list[Piece]:
    if not sent:
        return [b',"sqlType":null,"mysqlType":null' if release.canal_null_types else b',"sqlType":null,"mysqlType":{}']
    pieces: list[Piece] = []
    for column in sent:
        pieces += [b"," if pieces else b',"sqlType":{', column.member.opening, _sql_type(column, data)]
    return [*pieces, b'},"mysqlType":{', b",".join(column.mysql_type for column in sent), b"}"]


def _sql_type(column: CanalColumn, data: Image) -> Piece:
    if column.promotion is None:
        return column.sql_type
    return values.promoted(data.cells(column.member.position), column.sql_type, *column.promotion)


def _old(
            every: Columns, changes: Changes, row: list[Piece], data: Image, options: CodecOptions, release: Release,
) -> list[Piece]:
    if changes.operation != "UPDATE":
        both = row if changes.operation == "DELETE" else [b"[null]"]
        return both if release.canal_old_everywhere else [b"null"]
    before = changes.before()
    old = [column if column.selected else _blank(column) for column in every]
    if not options.only_output_updated_columns:
        return [b"[{", *members.object_pieces([column.member for column in old], before), b"}]"]
    listed = (members.Listed(column.member, _differs(column, before, data, release)) for column in old)
    return [b"[{", members.listed_members(listed, before), b"}]"]


def _blank(column: CanalColumn) -> CanalColumn:
    """The column as an empty text, whatever it holds."""
    return replace(column, text=_empty, member=replace(column.member, form=_empty))


def _empty(cells: pa.Array, type: ColumnType) -> pa.Array:
    return pa.repeat(pa.scalar(b"", pa.binary()), len(cells))


def _differs(column: CanalColumn, before: Image, after: Image, release: Release) -> members.Mask:
    if not release.canal_compares_texts:
        return members.differs(column.member, before, after)
    position, type = column.member.position, column.member.type
    return members.unequal(column.text(before.cells(position), type), column.text(after.cells(position), type))


def _extension(changes: Changes, options: CodecOptions, cut: Cut | None) -> list[Piece]:
    if not options.enable_tidb_extension:
        return []
    pieces: list[Piece] = [b',"_tidb":{"commitTs":', decimal(changes.rows.commit_ts)]
    if cut and cut.locations is None:
        pieces += [b',"onlyHandleKey":true']
    elif cut:
        texts = [quoted(location.decode()) for location in changes.own(cut.locations).to_pylist()]
        pieces += [b',"claimCheckLocation":', pa.array(texts, pa.binary())]
    if options.output_row_key:
        pieces += [b',"rowkey":"', row_keys.encoded(changes), b'"']
    return [*pieces, b"}"]
