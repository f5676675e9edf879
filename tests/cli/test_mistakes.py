"""What is wrong with the input, the options, Kafka or the machine: one line that says so, and nothing half-written."""

from __future__ import annotations

import gzip
import re
import socket
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import zstandard
from kafka.admin import KafkaAdminClient
from support import airports
from support.playing import play
from support.processes import errors, started

from simulator.engines import in_process
from simulator.engines import spark as spark_package

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = "CREATE TABLE `t` (`id` int PRIMARY KEY, `small` tinyint NOT NULL, `name` varchar(90))"
BEFORE = "1,2,a\n2,3,b\n"
AFTER = "1,2,a\n2,4,b\n3,1,c\n"
NOWHERE = "kafka://127.0.0.1:1/shop?protocol=open-protocol"


def snapshot(directory: Path, rows: bytes | str | None, schema: str | None = SCHEMA, suffix: str = ".csv") -> Path:
    """A directory with one table `shop`.`t`."""
    directory.mkdir()
    if schema is not None:
        (directory / "shop.t-schema.sql").write_text(f"{schema};\n")
    if rows is not None:
        (directory / f"shop.t{suffix}").write_bytes(rows if isinstance(rows, bytes) else rows.encode())
    return directory


class Shell:
    """Runs commands on the snapshots `before` and `after`, and hands back what was said."""

    def __init__(self, directory: Path, capture: pytest.CaptureFixture[str]) -> None:
        self.directory = directory
        self.fixtures = directory / "out" / "fixtures"
        self.before = directory / "before"
        self.after = directory / "after"
        self._capture = capture

    def run(self, code: int, *arguments: object) -> tuple[str, list[str]]:
        """Standard output, and the lines on standard error that are no progress, of a command with that exit code."""
        self._capture.readouterr()
        assert play(*arguments) == code
        out, err = self._capture.readouterr()
        return out, [line for line in err.splitlines() if not line.endswith(" …")]

    def refused(self, uri: str = NOWHERE, *more: object, code: int = 2, fixtures: bool = True) -> str:
        """The one line that `diff` says, besides that it does without Spark; no fixtures are left."""
        where = ("--fixtures", self.fixtures) if fixtures else ()
        out, said = self.run(code, "diff", self.before, self.after, "--sink-uri", uri, *where, *more)
        err = [line for line in said if not line.startswith("snapshots of up to ")]
        assert out == "" and [line[:11] for line in err] == ["ticdc-sim: "]
        assert list(self.fixtures.parent.glob("*")) == list(self.fixtures.parent.glob(".*")) == []
        return err[0].removeprefix("ticdc-sim: ")


@pytest.fixture
def shell(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Shell:
    """A directory without snapshots yet."""
    return Shell(tmp_path, capfd)


@pytest.fixture
def good(shell: Shell) -> Shell:
    """Two snapshots that nothing is wrong with."""
    snapshot(shell.before, BEFORE)
    snapshot(shell.after, AFTER)
    return shell


# Snapshots


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (None, "no schema file in {after}: every table needs its <db>.<table>-schema.sql (CREATE TABLE)"),
        (
            "CREATE TABLE `t` (`id` int PRIMARY KEY,\n `x` int NOTT NULL)",
            "{after}/shop.t-schema.sql: line 2, column 10: 'NOTT' is not expected here. Did you mean 'NOT'?",
        ),
        (
            "CREATE TABLE `t` (`id` intt PRIMARY KEY)",
            "{after}/shop.t-schema.sql: line 1, column 24: column 'id' has the unknown type 'intt'. Did you mean 'INT'?",
        ),
        (
            "CREATE TABLE `t` (`id` int PRIMARY KEY NONCLUSTERED, `small` tinyint NOT NULL, `name` varchar(90))",
            "[schema:1068] Multiple primary key defined (derived for table shop.t: "
            "ALTER TABLE `shop`.`t` ADD PRIMARY KEY (`id`) NONCLUSTERED)",
        ),
    ],
)
def test_a_schema_that_does_not_do_is_named_with_its_place(shell: Shell, schema: str | None, words: str) -> None:
    snapshot(shell.before, BEFORE)
    snapshot(shell.after, None, schema)
    assert words.format(before=shell.before, after=shell.after) in shell.refused()


def test_a_directory_that_is_not_there_is_named(shell: Shell) -> None:
    snapshot(shell.before, BEFORE)
    assert shell.refused() == f"no such directory: {shell.after}"


def test_a_table_without_handle_key_is_refused_with_both_ways_out(shell: Shell) -> None:
    for directory in (shell.before, shell.after):
        snapshot(directory, "1,2,a\n", SCHEMA.replace(" PRIMARY KEY", ""))
    assert shell.refused() == (
        "no primary key and no unique key of NOT NULL columns: shop.t; TiCDC does not replicate such tables: "
        "leave them out with [filter] rules, or set force-replicate = true"
    )


@pytest.mark.parametrize(
    ("suffix", "rows", "words"),
    [
        (".csv", "1,2,a\n2,4\n", "line 2: wrong number of fields: 2 instead of 3"),
        (
            ".csv",
            "1,2,a\n2,300,b\n",
            "table `shop`.`t`, column 'small', row id='2': value '300' of type tinyint: accepted is -128 to 127",
        ),
        (".csv.gz", "1,2,a\n", "cannot be read: zlib inflate failed: incorrect header check"),
        (".csv.zst", zstandard.compress(AFTER.encode())[:-4], "cannot be read: Truncated compressed stream"),
        (".parquet", "1,2,a\n", "cannot be read as Parquet: Parquet file size is 6 bytes"),
    ],
    ids=["too few fields", "out of range", "no gzip", "cut short", "no Parquet"],
)
def test_a_file_that_is_not_as_its_schema_says_is_named(
    shell: Shell, suffix: str, rows: str | bytes, words: str
) -> None:
    snapshot(shell.before, BEFORE)
    snapshot(shell.after, rows, suffix=suffix)
    assert shell.refused().startswith(f"{shell.after}/shop.t{suffix}: {words}")


def test_a_file_that_a_task_of_spark_cannot_read_is_named(spark: SparkSession, shell: Shell) -> None:
    """The error crosses from the task to the driver as it is."""
    snapshot(shell.before, BEFORE)
    snapshot(shell.after, "1,2,a\n2,300,b\n")
    assert shell.refused() == (
        f"{shell.after}/shop.t.csv: table `shop`.`t`, column 'small', row id='2': value '300' of type tinyint: "
        "accepted is -128 to 127"
    )


@pytest.mark.parametrize(
    ("before", "after", "key"),
    [
        (BEFORE, AFTER + "2,5,x\n", "id=2"),
        (BEFORE, BEFORE + "2,3,b\n", "id=2"),
        (BEFORE, AFTER + "7,1,x\n7,2,y\n", "id=7"),
        (BEFORE + "7,1,x\n7,1,x\n", AFTER, "id=7"),
    ],
    ids=["changed", "unchanged", "inserted", "deleted"],
)
def test_a_key_that_is_there_twice_is_named(
    spark: SparkSession, shell: Shell, before: str, after: str, key: str
) -> None:
    snapshot(shell.before, before)
    snapshot(shell.after, after)
    assert shell.refused() == (
        f"duplicate key in a snapshot: table shop.t has several rows with {key}; a handle key must be unique"
    )


def test_a_key_that_is_there_twice_is_named_wherever_its_rows_go(spark: SparkSession, shell: Shell) -> None:
    """Rows that are dispatched by columns other than the key go to several tasks, and no task sees both."""
    snapshot(shell.before, BEFORE)
    config = shell.directory / "feed.toml"
    config.write_text('[sink]\ndispatchers = [{matcher = ["*.*"], partition = "columns", columns = ["small"]}]\n')
    snapshot(shell.after, BEFORE + "7,1,x\n7,4,y\n")
    assert "several rows with id=7" in shell.refused(f"{NOWHERE}&partition-num=2", "--config", config)


def test_a_key_that_is_there_twice_is_told_before_anything_is_sent(spark: SparkSession, shell: Shell) -> None:
    """Its two rows are the last of 20,000 inserted ones, far behind what is encoded first."""
    snapshot(shell.before, BEFORE)
    snapshot(shell.after, BEFORE + "".join(f"{number},1,x\n" for number in range(3, 20003)) + "19846,2,y\n")
    uri = "kafka://127.0.0.1:1/shop?protocol=canal-json&partition-num=1"
    assert "several rows with id=19846" in shell.refused(uri, "--console", fixtures=False)


# Options


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        (
            "kafka://h:1/t",
            "[CDC:ErrSinkUnknownProtocol] unknown '' message protocol for sink. "
            "Accepted: protocol=open-protocol or protocol=canal-json",
        ),
        (
            "kafka://h:1/t?protocol=canal-jsn",
            "[CDC:ErrSinkUnknownProtocol] unknown 'canal-jsn' message protocol for sink. Did you mean 'canal-json'?",
        ),
        (
            "kafka://h:1/t?protocol=maxwell",
            "protocol maxwell is not simulated yet; accepted: open-protocol, canal-json",
        ),
        (
            f"{NOWHERE}&partition-num=0",
            "[CDC:ErrKafkaInvalidPartitionNum] invalid partition num 0; 1 or more is accepted",
        ),
        (f"{NOWHERE}&partition-num=-3", "[CDC:ErrKafkaInvalidPartitionNum] invalid partition num -3; 1 or more is"),
        (
            f"{NOWHERE}&partition-num=three",
            "[CDC:ErrMySQLInvalidConfig] sink-uri partition-num: strconv.ParseInt: "
            'parsing "three": invalid syntax; an integer is accepted',
        ),
    ],
)
def test_a_sink_uri_that_ticdc_rejects_is_rejected(good: Shell, uri: str, words: str) -> None:
    assert good.refused(uri).startswith(words)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--sink-url", "x"), "No such option '--sink-url'. Did you mean '--sink-uri'? (see ticdc-sim diff --help)"),
        (
            ("--over", "5"),
            "bad duration '5': expected a number and a unit out of ms, s, m, h, d, such as 500ms or 1m30s",
        ),
        (("--speed", "fast"), "bad speed 'fast': expected max, or a number above 0 such as 1 (real time) or 10"),
        (("--config", "none.toml"), "cannot read none.toml: No such file or directory"),
        (("--release", "v8.5.33"), "unknown TiCDC release 'v8.5.33'. Did you mean 'v8.5.3'?"),
        (("--console",), "--console and --fixtures exclude each other: choose one"),
    ],
)
def test_an_option_that_makes_no_sense_is_one_line(good: Shell, options: tuple[str, ...], words: str) -> None:
    assert words in good.refused(NOWHERE, *options)


def test_fixtures_do_not_go_where_something_else_is(good: Shell) -> None:
    other = good.before.parent / "other"
    other.mkdir()
    (other / "notes.txt").write_text("mine")
    _, err = good.run(2, "diff", good.before, good.after, "--sink-uri", NOWHERE, "--fixtures", other)
    assert err == [
        f"ticdc-sim: the fixtures directory {other} holds something else (notes.txt): "
        "give a new or empty directory, or one with fixtures, which are replaced"
    ]


def test_a_message_larger_than_max_message_bytes_is_ticdc_s_error_with_table_and_key(
    spark: SparkSession, good: Shell
) -> None:
    assert good.refused(f"{NOWHERE}&max-message-bytes=60") == (
        "[CDC:ErrMessageTooLarge] message is too large. table:t, length:323, maxMessageBytes:60 (row id=2 of shop.t)"
    )


# The machine


@pytest.mark.slow
@pytest.mark.parametrize(
    ("java", "words"),
    [
        (None, "no Java found on PATH. Spark needs Java 17 or newer: install one, or point JAVA_HOME at it"),
        (
            'openjdk version "11.0.2" 2019-01-15',
            "Java 11 is too old: Spark needs Java 17 or newer; point JAVA_HOME at one",
        ),
        ('java version "1.8.0_392"', "Java 8 is too old: Spark needs Java 17 or newer; point JAVA_HOME at one"),
        ("no version at all", "Java does not say its version"),
    ],
)
def test_a_java_that_spark_cannot_use_is_told(
    good: Shell, monkeypatch: pytest.MonkeyPatch, java: str | None, words: str
) -> None:
    programs = good.directory / "programs"
    programs.mkdir()
    if java is not None:
        (programs / "java").write_text(f"#!/bin/sh\necho '{java}' >&2\n")
        (programs / "java").chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert words in good.refused(NOWHERE, "--master", "local[2]")
    monkeypatch.setattr(in_process, "SMALL_BYTES", 10)
    assert words in good.refused()


@pytest.mark.slow
def test_a_pyspark_that_is_missing_is_told_where_it_is_needed(good: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Snapshots that are small do without, and say so in one line."""
    monkeypatch.delattr(spark_package, "session", raising=False)
    for module in [name for name in sys.modules if name.startswith(("simulator.engines.spark.", "pyspark", "py4j"))]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "pyspark", None)
    assert good.refused(NOWHERE, "--master", "local[2]") == (
        "Spark needs the package pyspark, which is missing: pip install pyspark"
    )
    _, said = good.run(0, "diff", good.before, good.after, "--sink-uri", NOWHERE, "--fixtures", good.fixtures)
    assert said[:1] == ["snapshots of up to 67 MB are compared without Spark (--master 'local[*]' uses it)"]


# Kafka


def test_a_kafka_that_is_not_there_is_told_at_once(good: Shell) -> None:
    begun = time.monotonic()
    said = good.refused(code=3, fixtures=False)
    assert said == "Kafka at 127.0.0.1:1 does not answer: Connection refused"
    assert time.monotonic() - begun < 10


def test_a_kafka_that_keeps_silent_is_told_after_dial_timeout(good: Shell) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        uri = f"kafka://{address}/shop?protocol=open-protocol&dial-timeout=1s"
        begun = time.monotonic()
        said = good.refused(uri, code=3, fixtures=False)
    assert said.startswith(f"Kafka at {address} does not answer: ")
    assert time.monotonic() - begun < 10


def create_topic(kafka: str, name: str, limit: int) -> None:
    """A topic that takes no record batch of more bytes."""
    client = KafkaAdminClient(bootstrap_servers=[kafka])
    client.create_topics(
        {name: {"num_partitions": 1, "replication_factor": 1, "configs": {"max.message.bytes": str(limit)}}}
    )
    client.close()


def test_a_topic_that_is_missing_is_an_error_where_none_may_be_created(good: Shell, kafka: str) -> None:
    uri = f"kafka://{kafka}/no-such-topic?protocol=open-protocol&auto-create-topic=false"
    assert good.refused(uri, fixtures=False) == (
        "[CDC:ErrKafkaInvalidConfig] `auto-create-topic` is false, and no-such-topic not found"
    )


def test_a_message_larger_than_the_default_topic_takes_is_ticdc_s_error(
    spark: SparkSession, good: Shell, kafka: str
) -> None:
    """TiCDC lowers max-message-bytes to what the topic takes."""
    create_topic(kafka, "narrow", 300)
    said = good.refused(f"kafka://{kafka}/narrow?protocol=open-protocol", fixtures=False)
    assert said.startswith("[CDC:ErrMessageTooLarge] message is too large. table:t, length:")
    assert said.endswith(", maxMessageBytes:172 (row id=2 of shop.t)")


def test_a_message_that_kafka_refuses_is_a_failed_delivery_from_an_offset_on(
    spark: SparkSession, good: Shell, kafka: str
) -> None:
    """TiCDC does not ask for the limits of other topics than the default one. What shares the task ends there, too."""
    create_topic(kafka, "narrow-shop", 200)
    config = good.directory / "feed.toml"
    config.write_text('[sink]\ndispatchers = [{matcher = ["shop.*"], topic = "narrow-{schema}"}]\n')
    uri = f"kafka://{kafka}/wide?protocol=open-protocol&partition-num=3"
    paced = "--over", "20s", "--speed", "5"
    out, said = good.run(3, "diff", good.before, good.after, "--sink-uri", uri, "--config", config, *paced)
    assert (out, len(said)) == ("", 2)
    assert re.fullmatch(
        r"ticdc-sim: topic wide partition [012]: not delivered after commit_ts \d+: "
        r"nothing more was sent, since another partition failed",
        said[0],
    )
    assert re.fullmatch(
        r"ticdc-sim: topic narrow-shop partition 0: not delivered from (its first record|offset \d+) on, "
        r"commit_ts \d+: a message of \d+ bytes, and 61 or more around it, is larger than the 200 bytes that Kafka "
        r"takes \(max\.message\.bytes of the topic\)",
        said[1],
    )


# What is no mistake


def test_the_console_shows_what_inspect_shows_of_the_fixtures(good: Shell) -> None:
    """Nothing else is on standard output; a key that TiCDC does not know is a warning and no more."""
    run = "diff", good.before, good.after, "--sink-uri", f"{NOWHERE}&partition-nun=2"
    shown, err = good.run(0, *run, "--console")
    assert err[0] == "warning: sink-uri: unknown key 'partition-nun' is ignored. Did you mean 'partition-num'?"
    good.run(0, *run, "--fixtures", good.fixtures)
    inspected, _ = good.run(0, "inspect", good.fixtures)
    assert sorted(shown.splitlines()) == sorted(inspected.splitlines())
    assert len([line for line in shown.splitlines() if " UPDATE shop.t id=2 small: 3→4" in line]) == 1


def test_compressed_files_are_read_like_any(shell: Shell) -> None:
    snapshot(shell.before, gzip.compress(BEFORE.encode()), suffix=".000000000.csv.gz")
    snapshot(shell.after, zstandard.compress(AFTER.encode()), suffix=".000000000.csv.zst")
    shown, _ = shell.run(0, "diff", shell.before, shell.after, "--sink-uri", NOWHERE, "--console")
    changes = sorted(line.split(" ", 3)[3] for line in shown.splitlines() if "WATERMARK" not in line)
    assert changes == ["INSERT shop.t id=3 name=c small=1", "UPDATE shop.t id=2 small: 3→4"]


# Processes of their own


@pytest.mark.slow
@pytest.mark.parametrize("master", ["local[2]", "none"])
def test_a_disk_that_is_full_is_told_and_nothing_half_written_stays(tmp_path: Path, master: str) -> None:
    """A limit on the size of files stands for the full disk; by a task of Spark, too."""
    fixtures = tmp_path / "out" / "fixtures"
    run = "diff", *airports.SHIPPED, "--sink-uri", NOWHERE, "--fixtures", fixtures
    with started(*run, "--master", master, limit=400_000) as process:
        said = errors(process)
    assert len(said) == 1
    assert re.fullmatch(rf"ticdc-sim: cannot write {fixtures}/shop/\d\.jsonl: File too large", said[0])
    assert process.returncode == 3
    assert list(fixtures.parent.iterdir()) == []
