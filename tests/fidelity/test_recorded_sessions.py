"""What two and three sessions of a real TiDB were answered, and what LOAD DATA did there, played on a server."""

from __future__ import annotations

import base64
import gzip
import json
import runpy
import sys
from pathlib import Path
from typing import Any

import pymysql
import pytest
from support.vectors.files import RECORDINGS, Json

from simulator import TiCDC
from simulator.api.server import TiCDCServer

WAITED_S = 0.5
"""Seconds after which a statement without an answer waits."""

LATER = {"unique-wait": 1}
"""Steps that differ: there an INSERT gets a unique key before one that has waited longer, and only later looks again."""


BEFORE = {"load data local infile 'load.txt' ignore into table t": "INSERT INTO t VALUES (9, 9, 'z', NULL, NULL, 1)"}
"""The row that the table of one statement has before, as its recorded rows show."""


def recorded(name: str) -> Any:
    return json.loads(gzip.decompress((RECORDINGS / name).read_bytes()))


@pytest.fixture(scope="module")
def port() -> Any:
    with TiCDCServer(TiCDC("v8.0.0")) as server:
        yield server.port


@pytest.mark.slow
def test_sessions_wait_and_are_answered_as_in_tidb(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows, affected rows, the error's number, and whether a step waits."""
    monkeypatch.setattr(sys, "argv", ["check_sessions.py", str(port)])
    check = runpy.run_path(str(RECORDINGS / "check_sessions.py"))
    monkeypatch.setitem(check["play"].__globals__, "WAIT", WAITED_S)

    different = dict[str, list[Json]]()
    for name, steps in recorded("sessions.json.gz").items():
        pairs = zip(steps, check["play"](port, name, steps), strict=True)
        for step, answer in pairs:
            tidb, here = check["form"](step, step["sql"]), check["form"](answer, step["sql"])
            if tidb != here:
                different.setdefault(name, []).append({"sql": step["sql"], "TiDB": tidb, "here": here})

    assert {name: len(steps) for name, steps in different.items()} == LATER, different


def loaded(client: Any, each: Json, file: Path) -> Json:
    """What a client is told of a LOAD DATA, and the rows behind it, as recorded."""
    file.write_bytes(base64.b64decode(each["data"]))
    name = each["table"].split()[2]
    with client.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {name}")
        cursor.execute(each["table"])
        if each["sql"] in BEFORE:
            cursor.execute(BEFORE[each["sql"]])
        found: dict[str, Any] = {}
        try:
            found["affected"] = cursor.execute(each["sql"].replace("load.txt", str(file)))
            found["message"] = cursor._result.message.decode()
            cursor.execute("SHOW WARNINGS")
            found["warnings"] = cursor.rowcount
        except pymysql.MySQLError as error:
            found["error"] = error.args[0]
        cursor.execute(f"SELECT * FROM {name}")
        rows = [[{"hex": cell.hex()} if isinstance(cell, bytes) else cell for cell in row] for row in cursor.fetchall()]
    return {**found, "rows": sorted(rows, key=str)}


@pytest.mark.slow
def test_files_are_loaded_as_in_tidb(port: int, tmp_path: Path) -> None:
    options: Any = {"host": "127.0.0.1", "port": port, "user": "root", "database": "test", "conv": {}}
    with pymysql.connect(**options, autocommit=True, local_infile=True, charset="utf8mb4") as client:
        for each in recorded("load-data.json.gz"):
            found = loaded(client, each, tmp_path / "load.txt")
            told = {name: each[name] for name in found if name != "rows"}
            assert found == {**told, "rows": sorted(each["rows"], key=str)}, each["sql"]
