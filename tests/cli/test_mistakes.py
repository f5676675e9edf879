"""What is wrong with snapshots, Kafka or the machine: one line that says so, and nothing half-written."""

from __future__ import annotations

import gzip
import re
import socket
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import zstandard
from kafka.admin import KafkaAdminClient
from support.databases import AIRPORTS
from support.playing import Said, said
from support.processes import errors, started

from simulator.engines import in_process
from simulator.engines import spark as spark_package

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.usefixtures("here")

SCHEMA = "CREATE TABLE `t` (`id` int PRIMARY KEY, `small` tinyint NOT NULL, `name` varchar(90))"
BEFORE = "1,2,a\n2,3,b\n"
AFTER = "1,2,a\n2,4,b\n3,1,c\n"
NOWHERE = "kafka://127.0.0.1:1/shop?protocol=open-protocol"
MANY = "".join(f"{number},1,x\n" for number in range(3, 20003))


def snapshot(name: str, rows: bytes | str | None, schema: str | None = SCHEMA, suffix: str = ".csv") -> None:
    """A directory with one table `shop`.`t`."""
    directory = Path(name)
    directory.mkdir()
    if schema is not None:
        (directory / "shop.t-schema.sql").write_text(f"{schema};\n")
    if rows is not None:
        (directory / f"shop.t{suffix}").write_bytes(rows if isinstance(rows, bytes) else rows.encode())


@pytest.fixture
def good(here: Path) -> None:
    """Two snapshots that nothing is wrong with."""
    snapshot("before", BEFORE)
    snapshot("after", AFTER)


def diff(uri: str = NOWHERE, *options: object) -> Said:
    return said("diff", "before", "after", "--sink-uri", uri, *options)


def refused(uri: str = NOWHERE, *more: object, code: int = 2, fixtures: bool = True) -> str:
    """The one line that `diff` says, besides that it does without Spark; no fixtures are left."""
    found = diff(uri, *(("--fixtures", "out/fixtures") if fixtures else ()), *more)
    (line,) = (line for line in found.err if not line.startswith("snapshots of up to "))
    assert (found.code, found.out) == (code, "") and list(Path("out").glob("*")) == list(Path("out").glob(".*")) == []
    assert line.startswith("ticdc-sim: ")
    return line.removeprefix("ticdc-sim: ")


# Snapshots

KEYLESS = SCHEMA.replace(" PRIMARY KEY", "")
SCHEMAS = {
    None: "no schema file in after: every table needs its <db>.<table>-schema.sql (CREATE TABLE)",
    "CREATE TABLE `t` (`id` int PRIMARY KEY,\n `x` int NOTT NULL)": (
        "after/shop.t-schema.sql: line 2, column 10: 'NOTT' is not expected here. Did you mean 'NOT'?"
    ),
    "CREATE TABLE `t` (`id` intt PRIMARY KEY)": (
        "after/shop.t-schema.sql: line 1, column 24: column 'id' has the unknown type 'intt'. Did you mean 'INT'?"
    ),
    SCHEMA.replace("PRIMARY KEY", "PRIMARY KEY NONCLUSTERED"): (
        "[schema:1068] Multiple primary key defined (derived for table shop.t: "
        "ALTER TABLE `shop`.`t` ADD PRIMARY KEY (`id`) NONCLUSTERED)"
    ),
    KEYLESS: (
        "no primary key and no unique key of NOT NULL columns: shop.t; TiCDC does not replicate such tables: "
        "leave them out with [filter] rules, or set force-replicate = true"
    ),
}


@pytest.mark.parametrize(("schema", "words"), SCHEMAS.items())
def test_a_schema_that_does_not_do_is_named_with_its_place(schema: str | None, words: str) -> None:
    snapshot("before", BEFORE, schema if schema == KEYLESS else SCHEMA)
    snapshot("after", None, schema)
    assert words in refused()


def test_a_directory_that_is_not_there_is_named() -> None:
    snapshot("before", BEFORE)
    assert refused() == "no such directory: after"


CUT_SHORT = zstandard.compress(AFTER.encode())[:-4]


@pytest.mark.parametrize(
    ("suffix", "rows", "words"),
    [
        (".csv", "1,2,a\n2,4\n", "line 2: wrong number of fields: 2 instead of 3"),
        (".csv.gz", "1,2,a\n", "cannot be read: zlib inflate failed: incorrect header check"),
        (".csv.zst", CUT_SHORT, "cannot be read: Truncated compressed stream"),
        (".parquet", "1,2,a\n", "cannot be read as Parquet: Parquet file size is 6 bytes"),
    ],
    ids=["too few fields", "no gzip", "cut short", "no Parquet"],
)
def test_a_file_that_is_not_as_its_schema_says_is_named(suffix: str, rows: str | bytes, words: str) -> None:
    snapshot("before", BEFORE)
    snapshot("after", rows, suffix=suffix)
    assert refused().startswith(f"after/shop.t{suffix}: {words}")


RANGE = (
    "after/shop.t.csv: table `shop`.`t`, column 'small', row id='2': value '300' of type tinyint: "
    "accepted is -128 to 127"
)
TWICE = "duplicate key in a snapshot: table shop.t has several rows with id={}; a handle key must be unique"
BY_SMALL = '[sink]\ndispatchers = [{matcher = ["*.*"], partition = "columns", columns = ["small"]}]\n'
TOO_LARGE = (
    "[CDC:ErrMessageTooLarge] message is too large. table:t, length:323, maxMessageBytes:60 (row id=2 of shop.t)"
)
ROWS: dict[str, tuple[str, str, str, str]] = {
    "out of range": (BEFORE, "1,2,a\n2,300,b\n", "", RANGE),
    "changed": (BEFORE, AFTER + "2,5,x\n", "", TWICE.format(2)),
    "unchanged": (BEFORE, BEFORE + "2,3,b\n", "", TWICE.format(2)),
    "inserted": (BEFORE, AFTER + "7,1,x\n7,2,y\n", "", TWICE.format(7)),
    "deleted": (BEFORE + "7,1,x\n7,1,x\n", AFTER, "", TWICE.format(7)),
    "in several tasks": (BEFORE, BEFORE + "7,1,x\n7,4,y\n", "&partition-num=2", TWICE.format(7)),
    "behind 20,000": (BEFORE, BEFORE + MANY + "19846,2,y\n", "&partition-num=1", TWICE.format(19846)),
}
"""Rows before and after, what is behind the sink-uri, and the mistake."""

ON_SPARK = ("out of range", "deleted", "in several tasks", "behind 20,000")


def assert_told(name: str) -> None:
    before, after, more, words = ROWS[name]
    snapshot("before", before)
    snapshot("after", after)
    Path("feed.toml").write_text(BY_SMALL if name == "in several tasks" else "")
    assert refused(f"{NOWHERE}{more}", "--config", "feed.toml") == words
    if name == "behind 20,000":
        assert refused(f"{NOWHERE}{more}", "--console", fixtures=False) == words


@pytest.mark.parametrize("name", ROWS)
def test_a_row_that_cannot_be_is_told_before_anything_is_sent(name: str) -> None:
    """Out of range, or with a key that another row has."""
    assert_told(name)


@pytest.mark.parametrize("name", ON_SPARK)
def test_a_row_that_cannot_be_is_told_by_a_task_of_spark_as_it_is(spark: SparkSession, name: str) -> None:
    """Rows that are dispatched by columns other than the key go to several tasks, and no task sees both."""
    assert_told(name)


def test_a_row_that_is_too_large_is_told_behind_what_was_sent_before_it(spark: SparkSession) -> None:
    """TiCDC's changefeed stops there. It is not said that nothing differs."""
    snapshot("before", BEFORE)
    snapshot("after", AFTER)
    found = diff(f"{NOWHERE}&max-message-bytes=60", "--fixtures", "out")
    assert (found.code, found.err[-1]) == (2, f"ticdc-sim: {TOO_LARGE}")
    assert "0 row changes" in found.out and "differs" not in found.out


def test_compressed_files_are_read_like_any() -> None:
    snapshot("before", gzip.compress(BEFORE.encode()), suffix=".000000000.csv.gz")
    snapshot("after", zstandard.compress(AFTER.encode()), suffix=".000000000.csv.zst")
    changes = sorted(line.split(" ", 3)[3] for line in diff(NOWHERE, "--console").out.splitlines())
    assert changes[:2] == ["INSERT shop.t id=3 name=c small=1", "UPDATE shop.t id=2 small: 3→4"]


@pytest.mark.slow
def test_the_console_shows_what_inspect_shows_of_the_fixtures(good: None) -> None:
    """Nothing else is on standard output; a key that TiCDC does not know is a warning and no more."""
    shown = diff(f"{NOWHERE}&partition-nun=2", "--console")
    warning = "warning: sink-uri: unknown key 'partition-nun' is ignored. Did you mean 'partition-num'?"
    assert (shown.code, shown.err[0]) == (0, warning)
    assert diff(NOWHERE, "--fixtures", "out").code == 0
    assert sorted(shown.out.splitlines()) == sorted(said("inspect", "out").out.splitlines())
    assert len([line for line in shown.out.splitlines() if " UPDATE shop.t id=2 small: 3→4" in line]) == 1


# The machine


@pytest.mark.slow
@pytest.mark.parametrize(
    ("java", "words"),
    [
        (None, "no Java found on PATH. Spark needs Java 17 or newer: install one, or point JAVA_HOME at it"),
        ('openjdk version "11.0.2" 2019-01-15', "Java 11 is too old: Spark needs Java 17 or newer; point JAVA_HOME at"),
        ('java version "1.8.0_392"', "Java 8 is too old: Spark needs Java 17 or newer; point JAVA_HOME at one"),
        ("no version at all", "Java does not say its version"),
    ],
)
def test_a_java_that_spark_cannot_use_is_told(
    good: None, here: Path, monkeypatch: pytest.MonkeyPatch, java: str | None, words: str
) -> None:
    """It is asked for its version, in a process of its own."""
    program = here / "programs" / "java"
    program.parent.mkdir()
    if java is not None:
        program.write_text(f"#!/bin/sh\necho '{java}' >&2\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert words in refused(NOWHERE, "--master", "local[2]")
    monkeypatch.setattr(in_process, "SMALL_BYTES", 10)
    assert words in refused()


@pytest.mark.slow
def test_a_pyspark_that_is_missing_is_told_where_it_is_needed(good: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Snapshots that are small do without, and say so in one line."""
    monkeypatch.delattr(spark_package, "session", raising=False)
    for module in [name for name in sys.modules if name.startswith(("simulator.engines.spark.", "pyspark", "py4j"))]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    missing = "Spark needs the package pyspark, which is missing: pip install pyspark"
    assert refused(NOWHERE, "--master", "local[2]") == missing
    found = diff(NOWHERE, "--fixtures", "out")
    assert found.code == 0
    assert found.err[:1] == ["snapshots of up to 67 MB are compared without Spark (--master 'local[*]' uses it)"]


def assert_full(said: Iterable[str], fixtures: Path) -> None:
    (line,) = (line for line in said if line.startswith("ticdc-sim: "))
    assert re.fullmatch(rf"ticdc-sim: cannot write {fixtures}/shop/\d\.jsonl: File too large", line)
    assert list(fixtures.parent.iterdir()) == []


def test_a_disk_that_is_full_is_told_and_nothing_half_written_stays(here: Path, full_disk: None) -> None:
    snapshot("before", BEFORE)
    snapshot("after", BEFORE + MANY)
    found = diff(NOWHERE, "--fixtures", "out/fixtures", "--master", "none")
    assert found.code == 3
    assert_full(found.err, here / "out/fixtures")


@pytest.mark.slow
@pytest.mark.long(reason="Spark starts in a process of its own, whose tasks have the limit, too")
def test_a_disk_that_is_full_is_told_by_a_task_of_spark(here: Path) -> None:
    run = "diff", *AIRPORTS, "--sink-uri", NOWHERE, "--fixtures", here / "out/fixtures", "--master", "local[2]"
    with started(*run, limit=400_000) as process:
        lines = errors(process)
    assert (process.returncode, len(lines)) == (3, 1)
    assert_full(lines, here / "out/fixtures")


# Kafka


def test_a_kafka_that_is_not_there_is_told_at_once(good: None) -> None:
    begun = time.monotonic()
    assert refused(code=3, fixtures=False) == "Kafka at 127.0.0.1:1 does not answer: Connection refused"
    assert time.monotonic() - begun < 10


@pytest.mark.slow
def test_a_kafka_that_keeps_silent_is_told_after_dial_timeout(good: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        begun = time.monotonic()
        line = refused(f"kafka://{address}/shop?protocol=open-protocol&dial-timeout=1s", code=3, fixtures=False)
    assert line.startswith(f"Kafka at {address} does not answer: ")
    assert time.monotonic() - begun < 10


def create_topic(kafka: str, name: str, limit: int) -> None:
    """A topic that takes no record batch of more bytes."""
    client = KafkaAdminClient(bootstrap_servers=[kafka])
    configs = {"max.message.bytes": str(limit)}
    client.create_topics({name: {"num_partitions": 1, "replication_factor": 1, "configs": configs}})
    client.close()


def test_a_topic_that_ticdc_cannot_use_is_its_error(spark: SparkSession, good: None, kafka: str) -> None:
    """It is missing, and none may be created; or it is too narrow, and TiCDC lowers max-message-bytes to what it
    takes."""
    uri = f"kafka://{kafka}/no-such-topic?protocol=open-protocol&auto-create-topic=false"
    assert refused(uri, fixtures=False) == (
        "[CDC:ErrKafkaInvalidConfig] `auto-create-topic` is false, and no-such-topic not found"
    )
    create_topic(kafka, "narrow", 300)
    line = refused(f"kafka://{kafka}/narrow?protocol=open-protocol", fixtures=False)
    assert line.startswith("[CDC:ErrMessageTooLarge] message is too large. table:t, length:")
    assert line.endswith(", maxMessageBytes:172 (row id=2 of shop.t)")


def test_a_message_that_kafka_refuses_fails_from_an_offset_on(spark: SparkSession, good: None, kafka: str) -> None:
    """TiCDC does not ask for the limits of other topics than the default one. What shares the task ends there, too."""
    create_topic(kafka, "narrow-shop", 200)
    Path("feed.toml").write_text('[sink]\ndispatchers = [{matcher = ["shop.*"], topic = "narrow-{schema}"}]\n')
    uri = f"kafka://{kafka}/wide?protocol=open-protocol&partition-num=3"
    found = diff(uri, "--config", "feed.toml", "--over", "20s", "--speed", "5")
    assert (found.code, found.out, len(found.err)) == (3, "", 2)
    assert re.fullmatch(
        r"ticdc-sim: topic wide partition [012]: not delivered after commit_ts \d+: "
        r"nothing more was sent, since another partition failed",
        found.err[0],
    )
    assert re.fullmatch(
        r"ticdc-sim: topic narrow-shop partition 0: not delivered from (its first record|offset \d+) on, "
        r"commit_ts \d+: a message of \d+ bytes, and 61 or more around it, is larger than the 200 bytes that Kafka "
        r"takes \(max\.message\.bytes of the topic\)",
        found.err[1],
    )


@pytest.mark.kafka
@pytest.mark.parametrize("command", ["load", "run"])
def test_a_topic_that_has_messages_is_told(command: str, kafka: str) -> None:
    Path("story.sql").write_text("CREATE TABLE t (id INT PRIMARY KEY);")
    load = ("load", "--preset", "bank", "--duration", "1ms", "--checkpoint", "c")
    arguments = load if command == "load" else ("run", "story.sql")
    uri = f"kafka://{kafka}/{command}-again?protocol=canal-json&partition-num=2"
    told = []
    for _ in range(2):
        found = said(*arguments, "--master", "none", "--sink-uri", uri)
        assert found.code == 0
        told.append([line for line in found.err if line.startswith("warning: ")])
    assert told[0] == []
    assert re.fullmatch(
        rf"warning: topic {command}-again has [\d,]+ messages? already, and those of this run come after them; verify "
        "and a consumer see both: name another topic for this run alone",
        told[1][0],
    )
