"""Streams of which every message and every field is mutated: how they are made, written down and verified."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from simulator.consumer.records import read_records
from simulator.consumer.schemas import fixture_schemas
from simulator.consumer.verify import verify
from simulator.consumer.verify.options import VerifyOptions
from simulator.consumer.verify.verification import Verification
from simulator.errors import SimulatorError
from support.playing import play

CONFIG = """
{replicated}
[sink]
{registry}
dispatchers = [{{matcher = ["*.*"], partition = "index-value"}}]
"""

DEFINITIONS = """
CREATE DATABASE shop;
USE shop;
CREATE TABLE kinds (id INT PRIMARY KEY, big BIGINT UNSIGNED NOT NULL DEFAULT 7, name VARCHAR(20), price DECIMAL(10,2),
  made DATETIME(3), seen TIMESTAMP NULL, bits BIT(9), grade ENUM('low','high'), tags SET('a','b','c'), extra JSON,
  raw VARBINARY(8), pic BLOB, ratio FLOAT, score DOUBLE, yr YEAR, dur TIME(2), day DATE, KEY by_price (price));
CREATE TABLE pairs (a INT NOT NULL, b VARCHAR(10) NOT NULL, n INT, PRIMARY KEY (a, b));
"""
KEYLESS = "CREATE TABLE log (at INT, line VARCHAR(20));"

FULL = """({id}, 18446744073709551615, 'Ann', -1.50, '2024-01-02 03:04:05.678', '2024-01-02 03:04:05', 257, 'high', 'a,c',
  '{{"k": [1, "x"]}}', x'00ff41', x'fffe', 0.5, 1.25e10, 2024, '-01:02:03.50', '2024-02-29')"""
CHANGE = """big = 8, name = 'Bob', price = 2.25, made = '2023-01-02 03:04:05.678', seen = '2024-05-06 07:08:09', bits = 5,
  grade = 'low', tags = 'b', extra = '{"k": 2}', raw = x'41', pic = x'01', ratio = 1.5, score = 2.5, yr = 1999,
  dur = '10:00:00', day = '2020-01-01'"""
EMPTY = """name = NULL, price = NULL, made = NULL, seen = NULL, bits = NULL, grade = NULL, tags = NULL, extra = NULL,
  raw = NULL, pic = NULL, ratio = NULL, score = NULL, yr = NULL, dur = NULL, day = NULL"""


def rows_story(copies: int, keyless: bool) -> str:
    """Rows of every type, so many of each kind: those that stay, those that an UPDATE changes, and those that go."""
    ids = [range(first, first + 100 * copies, 100) for first in (100_000, 200_000, 300_000, 400_000, 500_000, 600_000)]
    full = ", ".join(FULL.format(id=id) for some in ids[:3] for id in some)
    nulls = ", ".join(f"({id})" for some in ids[3:] for id in some)
    lines = [
        DEFINITIONS,
        KEYLESS if keyless else "",
        f"INSERT INTO kinds VALUES {full};",
        f"INSERT INTO kinds (id) VALUES {nulls};",
        "INSERT INTO pairs VALUES (1, 'x', 10), (1, 'y', NULL), (2, 'x', 30), (3, 'z', 1);",
        "INSERT INTO log VALUES (1, 'one'), (2, NULL), (2, NULL);" if keyless else "",
        f"UPDATE kinds SET {CHANGE} WHERE id BETWEEN 200000 AND 299999;",
        f"UPDATE kinds SET big = 9, {EMPTY} WHERE id BETWEEN 500000 AND 599999;",
        "DELETE FROM kinds WHERE id BETWEEN 300000 AND 399999;",
        "DELETE FROM kinds WHERE id >= 600000;",
        "UPDATE pairs SET n = 31 WHERE a = 2;",
        "UPDATE pairs SET b = 'w' WHERE a = 1 AND b = 'x';",
        "UPDATE log SET line = 'uno' WHERE at = 1;" if keyless else "",
        "DELETE FROM pairs WHERE b = 'y';",
        "DELETE FROM log WHERE at = 2 LIMIT 1;" if keyless else "",
    ]
    return "\n".join(lines)


COLUMNS = frozenset("id big name price made seen bits grade tags extra raw pic ratio score yr dur day".split())
"""The columns of `kinds`."""

STATEMENTS = """
CREATE DATABASE shop;
USE shop;
CREATE TABLE pairs (a INT NOT NULL, b VARCHAR(10) NOT NULL, n INT, PRIMARY KEY (a, b));
INSERT INTO pairs VALUES (1, 'x', 10), (1, 'y', NULL);
ALTER TABLE pairs ADD COLUMN c DECIMAL(8,2) NOT NULL DEFAULT 1.5 COMMENT 'cost';
INSERT INTO pairs VALUES (5, 'w', 1, 2.5);
UPDATE pairs SET c = 3 WHERE a = 5;
ALTER TABLE pairs MODIFY COLUMN n BIGINT;
UPDATE pairs SET n = 4 WHERE a = 5;
ALTER TABLE pairs ADD INDEX by_n (n);
ALTER TABLE pairs DROP COLUMN c;
INSERT INTO pairs VALUES (6, 'w', 1);
CREATE TABLE gone (id INT PRIMARY KEY, v VARCHAR(5) NOT NULL);
INSERT INTO gone VALUES (1, 'a'), (2, 'b');
TRUNCATE TABLE gone;
INSERT INTO gone VALUES (3, 'c');
RENAME TABLE gone TO away;
INSERT INTO away VALUES (4, 'd');
DROP TABLE away;
CREATE TABLE away (id INT PRIMARY KEY);
INSERT INTO away VALUES (1);
CREATE DATABASE dropped;
DROP DATABASE dropped;
ALTER DATABASE shop CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci;
"""
"""Every kind of statement, and rows around them."""


RENAMED_ROWS = "INSERT INTO away VALUES (4, 'd');\n"
EMPTYING = re.compile(r"TRUNCATE .*\n|DROP TABLE .*\n.*\n.*\n")
"""The statements that take rows away, with the table that is created anew."""


def statements_story(renamed_rows: bool, emptying: bool = True) -> str:
    story = STATEMENTS if renamed_rows else STATEMENTS.replace(RENAMED_ROWS, "")
    return story if emptying else EMPTYING.sub("", story)


@dataclass(frozen=True)
class Message:
    timestamp: int
    key: bytes | None
    value: bytes | None


Stream = Mapping[int, Sequence[Message]]
"""The messages of the partitions of one topic."""

TOPIC = "t"


@dataclass(frozen=True)
class Protocol:
    """A way in which a changefeed sends."""

    name: str
    """TiCDC's name of the protocol."""

    parameters: str = ""
    """More of the sink URI."""

    release: str = "v8.5.3"
    architecture: str = "classic"
    registry: bool = False
    renamed_rows: bool = True
    """Whether a renamed table may have rows."""

    emptying: bool = True
    """Whether statements are sent that take rows out of tables."""

    @property
    def form(self) -> str:
        """The name of the form of its messages."""
        return "simple-avro" if "encoding-format=avro" in self.parameters else self.name


@dataclass(frozen=True)
class Recorded:
    """A stream as it was sent, and its truth."""

    directory: Path
    truth: Path
    messages: Stream
    schemas: Mapping[int, str]
    """Those of a registry, by id."""


def record(story: str, protocol: Protocol, home: Path) -> Recorded:
    """The stream of a story."""
    home.mkdir()
    (home / "story.sql").write_text(story, "utf-8")
    config = CONFIG.format(
        replicated="" if protocol.registry else "force-replicate = true",
        registry='schema-registry = "http://127.0.0.1:8081"' if protocol.registry else "",
    )
    (home / "changefeed.toml").write_text(config, "utf-8")
    uri = f"kafka://127.0.0.1:9092/{TOPIC}?protocol={protocol.name}&partition-num=2{protocol.parameters}"
    options = ("--sink-uri", uri, "--config", home / "changefeed.toml", "--resolved-interval", "5ms")
    by = ("--release", protocol.release, "--architecture", protocol.architecture)
    out, truth = home / "out", home / "truth"
    assert play("run", home / "story.sql", *options, *by, "--fixtures", out, "--truth", truth) == 0
    messages: dict[int, list[Message]] = {0: [], 1: []}
    for each in read_records(str(out)):
        messages[each.partition].append(Message(each.timestamp, each.key, each.value))
    return Recorded(out, truth, messages, fixture_schemas(out))


def verified(stream: Stream, recorded: Recorded, show: int = 1, restarts: bool = True) -> Verification:
    """The verification of messages in place of those that were sent."""
    write(stream, recorded)
    return verify(
        VerifyOptions(str(recorded.directory), truth=recorded.truth, show=show, master="none", restarts=restarts)
    )


def write(stream: Stream, recorded: Recorded) -> None:
    """Put messages in place of those that were sent."""
    for partition, messages in stream.items():
        path = recorded.directory / TOPIC / f"{partition}.jsonl"
        lines = (_line(offset, message) for offset, message in enumerate(messages))
        path.write_text("".join(lines), "utf-8")


def verdict(stream: Stream, recorded: Recorded, restarts: bool = True) -> str:
    """`right`, another verdict, or `refused` for a stream that cannot be verified."""
    try:
        return verified(stream, recorded, restarts=restarts).verdict
    except SimulatorError:
        return "refused"


def _line(offset: int, message: Message) -> str:
    key, value = (None if each is None else base64.b64encode(each).decode() for each in (message.key, message.value))
    return json.dumps({"offset": offset, "timestamp": message.timestamp, "key": key, "value": value}) + "\n"
