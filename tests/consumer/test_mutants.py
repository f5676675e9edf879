"""Whatever is not as it was sent, is not right: each message and each field of every protocol is mutated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import pytest
from support.mutant_forms import form_of
from support.mutant_streams import Protocol, Recorded, record, rows_story, statements_story, verdict, write
from support.mutants import (
    Mutant,
    Mutation,
    field_mutants,
    found_together,
    known_messages,
    message_mutants,
    stream_mutants,
)
from support.playing import play

from simulator.consumer.verify.verification import RIGHT

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
        *(ANY, "WATERMARK", "", "removed|removed everywhere|doubled|one (earlier|later)|in the other partition.*"),
        "a partition may have fewer watermarks than another one, or have them later or again, as TiCDC ends while it "
        "sends them; "
        "and that of a statement's commit-ts may come before it",
    ),
    Allowed(ANY, ROWS, "", "(the last )?(one (earlier|later)|at the end)", "rows of different keys have no order"),
    Allowed(
        ANY, "DDL .*", "", "(the last )?one (earlier|later)", "a watermark of its commit-ts may come before or after it"
    ),
    Allowed(
        *(
            "simple.*",
            "BOOTSTRAP .*",
            "",
            "(the last )?(at the end|one later|one earlier|doubled|in the other partition, too)",
        ),
        "a table's schema is told again and again",
    ),
    Allowed(
        *("(open-protocol|simple|debezium|avro).*", "DDL .*", "", "(the last )?in the other partition, too"),
        "it has the statement already, and statements come again as TiCDC restarts",
    ),
)

COPIES = 8
"""Rows of each kind: so many mutants share a stream."""

ALONE = 6
"""Streams with one mutant that are verified of each story, unless `--every-mutant` is given."""

SHARE = 4
"""Changes of fields of which one is tried, unless `--every-mutant` is given."""

ALIKE = 1
"""Columns of which a mutation is tried, unless `--every-mutant` is given."""


@pytest.mark.parametrize(
    "name", [name if name in FAST else pytest.param(name, marks=pytest.mark.slow) for name in PROTOCOLS]
)
def test_each_mutant_is_told(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """A mutant is wrong, unproved, unfinished or refused, but for those that are allowed."""
    every = bool(request.config.getoption("--every-mutant"))

    assert [f"{mutation} → {verdict}" for mutation, verdict in survivors(name, tmp_path, every)] == []


def survivors(name: str, home: Path, every: bool) -> Iterator[tuple[Mutation, str]]:
    """The mutations that `verify` calls right, or with which it crashes, but for those that are allowed."""
    protocol = PROTOCOLS[name]
    rows = record(rows_story(COPIES, not protocol.registry), protocol, home / "rows")
    yield from _survivors(rows, name, every)
    statements = record(statements_story(protocol.renamed_rows, protocol.emptying), protocol, home / "statements")
    yield from _survivors(statements, name, every)


def _survivors(recorded: Recorded, name: str, every: bool) -> Iterator[tuple[Mutation, str]]:
    protocol = PROTOCOLS[name]
    assert verdict(recorded.messages, recorded) == RIGHT
    form = form_of(protocol.form, recorded.schemas)
    known = known_messages(recorded, protocol)
    fields = field_mutants(known, form) if every else field_mutants(known, form, ALIKE, SHARE)
    mutants = [
        mutant
        for mutant in (*fields, *message_mutants(known), *stream_mutants(known, form))
        if not any(allowed.holds(name, mutant.mutation) for allowed in ALLOWED)
    ]
    together = [mutant for mutant in mutants if mutant.of_row]
    told = {id(mutant) for mutant in found_together(together, recorded, known)}
    alone = [mutant for mutant in mutants if not mutant.of_row]
    for mutant in (
        *(mutant for mutant in together if id(mutant) not in told),
        *(alone if every else chosen(alone, ALONE, str(protocol))),
    ):
        found = _verdict(mutant, recorded)
        if found:
            yield mutant.mutation, found


def _verdict(mutant: Mutant, recorded: Recorded) -> str:
    """`right`, or the error with which `verify` crashes; empty for a mutant that is told or says the same."""
    stream = mutant.stream(recorded.messages)
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


@pytest.mark.parametrize(
    ("what", "code"), [("nothing", 0), ("all DDL ALTER TABLE ADD removed", 1), ("column n lost in all rows", 1)]
)
def test_the_command_exits_with_its_verdict(tmp_path: Path, what: str, code: int) -> None:
    """1 for a statement, or a column, that was lost everywhere."""
    protocol = PROTOCOLS["canal-json"]
    recorded = record(statements_story(True), protocol, tmp_path / "statements")
    known = known_messages(recorded, protocol)
    mutants = {mutant.mutation.what: mutant for mutant in stream_mutants(known, form_of(protocol.form, {}))}
    stream = mutants[what].stream(recorded.messages) if what in mutants else recorded.messages
    assert stream is not None
    write(stream, recorded)

    assert code == play("verify", recorded.directory, "--truth", recorded.truth)
