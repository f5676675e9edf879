"""Good command lines of every command that needs neither Spark nor Kafka, and what is done to them to make bad ones.

The same seed gives the same inputs.
"""

from __future__ import annotations

import base64
import json
import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

STRANGE = (
    *"'\"`()[]{};,=\\\0\x9b\n\ufeffé\u202e表😀\udcff%-.*@",
    *"-- /* */ \x1b[31m \r\n %00 0x x' 1e999 .. ** :: [::1 nan true null 99999999999d".split(" "),
    *("9223372036854775807", "9223372036854775808", "9" * 40, "9" * 5000, "a" * 300),
    *("[" * 3000, "(" * 3000, '{"a":' * 3000, "-1"),
)
"""What has no business where it is put: unbalanced, without end, out of every range, not for a terminal."""

EDGES = (
    *"0 1 -1 2 5 63 64 65 66 254 255 256 1000 1001 16383 65535 65536 4294967296 9223372036854775807".split(),
    *"9223372036854775808 18446744073709551615 18446744073709551616 1.5 1e3 1e308 1e-400 0x1F true false null".split(),
    *("''", '""', "[]", "{}", "2024-02-30", "0000-00-00", "99:99:99"),
    *"utf8mb4 binary varchar json bit time year kafka shop t id name ms".split(),
)
"""What might well stand somewhere, only not here."""

WORD = re.compile(r"\w+|\s+|.", re.DOTALL)


def damaged(text: str, choice: random.Random) -> str:
    """The text after one to three damages."""
    words = WORD.findall(text) or [""]
    for _ in range(choice.choice((1, 1, 2, 3))):
        words = choice.choices(DAMAGES, (3, 2, 2, 2, 4, 1, 6))[0](words, choice) or [""]
    return "".join(words)


def without(words: list[str], choice: random.Random) -> list[str]:
    place = choice.randrange(len(words))
    return words[:place] + words[place + 1 :]


def twice(words: list[str], choice: random.Random) -> list[str]:
    start = choice.randrange(len(words))
    stretch = words[start : start + choice.randint(1, 6)]
    return words[:start] + stretch * 2 + words[start + len(stretch) :]


def swapped(words: list[str], choice: random.Random) -> list[str]:
    first, other = choice.randrange(len(words)), choice.randrange(len(words))
    changed = list(words)
    changed[first], changed[other] = words[other], words[first]
    return changed


def cut(words: list[str], choice: random.Random) -> list[str]:
    return words[: choice.randrange(len(words))]


def strange(words: list[str], choice: random.Random) -> list[str]:
    place = choice.randrange(len(words))
    return [*words[:place], choice.choice(STRANGE), *words[place + choice.randint(0, 1) :]]


def noise(words: list[str], choice: random.Random) -> list[str]:
    """Random bytes, read as Latin-1."""
    place = choice.randrange(len(words))
    return [*words[:place], choice.randbytes(choice.randint(1, 12)).decode("latin-1"), *words[place:]]


def other(words: list[str], choice: random.Random) -> list[str]:
    """Something else in place of a word that has letters or digits."""
    places = [place for place, word in enumerate(words) if word.isalnum()] or [0]
    place = choice.choice(places)
    return [*words[:place], choice.choice(EDGES), *words[place + 1 :]]


Damage = Callable[[list[str], random.Random], list[str]]
DAMAGES: tuple[Damage, ...] = (without, twice, swapped, cut, strange, noise, other)


@dataclass(frozen=True)
class Line:
    """A command line, and the files that it reads, by their names in the working directory."""

    arguments: tuple[str, ...]
    files: Mapping[str, str]


KEPT = ("--fixtures", "out", "start")
"""Without them a line might reach Kafka, or replace files."""

SCHEMA = (
    "CREATE TABLE t (id BIGINT PRIMARY KEY, name VARCHAR(20) NOT NULL DEFAULT 'x', at TIMESTAMP(3) NULL,"
    " kind ENUM('a', 'b'), price DECIMAL(10,2) DEFAULT 1.5, tiny TINYINT UNSIGNED DEFAULT 0x41, flags BIT(3),"
    " made DATE DEFAULT '2020-01-01', doc JSON, UNIQUE KEY k (name, id)) PARTITION BY RANGE (id)"
    " (PARTITION p0 VALUES LESS THAN (5), PARTITION p1 VALUES LESS THAN MAXVALUE);",
    "CREATE TABLE `t` (\n  `id` int NOT NULL,\n  `name` varchar(9) COLLATE utf8mb4_bin DEFAULT NULL,\n"
    "  PRIMARY KEY (`id`) /*T![clustered_index] CLUSTERED */\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4;\n",
)
ROWS = (
    '{"before": {"id": 1, "name": "a"}, "after": {"id": 1, "name": {"hex": "6f"}}, "commit_ts": 455000614502400001}',
    '{"before": {"id": "1", "name": "it\\u0027s \\ud83d\\ude00"}, "partitions": 3}',
)
STATEMENTS = (
    "ALTER TABLE t ADD COLUMN c DECIMAL(10,2) DEFAULT 1 FIRST, ADD INDEX n (name, id)",
    "RENAME TABLE shop.t TO shop.u",
    "CREATE DATABASE d CHARACTER SET utf8mb4",
    "TRUNCATE TABLE t",
    "DROP TABLE t",
    "CREATE TABLE u (a INT DEFAULT 5, b VARBINARY(9) DEFAULT x'41', c TIME DEFAULT '10:00:00', PRIMARY KEY (a))",
    "ALTER TABLE t MODIFY name VARCHAR(50) DEFAULT 'y' COMMENT 'z'",
)
WIDE_ROW = '{"after": {"id": 7, "name": "x", "at": null, "kind": "a", "price": "1.50", "tiny": 1, "flags": 2}}'
URIS = (
    "kafka://127.0.0.1:9092/shop?protocol=canal-json&partition-num=3&enable-tidb-extension=true",
    "kafka+ssl://u:p@[::1]:9092,h:1/shop?protocol=open-protocol&max-message-bytes=300&max-batch-size=2"
    "&ca=x&cert=x&key=x",
    "kafka://h:1/t?protocol=canal-json&replication-factor=1&compression=lz4&dial-timeout=10s&required-acks=-1"
    "&kafka-version=2.4.0&enable-tidb-extension=true&sasl-user=u&sasl-password=p&sasl-mechanism=plain",
)
CONFIG = r"""
case-sensitive = true
force-replicate = false
[filter]
rules = ["*.*", "!x.*", '/^shop$/.t', "s[a-z]op.*"]
ignore-txn-start-ts = [1, 2]
[[filter.event-filters]]
matcher = ["shop.*"]
ignore-event = ["drop table", "delete"]
ignore-sql = ["^DROP", "(?i)x{2,3}[[:alpha:]]\\d"]
ignore-insert-value-expr = "id > 5 and name = 'x'"
[sink]
protocol = "canal-json"
dispatchers = [{matcher = ["shop.t"], partition = "index-value", topic = "s_{schema}_{table}", columns = ["id"]}]
column-selectors = [{matcher = ["shop.*"], columns = ["id", "n*"]}]
date-separator = "day"
[sink.kafka-config]
max-message-bytes = 1000000
[sink.kafka-config.large-message-handle]
large-message-handle-option = "handle-key-only"
[consistent]
level = "none"
max-log-size = 64
"""
SCENARIO = """
sink-uri = "kafka://127.0.0.1:1/shop?protocol=canal-json&partition-num=2&enable-tidb-extension=true"
config = "feed.toml"
release = "v8.5.3"
start-ts = 450000000000000000
over = "10s"
resolved-interval = "2s"
speed = "max"
seed = 7
[[step]]
snapshot = "before"
[[step]]
wait = "1m30s"
[[step]]
snapshot = "after"
over = "1.5h"
ddl-at = "start"
rename = ["t.name=title"]
"""
METADATA = "Started dump at: 2025-01-01 00:00:00\nSHOW MASTER STATUS:\n\tLog: tidb-binlog\n\tPos: 455000000000000000\n"
OPTIONS = (
    ("--start-ts", "450000000000000000"),
    ("--start-ts", "2025-01-01T00:00:00+01:00"),
    ("--over", "1m30s"),
    ("--resolved-interval", "500ms"),
    ("--speed", "10"),
    ("--seed", "7"),
    ("--release", "v8.1.0"),
    ("--release", "v8.5.4", "--architecture", "new"),
    ("--summary", "summary.json"),
    ("--fixtures-format", "parquet"),
    ("--traceback",),
)
MESSAGES = (
    (
        '\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0%{"ts":1,"scm":"shop","tbl":"t","t":1}',
        '\0\0\0\0\0\0\0*{"u":{"id":{"t":3,"h":true,"f":11,"v":7}}}',
    ),
    (
        "",
        '{"id":0,"database":"shop","table":"t","pkNames":["id"],"isDdl":false,"type":"UPDATE","es":1668668000000,'
        '"ts":1,"sql":"","sqlType":{"id":4},"mysqlType":{"id":"int"},"data":[{"id":"7"}],"old":[{"id":"6"}],'
        '"_tidb":{"commitTs":455000000000000001}}',
    ),
)


MORE = ((), ("--json",), ("--raw",), ("--raw", "--limit", "1"))
ASKED = (
    ("releases", "v6.5.0", "new:v8.5.4"),
    ("releases", "v8.5.3", "--json"),
    ("releases", "--architecture", "new"),
    ("broker", "start", "--port", "31999"),
    ("broker", "status", "--directory", "kept"),
    ("broker", "stop"),
    ("explain", "ddl", "drop table t"),
    ("explain", "row", "--help"),
    ("--version",),
)


def explained(choice: random.Random) -> Line:
    """`explain row`, `explain ddl` or `explain table`."""
    schema = choice.choice(SCHEMA)
    rows = (WIDE_ROW, *ROWS) if schema == SCHEMA[0] else ROWS
    what, subjects = choice.choice((("row", rows), ("ddl", STATEMENTS), ("table", ("shop.t",))))
    more = choice.choice(((), ("--json",), ("--release", "v8.1.0"), ("--release", "v8.5.4", "--architecture", "new")))
    options = ("--schema", "schema.sql", "--use", "shop", "--sink-uri", choice.choice(URIS), "--config", "feed.toml")
    config = "".join(line for line in CONFIG.splitlines(True) if what != "row" or not line.startswith("ignore-insert"))
    files = {"schema.sql": schema, "feed.toml": config}
    return Line(("explain", what, choice.choice(subjects), *options, *more), files)


def inspected(choice: random.Random) -> Line:
    """`inspect` of fixtures with one record."""
    key, value = choice.choice(MESSAGES)
    return Line(("inspect", "fixtures", *choice.choice(MORE)), {"fixtures/shop/0.jsonl": recorded(key, value)})


def recorded(key: str, value: str) -> str:
    """A line of fixtures."""
    parts = [base64.b64encode(part.encode("utf-8", "surrogatepass")).decode() for part in (key, value)]
    return json.dumps({"offset": 0, "timestamp": 0, "key": parts[0] or None, "value": parts[1]})


def run_line(choice: random.Random) -> Line:
    """`diff` or `run`, into fixtures."""
    schema = choice.choice(SCHEMA)
    files = {
        "feed.toml": CONFIG,
        "before/shop.t-schema.sql": schema,
        "before/metadata": METADATA,
        "after/shop.t-schema.sql": schema.replace("name", "title"),
        "before/shop.t.csv": "1,a\n",
    }
    more = choice.choice(OPTIONS)
    if choice.random() < 0.5:
        return Line(("run", "scenario.toml", "--fixtures", "out", *more), files | {"scenario.toml": SCENARIO})
    options = ("--sink-uri", choice.choice(URIS), "--config", "feed.toml", "--rename", "t.name=title")
    return Line(("diff", "before", "after", "--fixtures", "out", *options, *more), files)


def asked(choice: random.Random) -> Line:
    """What reads no files."""
    return Line(choice.choice(ASKED), {})


KINDS = (explained, explained, explained, inspected, run_line, asked)


def good(seed: int, count: int) -> Iterator[Line]:
    """So many good command lines."""
    choice = random.Random(seed)
    return (choice.choice(KINDS)(choice) for _ in range(count))


def bad(seed: int, count: int) -> Iterator[Line]:
    """So many, each with one or two of its arguments and files damaged."""
    choice = random.Random(seed)
    return (hurt(choice.choice(KINDS)(choice), choice) for _ in range(count))


def hurt(line: Line, choice: random.Random) -> Line:
    arguments, files = list(line.arguments), dict(line.files)
    for _ in range(choice.choice((1, 1, 2))):
        place = choice.choice([*range(len(arguments)), *2 * list(files)])
        if isinstance(place, str):
            inside = place.endswith(".jsonl") and choice.random() < 0.7
            files[place] = damaged_message(choice) if inside else damaged(files[place], choice)
        elif arguments[place] not in KEPT:
            arguments[place] = damaged(arguments[place], choice)
    return Line(tuple(arguments), files)


def damaged_message(choice: random.Random) -> str:
    """A line of fixtures that is good, with a message that is not."""
    parts = list(choice.choice(MESSAGES))
    place = choice.choice((0, 1, 1, 1))
    parts[place] = damaged(parts[place], choice)
    return recorded(*parts)
