"""No two rows have one value of a unique key at the same time."""

from __future__ import annotations

import base64
import json
import re
import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.databases import AIRPORTS
from support.playing import Rows, play, replayed

from simulator import TiCDC
from simulator.reader.contract import Violation
from simulator.reader.records import Record
from simulator.reader.replay.outcome import ReplayOutcome
from simulator.reader.verify import verify
from simulator.reader.verify.options import VerifyOptions
from simulator.reader.verify.verification import RIGHT, WRONG
from simulator.releases import find
from simulator.ticdc.changefeed import load
from simulator.ticdc.codecs import CODECS
from simulator.tidb.ddl.table_definitions import create_table
from simulator.tidb.model.table import Table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PLAIN, UNIQUE = b"INDEX `ab`(", b"UNIQUE`ab`("
"""A key in statements, and one in its place that is unique: the simulated TiDB keeps the one alone."""

T = "CREATE TABLE t (id INT PRIMARY KEY, code VARCHAR(9), n INT, KEY ab (code))"
ROWS = "INSERT INTO t VALUES (1, 'AA', 1), (2, 'BB', 2), (3, 'CC', 3)"

PROTOCOLS = {
    "open-protocol": ("protocol=open-protocol", "v8.5.8"),
    "open-protocol of the changed columns alone": ("protocol=open-protocol&only-output-updated-columns=true", "v8.5.8"),
    "open-protocol without old rows": ("protocol=open-protocol&enable-old-value=false", "v5.4.3"),
    "canal-json": ("protocol=canal-json", "v8.5.8"),
    "canal-json with the extension": ("protocol=canal-json&enable-tidb-extension=true", "v8.5.8"),
    "simple": ("protocol=simple", "v8.5.8"),
}


def stream(story: str, sink: str, release: str, begun: str = "") -> list[Record]:
    """What is sent of a story, with a unique key in the place of the other one, behind what had begun before."""
    uri = f"kafka://127.0.0.1:9092/t?partition-num=2&{sink}"
    with TiCDC(sink_uri=uri, release=release, config={"force-replicate": True}) as ticdc:
        ticdc.execute(begun)
        ticdc.messages()
        ticdc.execute(story)
        return [
            Record(each.topic, each.partition, each.offset, each.timestamp, each.key, with_unique_key(each.value))
            for each in ticdc.messages()
        ]


def with_unique_key(message: bytes | None) -> bytes:
    return re.sub(rb'("name":"ab","unique":)false', rb"\1true", (message or b"").replace(PLAIN, UNIQUE))


def replay(records: list[Record], sink: str, release: str, *tables: Table) -> ReplayOutcome:
    """What the replay of a stream finds; `tables` are there before it, with rows that nobody knows."""
    changefeed = load(f"kafka://127.0.0.1:9092/t?{sink}", "", find(release, None))
    protocol = changefeed.codec.protocol
    fidelity = CODECS[protocol].fidelity(changefeed.codec, find(release, None))
    return replayed(records, protocol, tables, fidelity=fidelity, known=() if tables else None)


def told(outcome: ReplayOutcome) -> list[str]:
    """The findings, which are all of unique keys."""
    assert {check for check, _ in outcome.counts} <= {"unique-key"}
    assert sum(outcome.counts.values()) == len(outcome.examples)
    return shared(outcome.examples)


def shared(examples: Iterable[Violation]) -> list[str]:
    """The rows and values of examples, without when it was."""
    pattern = r"\w+\.\w+, (row .*): has (.*) of unique key \w+ at \d+ .*, which (row .*) at the same time"
    return [re.sub(pattern, r"\1: \2; \3", each.what) for each in examples]


STORIES = {
    "a value goes before it comes": (
        "UPDATE t SET code = 'XX' WHERE id = 2; UPDATE t SET code = 'BB' WHERE id = 1",
        [],
    ),
    "a row goes before another one has its value": (
        "DELETE FROM t WHERE id = 3; INSERT INTO t VALUES (4, 'CC', 4)",
        [],
    ),
    "rows swap values in a transaction": (
        "UPDATE t SET code = CASE id WHEN 1 THEN 'BB' ELSE 'AA' END WHERE id < 3; UPDATE t SET n = 9; DELETE FROM t",
        [],
    ),
    "a row keeps its value under another key": (
        "UPDATE t SET id = 9 WHERE id = 1; UPDATE t SET n = 0; DELETE FROM t WHERE id = 9; INSERT INTO t VALUES (8, 'AA', 1)",
        [],
    ),
    "NULL is no value": ("UPDATE t SET code = NULL; INSERT INTO t VALUES (7, NULL, 1); UPDATE t SET n = 5", []),
    "a table is emptied": ("TRUNCATE TABLE t; INSERT INTO t VALUES (8, 'AA', 1), (9, 'BB', 1)", []),
    "a table is created anew": (f"DROP TABLE t; {T}; INSERT INTO t VALUES (8, 'AA', 1), (9, 'BB', 1)", []),
    "the key goes": ("DROP INDEX ab ON t; UPDATE t SET code = 'AA'; UPDATE t SET n = 7", []),
    "the key comes": ("DROP INDEX ab ON t; UPDATE t SET code = NULL; ALTER TABLE t ADD INDEX ab (code)", []),
    "a column gets another type": (
        "UPDATE t SET code = id; ALTER TABLE t MODIFY code INT; UPDATE t SET code = 5 WHERE id = 1; "
        "UPDATE t SET code = 1 WHERE id = 2",
        [],
    ),
    "a column comes beside it": (
        "ALTER TABLE t ADD x INT FIRST; DELETE FROM t WHERE id = 1; UPDATE t SET code = 'AA' WHERE id = 2",
        [],
    ),
    "a table gets another name": (
        "RENAME TABLE t TO u; DELETE FROM u WHERE id = 1; UPDATE u SET code = 'AA' WHERE id = 2",
        [],
    ),
    "a value comes before it goes": (
        "UPDATE t SET code = 'BB' WHERE id = 1; UPDATE t SET code = 'AA' WHERE id = 2",
        ["row 1: code 'BB'; row 2 has"],
    ),
    "a row comes before the other goes": (
        "INSERT INTO t VALUES (4, 'CC', 4); DELETE FROM t WHERE id = 3",
        ["row 4: code 'CC'; row 3 has"],
    ),
    "two rows have it in one transaction": (
        "INSERT INTO t VALUES (5, 'XX', 1), (6, 'XX', 2); UPDATE t SET n = 5 WHERE id > 4",
        ["row 6: code 'XX'; row 5 has"],
    ),
    "three rows have it": ("UPDATE t SET code = 'AA'", ["row 2: code 'AA'; row 1 has", "row 3: code 'AA'; row 1 has"]),
    "a column beside it came": (
        "ALTER TABLE t ADD x INT FIRST; RENAME TABLE t TO u; UPDATE u SET code = 'AA' WHERE id = 2",
        ["row 2: code 'AA'; row 1 has"],
    ),
    "the key came": (
        "DROP INDEX ab ON t; UPDATE t SET code = 'AA'; ALTER TABLE t ADD INDEX ab (code); UPDATE t SET n = 7",
        ["row 2: code 'AA'; row 1 has", "row 3: code 'AA'; row 1 has"],
    ),
}
"""What follows on ROWS, and what is wrong of it."""


@pytest.mark.parametrize(
    "protocol", [name if name == "open-protocol" else pytest.param(name, marks=pytest.mark.slow) for name in PROTOCOLS]
)
@pytest.mark.parametrize("name", STORIES)
def test_rows_hand_values_on_and_do_not_share_them(name: str, protocol: str) -> None:
    """In process and by digests, as Spark compares them."""
    text, wrong = STORIES[name]
    sink, release = PROTOCOLS[protocol]
    records = stream(f"{T}; {ROWS}; {text}", sink, release)

    assert told(replay(records, sink, release)) == wrong


TABLES = {
    "values that a collation does not tell apart": (
        "CREATE TABLE t (id INT PRIMARY KEY, code VARCHAR(9) COLLATE utf8mb4_general_ci, KEY ab (code)); "
        "INSERT INTO t VALUES (1, 'a'); UPDATE t SET code = 'A'; INSERT INTO t VALUES (2, 'á ')",
        ["row 2: code 'á '; row 1 has as 'A'"],
    ),
    "values that only a collation tells apart": (
        "CREATE TABLE t (id INT PRIMARY KEY, code VARCHAR(9) COLLATE utf8mb4_bin, KEY ab (code)); "
        "INSERT INTO t VALUES (1, 'a'), (2, 'A')",
        [],
    ),
    "a prefix": (
        "CREATE TABLE t (id INT PRIMARY KEY, code VARCHAR(9), KEY ab (code(2))); "
        "INSERT INTO t VALUES (1, 'xyz'), (2, 'xz'); INSERT INTO t VALUES (3, 'xya')",
        ["row 3: code 'xya'; row 1 has as 'xyz'"],
    ),
    "several columns": (
        "CREATE TABLE t (a INT, b INT, x INT, y DATE, PRIMARY KEY (a, b), KEY ab (x, y)); "
        "INSERT INTO t VALUES (1, 1, 5, '2024-01-01'), (1, 2, 5, '2024-01-02'), (1, 3, 5, NULL), (1, 4, 5, NULL); "
        "UPDATE t SET y = '2024-01-02' WHERE b = 1",
        ["row 1, 1: x '5', y '2024-01-02'; row 1, 2 has"],
    ),
    "rows without a key of their own": (
        "CREATE TABLE t (code INT, n INT, KEY ab (code)); INSERT INTO t VALUES (1, 1), (2, 2), (NULL, 3), (NULL, 3); "
        "UPDATE t SET n = n + 1; DELETE FROM t WHERE code = 1; INSERT INTO t VALUES (1, 9); UPDATE t SET code = 2 WHERE n = 9",
        ["row 2, 9: code '2'; row 2, 3 has"],
    ),
    "rows of a partition that is emptied": (
        "CREATE TABLE t (id INT, p INT, code INT, PRIMARY KEY (id, p), KEY ab (code, p)) PARTITION BY LIST (p) "
        "(PARTITION p0 VALUES IN (0), PARTITION p1 VALUES IN (1)); INSERT INTO t VALUES (1, 0, 5), (2, 1, 5); "
        "ALTER TABLE t TRUNCATE PARTITION p0; INSERT INTO t VALUES (3, 0, 5), (4, 1, 5)",
        ["row 4, 1: code '5', p '1'; row 2, 1 has"],
    ),
    "rows that EXCHANGE PARTITION moved": (
        "CREATE TABLE t (id INT PRIMARY KEY, code INT, KEY ab (code)) PARTITION BY HASH (id) PARTITIONS 1; "
        "CREATE TABLE u (id INT PRIMARY KEY, code INT, KEY ab (code)); INSERT INTO t VALUES (1, 5); "
        "ALTER TABLE t EXCHANGE PARTITION p0 WITH TABLE u; INSERT INTO t VALUES (3, 5); INSERT INTO u VALUES (4, 5)",
        [],
    ),
    "a column that is not sent": (
        "CREATE TABLE t (id INT PRIMARY KEY, n INT, code INT AS (n % 2) VIRTUAL, KEY ab (code)); "
        "INSERT INTO t (id, n) VALUES (1, 2), (2, 4)",
        [],
    ),
}


@pytest.mark.parametrize("name", TABLES)
def test_values_are_equal_as_in_the_database(name: str) -> None:
    text, wrong = TABLES[name]
    sink = PROTOCOLS["canal-json with the extension"]

    assert told(replay(stream(text, *sink), *sink)) == wrong


DEFINED = create_table("CREATE TABLE t (id INT PRIMARY KEY, code VARCHAR(9), n INT, UNIQUE KEY ab (code))", "test")


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("UPDATE t SET n = 9; DELETE FROM t WHERE id = 2; INSERT INTO t VALUES (9, 'BB', 1)", []),
        ("INSERT INTO t VALUES (9, 'BB', 1); DELETE FROM t WHERE id = 2", ["row 2: code 'BB'; row 9 has"]),
        ("UPDATE t SET n = 9; INSERT INTO t VALUES (9, 'BB', 1)", ["row 9: code 'BB'; row 2 has"]),
        ("INSERT INTO t VALUES (9, 'BB', 1)", []),  # nobody knows of row 2
    ],
)
def test_a_stream_that_begins_in_the_middle_tells_of_earlier_rows(text: str, wrong: list[str]) -> None:
    sink = PROTOCOLS["open-protocol"]
    records = stream(text, *sink, begun=f"{T}; {ROWS}")

    assert told(replay(records, *sink, DEFINED)) == wrong


@pytest.mark.parametrize("protocol", ["open-protocol", "canal-json", "open-protocol without old rows"])
def test_changes_that_come_again_do_not_share_values(protocol: str) -> None:
    """A restart sends all that it is not sure of, in the same order."""
    sink = PROTOCOLS[protocol]
    handed_on = "; ".join(
        STORIES[name][0] for name in ("a value goes before it comes", "rows swap values in a transaction")
    )
    records = stream(f"{T}; {ROWS}; {handed_on}", *sink)
    again = [replace(each, offset=each.offset + len(records)) for each in records]

    assert told(replay([*records, *again], *sink)) == []


def test_rows_before_the_stream_have_values() -> None:
    rows: Rows = {("test", "t"): [b"1\xffAA\xff1", b"2\xffBB\xff2", b"3\xff\xfe\xff3", b"4\xff\xfe\xff4"]}
    text = "DELETE FROM t WHERE id = 1; INSERT INTO t VALUES (8, 'AA', 1); INSERT INTO t VALUES (9, 'BB', 1)"
    records = stream(text, *PROTOCOLS["open-protocol"], begun=f"{T}; INSERT INTO t VALUES (1, 'AA', 1)")

    assert told(replayed(records, "open-protocol", [DEFINED], before=rows)) == ["row 9: code 'BB'; row 2 has"]


# What `verify` says of whole streams

WRONG_STORY = (
    f"{T}; {ROWS}; UPDATE t SET code = 'BB' WHERE id = 1; UPDATE t SET code = 'AA' WHERE id = 2; DELETE FROM t"
)
REGISTRY = '[sink]\nschema-registry = "http://127.0.0.1:8081"'
TOLD = ["row 1: code 'BB'; row 2 has"]


def recorded(home: Path, sink: str, release: str, config: str) -> VerifyOptions:
    """A stream whose rows share a value of a unique key, and its truth."""
    (home / "story.sql").write_text(WRONG_STORY, "utf-8")
    (home / "changefeed.toml").write_text(config, "utf-8")
    uri = f"file://{home}/out?{sink}" if "csv" in sink else f"kafka://127.0.0.1:9092/t?partition-num=2&{sink}"
    architecture, _, tag = release.rpartition(":")
    by = ("--release", tag, "--architecture", architecture or "classic", "--config", home / "changefeed.toml")
    into = () if "csv" in sink else ("--fixtures", home / "out")
    assert play("run", home / "story.sql", "--sink-uri", uri, *by, *into, "--truth", home / "truth") == 0
    for path in filter(Path.is_file, home.rglob("*")):
        if path.suffix == ".jsonl":
            lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
            for line in lines:
                if line["value"] is not None:
                    line["value"] = base64.b64encode(with_unique_key(base64.b64decode(line["value"]))).decode()
            path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
        elif path.suffix in (".json", ".sql"):
            path.write_bytes(with_unique_key(path.read_bytes()).replace(b" KEY ab (", b" UNIQUE KEY ab ("))
    return VerifyOptions(str(home / "out"), truth=home / "truth", master="none")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sink", "release", "config"),
    [
        *((sink, release, "") for sink, release in PROTOCOLS.values() if "enable-old-value" not in sink),
        ("protocol=simple&encoding-format=avro", "v8.5.8", ""),
        ("protocol=debezium", "v8.5.8", ""),
        ("protocol=debezium&enable-tidb-extension=true", "new:v26.3.4", ""),
        ("protocol=debezium-avro&enable-tidb-extension=true", "new:v26.3.4", REGISTRY),
        ("protocol=csv", "v8.5.8", "[sink.csv]\ninclude-commit-ts = true"),
        ("protocol=csv", "v8.5.8", "[sink.csv]\ninclude-commit-ts = true\noutput-old-value = true"),
    ],
)
def test_both_rows_are_named_in_every_protocol(sink: str, release: str, config: str, tmp_path: Path) -> None:
    found = verify(recorded(tmp_path, sink, release, config))
    (failure,) = (failure for failure in found.failures if failure.check == "unique-key")

    assert (found.verdict, shared(failure.examples)) == (WRONG, TOLD)
    assert failure.examples[0].place


@pytest.mark.slow
def test_avro_does_not_tell_when_a_value_is_left(tmp_path: Path) -> None:
    found = verify(recorded(tmp_path, "protocol=avro&enable-tidb-extension=true", "v8.5.8", REGISTRY))

    assert found.verdict == RIGHT
    assert found.not_checked[0].what == "whether two rows of test.t have one value of the unique key ab"


@pytest.mark.slow
@pytest.mark.parametrize("sink", ["protocol=canal-json&enable-tidb-extension=true", "protocol=csv"])
def test_spark_finds_the_same(spark: SparkSession, sink: str, tmp_path: Path) -> None:
    """By digests, and where values follow from the replay of rows."""
    options = recorded(tmp_path, sink, "v8.5.8", "[sink.csv]\ninclude-commit-ts = true" if "csv" in sink else "")
    alone, on_spark = (verify(replace(options, master=master)) for master in ("none", "local[2]"))

    assert alone.failures == on_spark.failures != ()


@pytest.mark.slow
def test_a_diff_passes_through_states_of_a_database(tmp_path: Path) -> None:
    """Airports hand codes on to one another, which a diff that knows nothing of the key does not see."""
    uri = "kafka://127.0.0.1:9092/airports?protocol=canal-json&enable-tidb-extension=true"
    verdicts = []
    for name in ("with", "without"):
        states = [tmp_path / name / each.name for each in AIRPORTS]
        for shipped, state in zip(AIRPORTS, states):
            shutil.copytree(shipped, state)
            schema = state / "airports.airport-schema.sql"
            if name == "without":
                schema.write_text(schema.read_text("utf-8").replace("UNIQUE KEY", "KEY"), "utf-8")
        out, (before, after) = tmp_path / f"{name}.out", map(str, AIRPORTS)
        assert play("diff", *states, "--sink-uri", uri, "--fixtures", out, "--master", "none") == 0
        options = VerifyOptions(str(out), before=before, after=after, sink_uri=uri, release="v8.5.8", master="none")
        verdicts.append(verify(options))
    right, wrong = verdicts

    assert right.verdict == RIGHT
    assert [failure.check for failure in wrong.failures] == ["unique-key"]
    assert "row PAAE: iata 'KOZ'; row K4K5 has" in shared(wrong.failures[0].examples)
