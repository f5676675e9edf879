"""Whatever is not as it was sent, is not right: each message and each field of every protocol is mutated."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import pytest
from support.mutant_forms import FORMS
from support.mutant_streams import STATEMENTS, Protocol, Recorded, record, rows_story, verdict
from support.mutants import Mutant, field_mutants, found_together, known_messages, message_mutants

from simulator.consumer.verify.verification import RIGHT

PROTOCOLS = {
    "open-protocol": Protocol("open-protocol", "&max-batch-size=1"),
    "canal-json": Protocol("canal-json"),
    "canal-json with the extension": Protocol("canal-json", "&enable-tidb-extension=true"),
}

ANY = ".*"


@dataclass(frozen=True)
class Allowed:
    """Mutants that a consumer must not mind, by patterns, and the reason in the contract."""

    protocol: str
    kind: str
    path: str
    what: str
    why: str

    def holds(self, protocol: str, mutant: Mutant) -> bool:
        mutation = mutant.mutation
        given = (
            (self.protocol, protocol),
            (self.kind, mutation.kind),
            (self.path, mutation.path),
            (self.what, mutation.what),
        )
        return all(re.fullmatch(pattern, text) for pattern, text in given)


ALLOWED: tuple[Allowed, ...] = ()

COPIES = 30
"""Rows of each kind in the stream with many mutants."""

SHARE = 8
"""Of mutants that must be alone in a stream, one of so many is tried, unless `--every-mutant` is given."""


@pytest.mark.parametrize("name", PROTOCOLS)
def test_each_mutant_is_told(name: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """A mutant is wrong, unproved, unfinished or refused, but for those that are allowed."""
    every = bool(request.config.getoption("--every-mutant"))
    told = [
        f"{mutant.mutation} → {verdict}"
        for mutant, verdict in survivors(PROTOCOLS[name], tmp_path, every)
        if not any(allowed.holds(name, mutant) for allowed in ALLOWED)
    ]

    assert told == []


def survivors(protocol: Protocol, home: Path, every: bool) -> Iterator[tuple[Mutant, str]]:
    """The mutants that are right, or with which `verify` crashes."""
    keyless = not protocol.registry
    for story in (rows_story(1, keyless), STATEMENTS):
        recorded = record(story, protocol, home / f"story {crc32(story.encode())}")
        assert verdict(recorded.messages, recorded) == RIGHT
        known = known_messages(recorded, protocol)
        mutants = [*field_mutants(known, FORMS[protocol.form], every), *message_mutants(known, every)]
        told = set[int]()
        if of_rows := [mutant for mutant in mutants if mutant.of_row]:
            many = record(rows_story(COPIES, keyless), protocol, home / "many")
            told = {id(mutant) for mutant in found_together(of_rows, many, known_messages(many, protocol))}
        for mutant in mutants:
            if id(mutant) not in told and (every or mutant.of_row or crc32(str(mutant.mutation).encode()) % SHARE == 0):
                alone = verdict_of(mutant, recorded)
                if alone == RIGHT or alone.startswith("crash"):
                    yield mutant, alone


def verdict_of(mutant: Mutant, recorded: Recorded) -> str:
    stream = mutant.stream(recorded.messages)
    if stream is None:
        return "the same"
    try:
        return verdict(stream, recorded, mutant.restarts)
    except Exception as error:
        return f"crash: {type(error).__name__}: {error}"
