"""Whatever is not as it was sent, is not right: each message and each field of every protocol is mutated."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from zlib import crc32

import pytest
from support.budget import left_out
from support.mutant_forms import form_of
from support.mutants import (
    Known,
    Message,
    Mutant,
    Mutation,
    Place,
    Protocol,
    Recorded,
    field_mutants,
    known_messages,
    message_mutants,
    record,
    stream_mutants,
    verdict,
    verified,
)

from simulator.reader.verify.verification import RIGHT, Verification

PROTOCOLS = {
    "open-protocol": Protocol("open-protocol", "&max-batch-size=1"),
    "canal-json": Protocol("canal-json"),
    "canal-json with the extension": Protocol("canal-json", "&enable-tidb-extension=true"),
    "debezium": Protocol("debezium", emptying=False),
    "debezium of the new architecture": Protocol("debezium", "&enable-tidb-extension=true", "v26.3.4", "new"),
    "debezium-avro": Protocol(
        "debezium-avro",
        "&enable-tidb-extension=true&avro-enable-watermark=true&avro-bigint-unsigned-handling-mode=string",
        *("v26.3.4", "new"),
        registry=True,
        renamed_rows=False,
    ),
    "simple": Protocol("simple"),
    "simple in Avro": Protocol("simple", "&encoding-format=avro"),
    "avro": Protocol("avro", "&enable-tidb-extension=true&avro-enable-watermark=true", registry=True),
}

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


def statements_story(protocol: Protocol) -> str:
    story = STATEMENTS if protocol.renamed_rows else STATEMENTS.replace(RENAMED_ROWS, "")
    return story if protocol.emptying else EMPTYING.sub("", story)


FAST = ("canal-json with the extension", "avro")
"""Protocols whose mutants are tried with the fast tests."""

ANY = ".*"


@dataclass(frozen=True)
class Allowed:
    """Mutants that a consumer must not mind, by patterns, and the reason in the contract."""

    protocol: str
    kind: str
    path: str
    what: str
    why: str

    def holds(self, protocol: str, mutation: Mutation) -> bool:
        given = (
            (self.protocol, protocol),
            (self.kind, mutation.kind),
            (self.path, mutation.path),
            (self.what, mutation.what),
        )
        return all(re.fullmatch(pattern, text) for pattern, text in given)


ROWS = "(INSERT|UPDATE|DELETE) .*"

ALLOWED = (
    Allowed("canal-json.*", ANY, r"value\.ts", "one more|negated", "the wall clock of TiCDC when it built the message"),
    Allowed("simple.*", ANY, r"value\.(payload\.\w+\.)?buildTs", "one more|negated", "the wall clock of TiCDC"),
    Allowed(
        "debezium.*", ANY, r"value\.(#\.)?(payload\.)?ts_ms(\.long)?", "one more|negated", "the wall clock of TiCDC"
    ),
    Allowed(ANY, "WATERMARK", r".*[tT]s", "one more", "a watermark is at any time between two rows"),
    Allowed(
        *(ANY, "WATERMARK", ""),
        "removed|removed everywhere|one (earlier|later)|(the last )?(doubled|in the other partition.*)",
        "a partition may have fewer watermarks than another one, or have them later or again, as TiCDC ends while it "
        "sends them; "
        "and that of a statement's commit-ts may come before it",
    ),
    Allowed(ANY, ROWS, "", "(the last )?(one (earlier|later)|at the end)", "rows of different keys have no order"),
    Allowed(
        ANY, "DDL .*", "", "(the last )?one (earlier|later)", "a watermark of its commit-ts may come before or after it"
    ),
    Allowed(
        *("simple.*", "BOOTSTRAP .*", "", "(the last )?(at the end|one later|one earlier|in the other partition, too)"),
        "a table's schema is told again and again; a partition without rows of the table may have it at any time",
    ),
    Allowed(
        *("(open-protocol|simple|debezium|avro).*", "DDL .*", "", "(the last )?in the other partition, too"),
        "it has the statement already, and statements come again as TiCDC restarts",
    ),
)

COPIES = 8
"""Rows of each kind: so many mutants share a stream."""

ALONE = 4
"""Streams with one mutant that are verified of each story, unless `--everything` is given."""

SHARES = {name: 16 if "debezium" in name else 8 if "Avro" in name else 4 for name in PROTOCOLS}
"""Changes of fields of which one is tried, unless `--everything` is given; more messages have schemas in them."""

ALIKE = 1
"""Columns of which a mutation is tried, unless `--everything` is given."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in PROTOCOLS]
)
def test_each_mutant_is_told(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """A mutant is wrong, unproved, unfinished or refused, but for those that are allowed."""
    every = bool(request.config.getoption("--everything"))
    left = partial(left_out, request, of="mutant")

    assert [f"{mutation} → {verdict}" for mutation, verdict in survivors(name, tmp_path, every, left)] == []


def survivors(name: str, home: Path, every: bool, left: Callable[[int], None]) -> Iterator[tuple[Mutation, str]]:
    """The mutations that `verify` calls right, or with which it crashes, but for those that are allowed."""
    protocol = PROTOCOLS[name]
    for story, text in (
        ("rows", rows_story(COPIES, not protocol.registry)),
        ("statements", statements_story(protocol)),
    ):
        yield from _survivors(record(text, protocol, home / story), name, every, left)


def _survivors(
    recorded: Recorded, name: str, every: bool, left: Callable[[int], None]
) -> Iterator[tuple[Mutation, str]]:
    protocol = PROTOCOLS[name]
    assert verdict(recorded.messages, recorded) == RIGHT
    form = form_of(protocol.form, recorded.schemas)
    known, stream = known_messages(recorded, protocol), recorded.messages
    fields = field_mutants(known, form, stream, *(() if every else (ALIKE, SHARES[name])))
    mutants = [
        mutant
        for mutant in (*fields, *message_mutants(known, stream), *stream_mutants(known, form))
        if not any(allowed.holds(name, mutant.mutation) for allowed in ALLOWED)
    ]
    together = [mutant for mutant in mutants if mutant.of_row]
    told = {id(mutant) for mutant in found_together(together, recorded, known)}
    alone = [mutant for mutant in mutants if not mutant.of_row]
    left(0 if every else max(len(alone) - ALONE, 0))
    for mutant in (
        *(mutant for mutant in together if id(mutant) not in told),
        *(alone if every else chosen(alone, ALONE, str(protocol))),
    ):
        found = _verdict(mutant, recorded)
        if found:
            yield mutant.mutation, found


def _verdict(mutant: Mutant, recorded: Recorded) -> str:
    """`right`, or the error with which `verify` crashes; empty for a mutant that is told or says the same."""
    stream = mutant.stream()
    if stream is None or stream == recorded.messages:
        return ""
    try:
        found = verdict(stream, recorded, mutant.restarts)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return found if found == RIGHT else ""


def chosen(mutants: list[Mutant], count: int, of: str = "") -> list[Mutant]:
    """Some of the mutants, the same in each run."""
    return sorted(mutants, key=lambda mutant: crc32(f"{of} {mutant.mutation}".encode()))[:count]


# Many mutants in one stream

IDS = {"INSERT": ("1", "4"), "UPDATE": ("2", "5"), "DELETE": ("3", "6")}
"""First digits of the ids of rows whose changes of a kind are mutated."""

MANY = 1 << 20

Placed = tuple[Mutant, Known, "tuple[Message, ...]"]
"""A mutant, the message that it stands in for, and the messages in its place."""


def found_together(mutants: Iterable[Mutant], recorded: Recorded, known: Iterable[Known]) -> Iterator[Mutant]:
    """Yield the mutants that a violation names, by its place or by its row, where many rows have one each.

    `recorded` is a stream with many rows of each kind, and `known` are its messages.
    """
    carriers = dict[str, list[Known]]()
    for each in known:
        if each.row is not None and each.row.startswith(IDS[each.kind.split()[0]]):
            carriers.setdefault(each.kind, []).append(each)
    waiting = list(mutants)
    while waiting:
        free = {kind: list(some) for kind, some in carriers.items()}
        placed, left = list[Placed](), list[Mutant]()
        for mutant in waiting:
            taken = _carrier(mutant, free.get(mutant.mutation.kind, []))
            placed += [] if taken is None else [(mutant, *taken)]
            left += [mutant] if taken is None else []
        if not placed:
            return
        yield from _named_mutants(placed, recorded)
        waiting = left


def _carrier(mutant: Mutant, free: list[Known]) -> tuple[Known, tuple[Message, ...]] | None:
    """Take a message that can have the mutation."""
    assert mutant.replaced is not None
    for each in free:
        messages = mutant.replaced(each)
        if messages is not None:
            free.remove(each)
            return each, messages
    return None


def _named_mutants(placed: list[Placed], recorded: Recorded) -> Iterator[Mutant]:
    """The mutants that violations name; those of a stream that cannot be verified are tried by halves."""
    mutated = {carrier.place: messages for _, carrier, messages in placed}
    stream, places = dict[int, list[Message]](), dict[Place, Place]()
    for partition, messages in recorded.messages.items():
        stream[partition] = []
        for offset, message in enumerate(messages):
            for each in mutated.get((partition, offset), (message,)):
                places[partition, len(stream[partition])] = partition, offset
                stream[partition].append(each)
    try:
        named = {
            places.get(each, each) if isinstance(each, tuple) else each
            for each in _named(verified(stream, recorded, show=MANY))
        }
    except Exception:  # whatever it is, it is found again where the mutant is alone
        half = len(placed) // 2
        for part in (placed[:half], placed[half:]) if half else ():
            yield from _named_mutants(part, recorded)
        return
    yield from (mutant for mutant, carrier, _ in placed if not named.isdisjoint((carrier.place, carrier.row)))


def _named(verification: Verification) -> Iterator[Place | str]:
    """The places and the rows of all violations."""
    for example in (example for failure in verification.failures for example in failure.examples):
        if example.partition is not None and example.offset is not None:
            yield example.partition, example.offset
        if row := re.search(r"row (\d+):", example.what):
            yield row[1]
