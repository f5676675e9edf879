"""What TiCDC's documentation shows of both protocols, event by event, against the scenarios that play its statements;
TSOs, times and the ids of rows are the cluster's own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from simulator.api.session import TiCDC
from simulator.reader.decode import DdlEvent, RowEvent, decode
from simulator.run.scenario import find_shipped, load

TYPES = {
    "sqlType": dict(c_bigint=-5, c_int=4, c_mediumint=4, c_smallint=5, c_tinyint=-6, id=4),
    "mysqlType": {
        **dict(c_bigint="bigint", c_int="int", c_mediumint="mediumint", c_smallint="smallint", c_tinyint="tinyint"),
        "id": "int",
    },
}
ROW = {
    **dict(c_bigint="9223372036854775807", c_int="2147483647", c_mediumint="8388607", c_smallint="32767"),
    **dict(c_tinyint="127", id="1"),
}
CHANGED = {**ROW, "c_int": "0", "c_tinyint": "0"}
OF_TABLE = {"id": 0, "database": "test", "table": "tp_int", "pkNames": ["id"], "isDdl": False, "sql": "", **TYPES}
WITHOUT_LENGTHS = {
    f"c_{name}": name for name in ("binary", "bit", "char", "decimal", "enum", "set", "varbinary", "varchar")
}
NOTHING: dict[str, None] = dict.fromkeys(("pkNames", "sqlType", "mysqlType", "data", "old"))


def messages(name: str, release: str) -> list[tuple[bytes | None, bytes]]:
    """Keys and values of what a scenario sends."""
    file = find_shipped(name).file
    settings = load(file).settings
    assert settings.sink_uri is not None
    with TiCDC(release, sink_uri=settings.sink_uri, config=settings.config) as ticdc:
        ticdc.play(file)
        return [(message.key, message.value or b"") for message in ticdc.messages()]


@pytest.mark.parametrize("release", ["v5.4.0", "v8.5.3", "new:v8.5.7"])
def test_canal_json_sends_the_documents_of_its_documentation(release: str) -> None:
    """In order: INSERT, UPDATE with the whole old row, DELETE; types without their parameters; the dropped database;
    a watermark."""
    sent = [json.loads(value) for _, value in messages("documented-canal-json", release)]
    rows = [document for document in sent if document["table"] == "tp_int" and not document["isDdl"]]
    extensions = [document.pop("_tidb") for document in sent]

    assert [_timeless(row) for row in rows] == [
        {**OF_TABLE, "type": "INSERT", "data": [ROW], "old": None},
        {**OF_TABLE, "type": "UPDATE", "data": [CHANGED], "old": [ROW]},
        {**OF_TABLE, "type": "DELETE", "data": [CHANGED], "old": None},
    ]
    assert [row["mysqlType"] for row in sent if row["table"] == "t" and not row["isDdl"]] == [
        {**WITHOUT_LENGTHS, "id": "int"}
    ]
    dropped, watermark = (
        next(row for row in sent if found(row))
        for found in (lambda row: "drop database" in row["sql"].lower(), lambda row: row["type"] == "TIDB_WATERMARK")
    )
    assert dropped.pop("sql").lower().replace("`", "") == "drop database if exists test"
    assert _timeless(dropped) == {**NOTHING, "id": 0, "database": "test", "table": "", "isDdl": True, "type": "QUERY"}
    empty = {"id": 0, "database": "", "table": "", "isDdl": False, "sql": ""}
    assert _timeless(watermark) == {**NOTHING, **empty, "type": "TIDB_WATERMARK"}
    assert {*map(tuple, extensions)} == {("commitTs",), ("watermarkTs",)}


def test_canal_json_sent_a_deleted_row_twice_before_5_4() -> None:
    sent = [json.loads(value) for _, value in messages("documented-canal-json", "v5.3.0")]

    assert [row["data"] for row in sent if row["type"] == "DELETE"] == [[CHANGED]]
    assert [row["old"] for row in sent if row["type"] == "DELETE"] == [[CHANGED]]


def test_open_protocol_sends_the_events_of_its_documentation() -> None:
    """Under the release that it shows: the columns of each event, bytes of strings in base64."""
    sent = messages("documented-open-protocol", "v4.0.4")
    values = b"".join(value for _, value in sent)

    assert [part for part in _documents(values) if "q" not in part] == [
        {"u": {"id": _id(1), "val": _val("YWE=")}},
        {"u": {"id": _id(2), "val": _val("YmI=")}},
        {"u": {"id": _id(3), "val": _val("Y2M=")}},
        {"d": {"id": _id(1)}},
        {"d": {"id": _id(2)}},
        {"u": {"id": _id(3), "val": _val("ZGQ=")}},
        {"u": {"id": _id(4), "val": _val("ZWU=")}},
    ]
    ddl = {"q": "CREATE TABLE test.t1(id int primary key, val varchar(16))", "t": 3}
    assert [part for part in _documents(values) if "q" in part] == [ddl, ddl]
    events = [event for key, value in sent for event in decode(key, value, "open-protocol")]
    named = {(event.schema, event.table) for event in events if isinstance(event, RowEvent | DdlEvent)}
    assert named == {("test", "t1")}


def _documents(values: bytes) -> list[dict[str, Any]]:
    """What stands between the lengths, ordered by whether it is there before or after the second transaction."""
    found, place = [], 0
    while place < len(values):
        length = int.from_bytes(values[place : place + 8], "big")
        place += 8 + length
        if length:
            found.append(json.loads(values[place - length : place]))
    return sorted(found, key=_order)


def _order(document: dict[str, Any]) -> tuple[bool, int]:
    row = document.get("u") or document.get("d") or {"id": {"v": 0}}
    return "d" in document or row.get("val", {}).get("v") in ("ZGQ=", "ZWU="), row["id"]["v"]


def _id(value: int) -> dict[str, Any]:
    return {"t": 3, "h": True, "v": value}


def _val(value: str) -> dict[str, Any]:
    return {"t": 15, "v": value}


def _timeless(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in ("es", "ts")}
