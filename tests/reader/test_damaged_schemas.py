"""Schemas of a registry that are not as TiCDC registers them are told, and nothing else happens."""

from __future__ import annotations

import json
from pathlib import Path
from zlib import crc32

import pytest
from support.budget import left_out
from support.mutants import Protocol, changed, field_changes, record, verdict
from support.playing import play

from simulator.reader.verify.verification import RIGHT
from simulator.sinks.files import SCHEMAS

pytestmark = pytest.mark.slow

STORY = """
CREATE DATABASE shop; USE shop;
CREATE TABLE a (id INT PRIMARY KEY, n DECIMAL(10,2), s VARCHAR(9), d DATETIME);
INSERT INTO a VALUES (1, 1.5, 'x', '2024-01-02 03:04:05'), (2, NULL, NULL, NULL);
UPDATE a SET n = 2.5 WHERE id = 1;
DELETE FROM a WHERE id = 2;
"""
WATERMARKS = "&enable-tidb-extension=true&avro-enable-watermark=true"
PROTOCOLS = {
    "avro": Protocol("avro", WATERMARKS, registry=True),
    "avro without the extension": Protocol("avro", registry=True),
    "debezium-avro": Protocol("debezium-avro", WATERMARKS, "v26.3.4", "new", registry=True),
}
SHARE = {"avro": 8, "avro without the extension": 8, "debezium-avro": 96}
"""Changes of which one is tried, unless `--everything` is given."""


@pytest.mark.parametrize("name", PROTOCOLS)
def test_each_change_of_a_schema_is_told(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    recorded = record(STORY, PROTOCOLS[name], tmp_path / "story")
    path, share = recorded.directory / SCHEMAS, 1 if request.config.getoption("--everything") else SHARE[name]
    whole = json.loads(path.read_text())
    assert verdict(recorded.messages, recorded) == RIGHT
    for number, registered in whole.items():
        schema = json.loads(registered["schema"])
        for change in field_changes(schema):
            if crc32(f"{number} {change.path} {change.what}".encode()) % share:
                left_out(request, 1, "schema change")
                continue
            damaged = json.dumps(changed(schema, change), separators=(",", ":"))
            path.write_text(json.dumps({**whole, number: {**registered, "schema": damaged}}))

            assert verdict(recorded.messages, recorded) != RIGHT, (registered["subject"], change.path, change.what)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"name":"a"', '"name":null'),
        ('"name":"id"', '"name":"ID"'),
        ('"scale":2', '"scale":1000000000'),
        ('{"tidb_type":"INT"}', '{"tidb_type":["INT"]}'),
        ('["null",{', '["null",["null"],{'),
        ('"fields":[', '"fields":[7,'),
    ],
)
def test_the_command_does_not_crash(old: str, new: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recorded = record(STORY, PROTOCOLS["avro without the extension"], tmp_path / "story")
    path = recorded.directory / SCHEMAS
    quoted, damaged = (json.dumps(text)[1:-1] for text in (old, new))
    assert quoted in path.read_text()
    path.write_text(path.read_text().replace(quoted, damaged))

    for given in (("--truth", recorded.truth), ("--after", recorded.truth), ()):
        assert play("verify", recorded.directory, *given) in (1, 2, 4)
    assert play("inspect", recorded.directory) in (0, 1, 2)
    assert "Traceback" not in capsys.readouterr().err
