"""DDL statements and watermarks of Canal-JSON, in the same form in all releases.

`data` precedes `old` here, whatever the order in rows (tiflow: canal_json_message.go JSONMessage, a struct that
encoding/json or goccy/go-json writes).
"""

from __future__ import annotations

from simulator.releases import Release
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.compression import compress
from simulator.ticdc.codecs.json_text import quoted
from simulator.ticdc.codecs.row_changes import DdlEvent
from simulator.tso import physical

WATERMARK = "TIDB_WATERMARK"

_DDL_TYPES = {
    3: "CREATE",
    4: "ERASE",
    11: "TRUNCATE",
    **dict.fromkeys((7, 9, 32), "CINDEX"),
    **dict.fromkeys((8, 10, 33), "DINDEX"),
}
"""TiDB's action type → Canal's event type in all releases (tiflow v8.5.3 canal_entry.go convertDdlEventType)."""


def ddl(event: DdlEvent, options: CodecOptions, release: Release) -> tuple[None, bytes]:
    """Return the message of a DDL statement."""
    extension = b'{"commitTs":%d}' % event.commit_ts if event.commit_ts else b"{}"
    return None, _message(event, ddl_type(event.type_code, release), extension, options, release)


def ddl_type(type_code: int, release: Release) -> str:
    """Return Canal's event type of an action type: `ALTER`, …; `QUERY` for all others."""
    if type_code in release.canal_renames:
        return "RENAME"
    return "ALTER" if type_code in release.canal_alters else _DDL_TYPES.get(type_code, "QUERY")


def watermark(ts: int, options: CodecOptions, release: Release) -> tuple[None, bytes] | None:
    """Return TIDB_WATERMARK, or None without enable-tidb-extension."""
    if not _has_extension(options, release):
        return None
    extension = b'{"watermarkTs":%d}' % ts if ts else b"{}"
    return None, _message(DdlEvent(ts, "", "", "", 0), WATERMARK, extension, options, release)


def _has_extension(options: CodecOptions, release: Release) -> bool:
    return options.enable_tidb_extension and release.tidb_extension


def _message(event: DdlEvent, type: str, extension: bytes, options: CodecOptions, release: Release) -> bytes:
    es = physical(event.commit_ts)
    build = es if options.build_ts is None else options.build_ts
    text = b'{"id":0,"database":%s,"table":%s,"pkNames":null,"isDdl":%s,"type":"%s","es":%d,"ts":%d,"sql":%s' % (
        quoted(event.schema),
        quoted(event.table),
        b"false" if type == WATERMARK else b"true",
        type.encode(),
        es,
        build if release.canal_build_time else 0,
        quoted(event.query),
    )
    text += b',"sqlType":null,"mysqlType":null,"data":null,"old":null'
    text += (b',"_tidb":' + extension if _has_extension(options, release) else b"") + b"}"
    return compress(text, options.large_message_handle_compression)
