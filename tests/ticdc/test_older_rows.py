"""Old values of rows that were last written before a column was added, by releases (tiflow cdc/entry/mounter.go,
getDefaultOrZeroValue, at each tag)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.codec_rows import unframed
from support.playing import play, said

from simulator import TiCDC
from simulator.errors import SimulatorError

OPEN, CANAL, CSV = "open-protocol", "canal-json", "csv"
ISSUE = """CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1); ALTER TABLE t ADD n INT DEFAULT 5;
ALTER TABLE t ADD m INT NOT NULL DEFAULT 7; ALTER TABLE t ALTER m SET DEFAULT 9; DELETE FROM t"""
TYPES = """CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1);
ALTER TABLE t ADD e ENUM('a', 'b') NOT NULL DEFAULT 'b', ADD s SET('x', 'y') NOT NULL DEFAULT 'x,y',
  ADD b BIT(9) NOT NULL DEFAULT 300, ADD f FLOAT NOT NULL DEFAULT 1.5, ADD y YEAR NOT NULL DEFAULT 2020,
  ADD v VARCHAR(9) NOT NULL DEFAULT 'é', ADD d DECIMAL(6, 3) NOT NULL DEFAULT 2.5, ADD c DATE NOT NULL DEFAULT '2020-02-02';
DELETE FROM t"""


def played(release: str, protocol: str, sql: str, parameters: str = "", **settings: Any) -> list[dict[str, Any]]:
    """The rows in the messages of a story, as JSON."""
    if release in OLD_VALUES_OFF:
        settings = {"config": "enable-old-value = true\n", **settings}
    with TiCDC(release, sink_uri=f"kafka://h/t?protocol={protocol}{parameters}", **settings) as ticdc:
        ticdc.execute(sql)
        texts = [message.value or b"" for message in ticdc.messages(watermark=False)]
    if protocol == OPEN:
        texts = [each for text in texts for each in unframed(text)]
    events = [json.loads(text) for text in texts if text]
    return [event for event in events if {"d", "u"} & {*event} or event.get("data")]


OLD_VALUES_OFF = ("v4.0.4", "v4.0.16")


def old_values(release: str, protocol: str, sql: str, **settings: Any) -> dict[str, Any]:
    """The values of the row in the last message, which deletes it, without its key."""
    event = played(release, protocol, sql, **settings)[-1]
    row = event["data"][0] if "data" in event else {name: column["v"] for name, column in event["d"].items()}
    return {name: value for name, value in row.items() if name != "id"}


DEFAULT, TEXT, TYPED = {"n": None, "m": "9"}, {"n": "5", "m": "7"}, {"n": 5, "m": 7}


OF_THE_ISSUE = {
    "v4.0.16 v5.0.6 v5.1.3 v5.2.3 v5.3.0": DEFAULT,
    "v5.1.4 v5.2.4 v5.3.1 v5.4.3 v6.1.7 v6.5.8 v6.6.0 v7.0.0 v7.1.4 v7.2.0 v7.5.1 v7.6.0": TEXT,
    "v6.5.9 v7.1.5 v7.5.2 v8.0.0 v8.5.7 new:v8.5.4 new:v9.0.0-beta.1": TYPED,
}


@pytest.mark.parametrize(
    ("release", "expected"),
    [(release, expected) for releases, expected in OF_THE_ISSUE.items() for release in releases.split()],
)
def test_a_row_without_a_column_has_a_default_in_its_place(release: str, expected: dict[str, Any]) -> None:
    """The present one as text, NULL where it may be; or that of the time of ADD COLUMN, as text, or as a value."""
    assert old_values(release, OPEN, ISSUE) == expected
    texts = {name: None if value is None else str(value) for name, value in expected.items()}
    assert old_values(release, CANAL, ISSUE) == texts


NUMBERS: dict[str, Any] = {"e": 2, "s": 3, "b": 300, "f": 1.5, "y": 2020}
STRINGS = {"e": "b", "s": "x,y", "b": "\x01,", "f": "1.5", "y": "2020"}
SAME = {"v": "é", "c": "2020-02-02"}


@pytest.mark.parametrize(
    ("release", "protocol", "expected"),
    [
        ("v5.3.0", OPEN, {**STRINGS, **SAME, "d": "2.5"}),
        ("v6.5.8", OPEN, {**STRINGS, **SAME, "d": "2.5"}),
        ("v6.5.9", OPEN, {**NUMBERS, **SAME, "d": "2.500"}),
        ("v6.5.8", CANAL, {**STRINGS, **SAME, "d": "2.5"}),
        ("v6.5.9", CANAL, {**{name: str(value) for name, value in NUMBERS.items()}, **SAME, "d": "2.500"}),
    ],
)
def test_members_bits_and_numbers_are_texts_before_6_5_9(release: str, protocol: str, expected: dict[str, Any]) -> None:
    assert old_values(release, protocol, TYPES) == expected


WITHOUT_DEFAULTS = """CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1);
ALTER TABLE t ADD d DECIMAL(6, 2) NOT NULL, ADD c DATE NOT NULL, ADD m DATETIME NOT NULL, ADD h TIME NOT NULL,
  ADD s SET('x') NOT NULL, ADD j JSON NOT NULL, ADD b BIT(3) NOT NULL, ADD e ENUM('p', 'q') NOT NULL, ADD i INT NOT NULL,
  ADD v VARCHAR(4) NOT NULL, ADD x TEXT NOT NULL, ADD y YEAR NOT NULL; DELETE FROM t"""
ZEROS = {"b": "", "e": "p", "v": "", "x": ""}
OBJECTS: dict[str, Any] = {"d": {}, "c": {}, "m": {}, "h": {"Duration": 0, "Fsp": 0}, "s": {"Name": "", "Value": 0}}
OBJECTS |= {"j": None, "i": 0, "y": 0}
TEXTS = {"d": "0", "c": "0000-00-00", "m": "0000-00-00 00:00:00", "h": "00:00:00", "s": "", "j": "null"}


@pytest.mark.parametrize(
    ("release", "protocol", "expected"),
    [
        ("v5.3.0", OPEN, OBJECTS),
        ("v5.3.0", CANAL, {**TEXTS, "i": "0", "y": "0"}),
        ("v5.3.1", CANAL, {**TEXTS, "i": "0", "y": "0000"}),
    ],
)
def test_without_a_default_a_column_has_its_zero_in_go(release: str, protocol: str, expected: dict[str, Any]) -> None:
    """JSON makes an object of it (tidb types: MyDecimal, Time, Duration, Set); from 5.1.4 it is the origin default."""
    assert old_values(release, protocol, WITHOUT_DEFAULTS) == {**expected, **ZEROS}


LITERALS = """CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1);
ALTER TABLE t ADD i INT NOT NULL DEFAULT 1.50; ALTER TABLE t ADD f FLOAT NOT NULL DEFAULT 2.50;
ALTER TABLE t ADD d DATE NOT NULL DEFAULT '2020-1-2'; ALTER TABLE t ADD e ENUM('x', 'y') NOT NULL DEFAULT 2"""
WRITTEN = {"i": "1.50", "f": "2.50", "d": "2020-1-2", "e": "2"}
MADE = {"i": "2", "f": "2.5", "d": "2020-01-02", "e": "y"}


@pytest.mark.parametrize(
    ("release", "written"),
    [("v4.0.16", "ifde"), ("v5.0.0", "ifd"), ("v6.0.0", "ifd"), ("v6.1.0", "if"), ("v6.1.3", "if"), ("v6.1.4", "")],
)
def test_a_default_is_as_it_was_written_before_tidb_6_2(release: str, written: str) -> None:
    """TiDB's own rows have what the column makes of it (tidb ddl/ddl_api.go getDefaultValue)."""
    older = {name: (WRITTEN if name in written else MADE)[name] for name in MADE}
    assert old_values(release, CANAL, f"{LITERALS}; DELETE FROM t") == older
    newer = old_values(release, CANAL, f"{LITERALS}; DELETE FROM t; INSERT INTO t (id) VALUES (2); DELETE FROM t")
    assert newer == {**MADE, "e": "2"}


@pytest.mark.parametrize(("release", "text"), [("v5.3.0", "CURRENT_TIMESTAMP"), ("v5.3.1", "2025-01-01 00:00:00.003")])
def test_the_present_default_may_be_a_function(release: str, text: str) -> None:
    sql = ISSUE.partition("; ALTER")[0] + "; ALTER TABLE t ADD c DATETIME(3) NOT NULL DEFAULT NOW(3); DELETE FROM t"
    assert old_values(release, CANAL, sql) == {"c": text}


@pytest.mark.parametrize(
    ("release", "line"),
    [
        ("v7.5.1", '"b","x,y","\x01,","1.5","2020","é","2.5","2020-02-02"'),
        ("v7.5.2", '"b","x,y",300,1.5,2020,"é","2.500","2020-02-02"'),
    ],
)
def test_such_a_string_is_in_quotes_in_csv(tmp_path: Path, release: str, line: str) -> None:
    with TiCDC(release, sink_uri=f"file://{tmp_path}?protocol=csv") as ticdc:
        ticdc.execute(TYPES)
        lines = [line for content in ticdc.files().values() for line in content.decode().splitlines()]
    assert [line for line in lines if line.startswith('"D"')] == [f'"D","t","test",1,{line}']


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("UPDATE t SET id = id", ["7"]),
        ("UPDATE t SET id = 1 WHERE id = 2", ["7"]),
        ("UPDATE t SET m = 8", [8]),
        ("REPLACE INTO t VALUES (1, 7)", ["7"]),
        ("DELETE FROM t; INSERT INTO t VALUES (1, 7)", [7]),
        ("INSERT INTO t VALUES (1, 7) ON DUPLICATE KEY UPDATE m = m + 1", [8]),
        ("INSERT INTO t VALUES (1, 7) ON DUPLICATE KEY UPDATE id = id", ["7"]),
        ("INSERT IGNORE INTO t VALUES (1, 8), (2, 9); DELETE FROM t WHERE id = 2", ["7"]),
        ("BEGIN; UPDATE t SET m = 8; ROLLBACK", ["7"]),
        ("BEGIN; DELETE FROM t; INSERT INTO t VALUES (1, 7); COMMIT", [7]),
        ("ALTER TABLE t MODIFY m BIGINT NOT NULL DEFAULT 8", ["7"]),
        ("ALTER TABLE t MODIFY m VARCHAR(9) NOT NULL", ["7"]),
        ("ALTER TABLE t RENAME COLUMN m TO x; ALTER TABLE t ADD INDEX (x)", ["7"]),
        ("ALTER TABLE t ADD x INT DEFAULT 3", ["7", "3"]),
        ("UPDATE t SET m = 7 + id; ALTER TABLE t ADD x INT DEFAULT 3", [8, "3"]),
        ("ALTER TABLE t ADD x INT DEFAULT 3; ALTER TABLE t DROP m", ["3"]),
        (
            "CREATE TABLE p (id INT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (9)); "
            "ALTER TABLE p ADD m INT NOT NULL DEFAULT 7; ALTER TABLE p EXCHANGE PARTITION a WITH TABLE t; "
            "ALTER TABLE p EXCHANGE PARTITION a WITH TABLE t",
            ["7"],
        ),
        ("DROP TABLE t; FLASHBACK TABLE t; RENAME TABLE t TO u; RENAME TABLE u TO t", ["7"]),
    ],
)
def test_a_row_is_older_until_a_statement_writes_it(sql: str, expected: list[Any]) -> None:
    """An UPDATE writes all columns of a row, MODIFY COLUMN the changed one, other DDL none."""
    begin = "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1); ALTER TABLE t ADD m INT NOT NULL DEFAULT 7"
    assert [*old_values("v6.5.8", OPEN, f"{begin}; {sql}; DELETE FROM t").values()] == expected


def test_rows_that_modify_column_writes_again_stay_older() -> None:
    """TiDB 5.1 to 6.5.2 writes a row without the columns that it lacks, and TiCDC sends it with their defaults."""
    added = "ALTER TABLE t ADD m INT NOT NULL DEFAULT 7; ALTER TABLE t ALTER m SET DEFAULT 9"
    sql = f"CREATE TABLE t (id INT PRIMARY KEY, a INT); INSERT INTO t VALUES (1, 2); {added}; ALTER TABLE t MODIFY a VARCHAR(9)"
    for release, value in (("v5.3.0", "9"), ("v5.3.1", "7"), ("v6.5.2", "7")):
        event = played(release, OPEN, sql)[-1]
        assert (release, event["u"]["m"]["v"], event["p"]["m"]["v"]) == (release, value, value)


@pytest.mark.parametrize(
    ("release", "text"),
    [
        ("v6.5.8", "00:00:00"),
        ("v6.5.9", "00:00:00"),
        ("v6.5.10", "08:00:00"),
        ("v8.0.0", "00:00:00"),
        ("v8.1.0", "08:00:00"),
    ],
)
def test_a_timestamp_in_its_place_was_in_utc(release: str, text: str) -> None:
    sql = "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1); ALTER TABLE t ADD c TIMESTAMP DEFAULT '2020-01-01'; DELETE FROM t"
    assert old_values(release, CANAL, sql, tz="Asia/Shanghai") == {"c": f"2020-01-01 {text}"}


def test_only_updated_columns_has_numbers_that_were_strings() -> None:
    """TiCDC compares 7 with "7" (tiflow v7.1.0 pkg/sink/codec/common/helper.go IsColumnValueEqual)."""
    sql = ISSUE.replace("DELETE FROM t", "UPDATE t SET id = 1, m = 7, n = 6; UPDATE t SET n = 8")
    first, second = (event["p"] for event in played("v7.1.4", OPEN, sql, "&only-output-updated-columns=true")[-2:])
    assert ([*first], [*second]) == (["m", "n"], ["n"])


@pytest.mark.parametrize(
    ("protocol", "release"),
    [("maxwell", "v6.5.8"), ("maxwell", "v5.3.0"), ("simple", "v7.6.0"), ("debezium", "v7.6.0")],
)
def test_an_encoder_that_does_not_take_such_a_string_stops(protocol: str, release: str) -> None:
    with pytest.raises(SimulatorError, match="older than"):
        played(release, protocol, TYPES)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", [OPEN, CANAL])
@pytest.mark.parametrize("release", ["v5.3.0", "v6.5.1", "v6.5.8", "v7.5.2"])
def test_verify_knows_them(tmp_path: Path, protocol: str, release: str) -> None:
    """With a truth and without, and of rows that MODIFY COLUMN writes again, too; any other old value is wrong."""
    story, sent, truth = (tmp_path / name for name in ("story.sql", "sent", "truth"))
    statements = "ALTER TABLE t MODIFY d FLOAT NOT NULL; UPDATE t SET y = 2021; DELETE FROM t"
    story.write_text(f"{TYPES.replace('DELETE FROM t', statements)}; {WITHOUT_DEFAULTS.replace(' t ', ' u ')}")
    told = ["--release", release, "--sink-uri", f"kafka://h/t?protocol={protocol}"]
    assert play("run", story, *told, "--fixtures", sent, "--truth", truth) == 0
    assert "RIGHT" in said("verify", sent, "--truth", truth).out
    assert "RIGHT" in said("verify", sent, *told).out
    story.write_text(story.read_text().replace("DEFAULT 2020", "DEFAULT 2019"))
    assert play("run", story, *told, "--fixtures", sent, "--force") == 0
    assert "WRONG" in said("verify", sent, "--truth", truth).out


def test_the_truth_of_later_steps_knows_columns_that_earlier_ones_added(tmp_path: Path) -> None:
    """In messages without a commit-ts a row of the first millisecond is one of the run, too."""
    scenario = tmp_path / "two.toml"
    scenario.write_text(
        '[[step]]\nsql = "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1); ALTER TABLE t ADD z INT DEFAULT -1"\n'
        '[[step]]\nsql = "DELETE FROM t"\n'
    )
    for protocol in (OPEN, CANAL):
        told = ["--release", "v6.5.6", "--sink-uri", f"kafka://h/t?protocol={protocol}", "--force"]
        sent, truth = (tmp_path / name for name in ("sent", "truth"))
        assert play("run", scenario, "--from", 2, *told, "--fixtures", sent, "--truth", truth) == 0
        assert "RIGHT" in said("verify", sent, "--truth", truth).out


@pytest.mark.parametrize(("release", "value"), [("v5.3.0", '"7"'), ("v6.5.8", '"7"'), ("v8.5.3", "7")])
def test_rows_of_a_snapshot_are_older_than_columns_that_are_added(tmp_path: Path, release: str, value: str) -> None:
    for name, column, rows in (("a", "", "1\n2\n"), ("b", ", m INT NOT NULL DEFAULT 7", "1,8\n3,7\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "d.t-schema.sql").write_text(f"CREATE TABLE t (id INT PRIMARY KEY{column});")
        (tmp_path / name / "d.t.csv").write_text(rows)
    told = ["--release", release, "--sink-uri", f"kafka://h/t?protocol={OPEN}", "--fixtures", tmp_path / "sent"]
    assert play("diff", tmp_path / "a", tmp_path / "b", "--ddl-at", "start", *told) == 0
    text = "".join(file.read_text() for file in tmp_path.rglob("*.jsonl"))
    id, m = '"id":{"t":3,"h":true,"f":11,"v":%d}', f'"m":{{"t":3,"f":1,"v":{value}}}'
    assert f'"p":{{{id % 1},{m}}}' in text
    assert f'"d":{{{id % 2},{m}}}' in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("release", "protocol"), [("v6.5.8", OPEN), ("v6.5.9", CANAL), ("v8.5.3", CANAL), ("v8.5.3", "debezium")]
)
def test_verify_knows_the_zone_of_a_timestamp_that_is_added(tmp_path: Path, release: str, protocol: str) -> None:
    """The row that no later change is about, too."""
    story, sent, truth = (tmp_path / name for name in ("story.sql", "sent", "truth"))
    story.write_text(
        "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1), (2), (3); "
        "ALTER TABLE t ADD c TIMESTAMP DEFAULT '2020-01-01'; UPDATE t SET id = 4 WHERE id = 2; DELETE FROM t WHERE id = 1"
    )
    told = ["--release", release, "--tz", "Asia/Shanghai", "--sink-uri", f"kafka://h/t?protocol={protocol}"]
    assert play("run", story, *told, "--fixtures", sent, "--truth", truth) == 0
    assert "RIGHT" in said("verify", sent, "--truth", truth).out
