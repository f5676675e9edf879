"""Reads the first form of Simple's messages in Avro (tiflow v7.6.0 pkg/sink/codec/simple/message.json)."""

from __future__ import annotations

from typing import Any

from simulator.reader.decode.avro_reader import AvroReader
from simulator.reader.decode.simple_avro import OPERATIONS, read_index, read_present, read_rows, read_watermark

KINDS = {5: b"WATERMARK", 6: b"BOOTSTRAP", 7: b"DDL", 8: b""}
"""Kinds of messages by their branch of the schema, with what says so once more; a row is the last."""


def looks_like(content: bytes) -> bool:
    """Whether it begins with the branch of a message, version 1 and the kind."""
    kind = KINDS.get(content[0] // 2 if content and content[0] % 2 == 0 else 0)
    return kind is not None and content[1:2] == b"\2" and content.startswith(kind, 2)


def read(content: bytes) -> dict[str, Any]:
    """Return the members of a message; raises ValueError."""
    reader = AvroReader(content)
    branch = reader.long()
    if branch not in KINDS:
        raise ValueError(f"branch {branch} of the schema is no message")
    message: dict[str, Any] = {"version": reader.long()}
    kind = reader.take(len(KINDS[branch])).decode("utf-8", "replace")
    if kind.encode() != KINDS[branch]:
        raise ValueError(f"branch {branch} of the schema has the type {kind!r}")
    _READ[branch](reader, message)
    reader.end("message")
    return message


def _read_bootstrap(reader: AvroReader, message: dict[str, Any]) -> None:
    message.update(type="BOOTSTRAP", commitTs=0, buildTs=reader.long(), tableSchema=_schema(reader))


def _read_ddl(reader: AvroReader, message: dict[str, Any]) -> None:
    message.update(type="DDL", sql=reader.text(), commitTs=reader.long(), buildTs=reader.long())
    read_present(reader, message, ("tableSchema", "preTableSchema"), _schema)


def _read_dml(reader: AvroReader, message: dict[str, Any]) -> None:
    message.update(schema=reader.text(), table=reader.text(), type=reader.symbol(OPERATIONS))
    message.update(commitTs=reader.long(), buildTs=reader.long(), schemaVersion=reader.long())
    message.update(claimCheckLocation=reader.text(), handleKeyOnly=reader.boolean())
    read_rows(reader, message, _value)


_READ = {5: read_watermark, 6: _read_bootstrap, 7: _read_ddl, 8: _read_dml}


def _value(reader: AvroReader) -> object:
    match branch := reader.long():
        case 0:
            return None
        case 1 | 2:
            return reader.long()
        case 3:
            return reader.single()
        case 4:
            return reader.double()
        case 5:
            return reader.text()
        case 6:
            return reader.boolean()
        case 7:
            return reader.bytes()
    raise ValueError(f"branch {branch} of a value")


def _schema(reader: AvroReader) -> dict[str, Any]:
    schema = {"schema": reader.text(), "table": reader.text(), "version": reader.long()}
    return {**schema, "columns": reader.array(_column), "indexes": reader.array(read_index)}


def _column(reader: AvroReader) -> dict[str, Any]:
    name = reader.text()
    type: dict[str, Any] = {"mysqlType": reader.text(), "charset": reader.text(), "collate": reader.text()}
    type.update(length=reader.long(), decimal=reader.long(), elements=reader.array(AvroReader.text))
    type.update(unsigned=reader.boolean(), zerofill=reader.boolean())
    nullable = reader.boolean()
    default = reader.text() if reader.is_present() else None
    return {"name": name, "dataType": type, "nullable": nullable, "default": default}
