"""`--tz`, the time zone of TiCDC's servers: TIMESTAMPs of rows are in it, in messages, hashes and filters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.playing import play, said

from simulator import TiCDC
from simulator.errors import UserError

SQL = "CREATE TABLE t (ts TIMESTAMP(3) NULL DEFAULT '2020-01-01 00:00:00', dt DATETIME, id INT PRIMARY KEY)"
SHANGHAI, BERLIN = "Asia/Shanghai", "Europe/Berlin"


def sent(
    release: str, parameters: str, zone: str | None, *values: str, config: Any = None, sql: str = SQL
) -> list[str]:
    """The texts of the messages with the rows that have these TIMESTAMPs."""
    uri = f"kafka://127.0.0.1:9092/t?protocol={parameters}&partition-num=16"
    with TiCDC(release, sink_uri=uri, tz=zone, config=config) as ticdc:
        ticdc.execute(sql)
        for number, value in enumerate(values):
            ticdc.execute(f"INSERT INTO t VALUES ({value}, '2024-07-01 20:30:00', {number})")
        every = list(ticdc.messages(watermark=False))
        return [f"{message.partition} {message.value!r}" for message in every if b"20:30:00" in (message.value or b"")]


OPEN, CANAL = "open-protocol", "canal-json"
LOCAL = '"v":"2024-07-02 04:30:00.500"'
SIMPLE = '"ts":{"location":"%s","value":"2024-07-02 04:30:00.500"}'
INSTANT = '"ts":"2024-07-01T20:30:00.500Z"'
WITH_TEXT = SQL.replace("dt DATETIME", "dt VARCHAR(30)")


@pytest.mark.parametrize(
    ("release", "protocol", "text"),
    [
        ("v4.0.5", OPEN, LOCAL),
        ("v8.5.3", OPEN, LOCAL),
        ("new:v26.3.4", OPEN, LOCAL),
        ("new:v9.0.0-beta.2.pre", OPEN, LOCAL),
        ("new:v9.0.0-beta.1", OPEN, '"v":"2024-07-01 20:30:00.500"'),
        ("v6.5.12", CANAL, '"ts":"2024-07-02 04:30:00.500","dt":"2024-07-01 20:30:00"'),
        ("new:v8.5.4", CANAL, '"ts":"2024-07-02 04:30:00.500"'),
        ("v7.5.2", "simple", SIMPLE % "Local"),
        ("v7.6.0", "simple", '"ts":"2024-07-02 04:30:00.500"'),
        ("v8.0.0", "simple", SIMPLE % SHANGHAI),
        ("new:v8.5.4", "simple", SIMPLE % SHANGHAI),
        ("v7.6.0", "debezium", INSTANT),
        ("v8.5.3", "debezium", INSTANT),
        ("new:v8.5.4", "debezium", INSTANT),
    ],
)
def test_a_timestamp_is_in_the_zone_of_the_servers(release: str, protocol: str, text: str) -> None:
    """A DATETIME is as it is, and Debezium makes an instant of the local time again."""
    (message,) = sent(release, protocol, SHANGHAI, "'2024-07-01 20:30:00.5'", sql=WITH_TEXT)
    assert text in message


@pytest.mark.parametrize(
    ("protocol", "second"), [(OPEN, "2024-10-27 02:30:00.000"), ("debezium", "2024-10-27T01:30:00.000Z")]
)
def test_two_instants_of_one_local_time_are_one(protocol: str, second: str) -> None:
    """Of the hour that comes twice, Debezium has the instant that Go chooses, which in Berlin is the later one."""
    both = sent("v8.5.3", protocol, BERLIN, "'2024-10-27 00:30:00'", "'2024-10-27 01:30:00'", sql=WITH_TEXT)
    assert [True, True] == [second in message for message in both]


def test_zero_and_null_have_no_zone() -> None:
    zero, null = sent("v8.5.3", CANAL, SHANGHAI, "NULL", "DEFAULT")
    assert '"ts":null' in zero and '"ts":"2020-01-01 08:00:00.000"' in null


def test_debezium_takes_the_default_in_place_of_null_for_a_local_time() -> None:
    """The default of the schema is UTC (tiflow v8.5.3: pkg/sink/codec/debezium/codec.go)."""
    (message,) = sent("v8.5.3", "debezium", SHANGHAI, "NULL", sql=WITH_TEXT)
    assert '"ts":"2019-12-31T16:00:00.000Z"' in message and '"default":"2020-01-01T00:00:00.000Z"' in message


@pytest.mark.parametrize(
    ("release", "moved"), [("v4.0.6", True), ("v4.0.13", False), ("v5.0.0", True), ("v5.0.2", False), ("v6.0.0", False)]
)
def test_early_avro_has_an_instant_or_the_local_time_as_if_it_were_utc(release: str, moved: bool) -> None:
    values = []
    for zone in (None, SHANGHAI):
        uri = "kafka://127.0.0.1:9092/t?protocol=avro&registry=http://127.0.0.1:8081"
        with TiCDC(release, sink_uri=uri, tz=zone) as ticdc:
            ticdc.execute("CREATE TABLE t (ts TIMESTAMP, id INT PRIMARY KEY); INSERT INTO t VALUES (NOW(), 1)")
            values.append(list(ticdc.messages(watermark=False))[-1].value)
    assert moved == (values[0] != values[1])


def test_hashes_and_filters_see_the_local_time() -> None:
    noon = {"filter": {"event-filters": [{"matcher": ["*.*"], "ignore-insert-value-expr": "hour(ts) = 12"}]}}
    hashed = {"sink": {"dispatchers": [{"matcher": ["*.*"], "partition": "columns", "columns": ["ts"]}]}}
    values = ("'2024-07-01 04:00:00'", "'2024-07-01 12:00:00'")  # 12:00 and 20:00 there
    (kept,) = sent("v8.5.3", CANAL, SHANGHAI, *values, config=noon)
    assert '"ts":"2024-07-01 20:00:00.000"' in kept
    local = sent("v8.5.3", CANAL, SHANGHAI, values[0], config=hashed)
    same_text, utc = (sent("v8.5.3", CANAL, None, value, config=hashed) for value in (values[1], values[0]))
    assert local[0].split()[0] == same_text[0].split()[0] != utc[0].split()[0]


@pytest.mark.parametrize("name", ["System", "LOCAL", ""])
def test_machines_are_in_utc(name: str) -> None:
    assert sent("v8.0.0", OPEN, name, "'2024-07-01 20:30:00'") == sent("v8.0.0", OPEN, None, "'2024-07-01 20:30:00'")


@pytest.mark.parametrize("name", ["+08:00", "Mars/Base", "/etc/passwd", "asia"])
def test_another_name_is_refused(name: str) -> None:
    with pytest.raises(UserError, match="CDC:ErrLoadTimezone.*unknown time zone .*accepted: the name of a time zone"):
        TiCDC(tz=name)


SCRIPT = f"""{SQL};
INSERT INTO t VALUES ('2024-10-27 00:30:00', '2024-07-01 20:30:00', 1), (NULL, NULL, 2);
UPDATE t SET ts = '2024-10-27 01:30:00' WHERE id = 2;
CREATE TABLE u (ts TIMESTAMP PRIMARY KEY);
INSERT INTO u VALUES ('2024-03-31 01:00:00');
"""
KEYED = '[sink]\ndispatchers = [{matcher = ["*.*"], partition = "index-value"}]\n'
STORED = "[sink.csv]\ninclude-commit-ts = true\n"


@pytest.mark.slow
@pytest.mark.parametrize("protocol", [OPEN, f"{CANAL}&enable-tidb-extension=true", "simple", "debezium", "csv"])
def test_verify_knows_the_zone_from_the_truth_or_its_option(tmp_path: Path, protocol: str) -> None:
    scenario, config, out, truth = (tmp_path / name for name in ("s.toml", "c.toml", "out", "truth"))
    scenario.write_text(f'tz = "{BERLIN}"\n[[step]]\nsql = """{SCRIPT}"""\n')
    config.write_text(STORED if protocol == "csv" else KEYED)
    uri = f"file://{out}?protocol=csv" if protocol == "csv" else f"kafka://h/t?partition-num=4&protocol={protocol}"
    fixtures = () if protocol == "csv" else ("--fixtures", out)
    assert play("run", scenario, "--sink-uri", uri, "--config", config, *fixtures, "--truth", truth) == 0
    source = f"file://{out}" if protocol == "csv" else out
    assert said("verify", source, "--truth", truth).out.splitlines()[0].split(":")[0] in ("RIGHT", "UNPROVED")
    assert "WRONG" in said("verify", source, "--truth", truth, "--tz", SHANGHAI).out or protocol == "debezium"
