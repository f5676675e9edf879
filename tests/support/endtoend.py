"""Recorded changefeeds: SQL, and the messages that a real TiCDC made of it (tests/endtoend/README.md).

Recorded and simulated messages are brought into one form by the rules of that README, then compared as texts.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from simulator import TiCDC
from simulator.consumer.compare.events import EVERYTHING, ComparedEvent, StreamMessage, events_of
from simulator.consumer.compare.pairs import Identities, transaction_of
from simulator.consumer.compare.pairs import differences as unequal
from simulator.consumer.decode import DECODERS
from simulator.consumer.decode.avro import records as avro_records
from simulator.errors import DdlError, EncodeError, SqlError
from simulator.run.plan.step import PlanContext, RunPosition, StepResult, joined
from simulator.run.steps.sql import execute_statement
from simulator.tidb.sql_engine.errors import error_number
from simulator.tidb.sql_engine.storage.state import FailedStatement
from support.endtoend_storage import Lengths, recorded_files, transaction_lengths, unequal_files, written_files
from support.same_upstream import same_upstream

DEFAULT = Path(__file__).parent.parent / "endtoend"

IGNORED = EVERYTHING - {"claim-check-names"}

NOT_PLAYED = -1
"""The error of statements that the recording's TiDB could not run (tests/recordings/README.md: FLASHBACK, RECOVER)."""

BIT = re.compile(r'(?<="t":16,"f":)(\d+),"v":(\d+)')
"""Flags and value of a BIT column in Open Protocol."""

WIDE_BITS = 57
"""BIT of this length and more: the recording's TiDB reverses their bytes (tests/endtoend/README.md)."""

ESCAPES = {"b": "\\u0008", "f": "\\u000c"}
"""As the Go has them that the releases were built with."""

CLAIM_CHECK_NAME = re.compile(r'"(?:ccl|claimCheckLocation)":"([^"]*)"')

SHOWN = 8
"""Differences of one feed that a failing test shows."""


@dataclass(frozen=True)
class Feed:
    """One recorded changefeed of a case."""

    case: str
    release: str
    statements: Sequence[Mapping[str, Any]]
    recorded: Mapping[str, Any]
    lengths: Lengths = field(default_factory=dict)
    """The transactions of a storage sink's files."""

    @property
    def id(self) -> str:
        return f"{self.case}-{self.recorded['name']}"

    @property
    def is_stored(self) -> bool:
        """Whether it is that of a storage sink."""
        return str(self.recorded["uri"]).startswith("file:")

    @cached_property
    def protocol(self) -> str:
        return protocol_of(self.recorded["uri"])


@dataclass(frozen=True)
class Sent:
    """A message; `partitions` are several where it was broadcast."""

    topic: str
    partitions: tuple[int, ...]
    key: bytes | None
    value: bytes | None

    commit_ts: int = 0
    """0 where it is not recorded."""

    schemas: Mapping[int, str] = field(default_factory=dict)
    """The schemas of a registry by id."""


def feeds(directory: Path) -> list[Feed]:
    """All feeds that went to a storage, or to Kafka in a protocol of DECODERS."""
    found = []
    for path in sorted(directory.glob("*.json.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            case = json.load(file)
        name = path.name.removesuffix(".json.gz")
        for feed in case["feeds"]:
            lengths = transaction_lengths(case["feeds"]) if feed["uri"].startswith("file:") else {}
            played = Feed(name, case["release"], case["statements"], feed, lengths)
            if played.is_stored or protocol_of(feed["uri"]) in DECODERS:
                found.append(played)
    return found


def protocol_of(uri: str) -> str:
    """The protocol of a sink URI."""
    return parse_qs(urlsplit(uri).query)["protocol"][0]


def differences(feed: Feed, directory: Path) -> list[str]:
    """Where the simulator differs from the recording. It writes files of claim-check or of a storage sink into the
    directory."""
    recorded, claims = feed.recorded, directory
    uri = recorded["uri"].replace(urlsplit(recorded["uri"]).path, directory.as_posix(), 1 if feed.is_stored else 0)
    wrong, sent = _played(feed, uri, recorded["config"].replace("file:///claims", claims.as_uri()))
    if "error" in recorded:
        return wrong
    if feed.is_stored:
        return [*wrong, *unequal_files(recorded_files(recorded["files"]), written_files(directory), feed.lengths)]
    files = {name: base64.b64decode(content["base64"]) for name, content in recorded.get("files", {}).items()}
    messages = _recorded(recorded)
    expected = _events(feed, _dated(messages, sent) if feed.protocol == "avro" else messages, files)
    simulated = _events(feed, sent, {path.name: path.read_bytes() for path in claims.rglob("*.json")})
    return [*wrong, *_unequal(expected, simulated)]


@dataclass
class Script:
    """The step of all statements of a case, whose messages are sent together."""

    statements: Sequence[Mapping[str, Any]]
    stop: str
    """The error with which TiCDC stopped, or empty."""

    wrong: list[str] = field(default_factory=list)
    """Statements that were answered otherwise than by TiDB."""

    stopped: bool = False
    """Whether a statement stopped the changefeed as it stopped TiCDC's."""

    def plan(self, position: RunPosition, context: PlanContext) -> tuple[RunPosition, StepResult]:
        results = []
        for statement in self.statements:
            sql, expected, error = statement["sql"], statement.get("error", 0), None
            if expected == NOT_PLAYED:
                continue
            try:
                position, result, outcome = execute_statement(sql, position, context)
            except (SqlError, DdlError) as refused:
                error = refused
            else:
                results.append(result)
                error = outcome.error if isinstance(outcome, FailedStatement) else None
            if error and self.stop and error.text.removesuffix(f" ({sql})") in self.stop and sql in self.stop:
                self.stopped = True
                break
            found = error_number(error) if error else 0
            if found != expected:
                self.wrong.append(f"{sql[:200]}: {expected} expected, {found} {error} found")
        return position, joined(results)


def _played(feed: Feed, uri: str, config: str) -> tuple[list[str], list[Sent]]:
    """Statements that were answered otherwise than by TiDB, and the messages."""
    stop = feed.recorded.get("error", "")
    script = Script(
        [{"sql": "SET time_zone = '+00:00'"}, {"sql": "SET timestamp = 1700000000"}, *feed.statements], stop
    )
    with same_upstream(feed.case), TiCDC(feed.release, sink_uri=uri, config=config or None, databases=()) as ticdc:
        try:
            ticdc.open_changefeed.play(script)
        except EncodeError as error:
            # releases differ in what follows the first sentence (codecs/oversize.py)
            if not stop.startswith(f"[{error.code}]{error.text.partition('. ')[0]}"):
                raise
            script.stopped = True
        messages = [] if feed.is_stored or stop else ticdc.messages()
        schemas = {number: schema.text for number, schema in ticdc.schemas.items()}
    if stop and not script.stopped:
        script.wrong.append(f"the changefeed was expected to stop: {stop}")
    return script.wrong, [
        Sent(each.topic, (each.partition,), each.key, each.value, each.commit_ts, schemas) for each in messages
    ]


def _recorded(recorded: Mapping[str, Any]) -> Iterator[Sent]:
    schemas = {int(number): schema["schema"] for number, schema in recorded.get("schemas", {}).items()}
    for each in recorded["messages"]:
        partitions = range(each["partitions"]) if "partitions" in each else (each["partition"],)
        key, value = (None if each[part] is None else base64.b64decode(each[part]) for part in ("key", "value"))
        yield Sent(each["topic"], tuple(partitions), key, value, 0, schemas)


def _dated(recorded: Iterable[Sent], sent: Iterable[Sent]) -> Iterator[Sent]:
    """Recorded messages, one for each partition, with the commit-ts of the simulated ones at the same places.

    Not all messages of Avro tell theirs. Watermarks are left out (`_events`), so that they shift no place.
    """
    times: dict[tuple[str, int], deque[int]] = defaultdict(deque)
    for message in filter(_is_dated, sent):
        times[message.topic, message.partitions[0]].append(message.commit_ts)
    for message in filter(_is_dated, recorded):
        for partition in message.partitions:
            queue = times[message.topic, partition]
            yield replace(message, partitions=(partition,), commit_ts=queue.popleft() if queue else 0)


def _is_dated(message: Sent) -> bool:
    return bool(message.key) or not (message.value or b"").startswith(avro_records.WATERMARK)


def _unequal(expected: Sequence[ComparedEvent], simulated: Sequence[ComparedEvent]) -> list[str]:
    wrong, identities = [], Identities()
    rows = Counter(map(transaction_of, expected)), Counter(map(transaction_of, simulated))
    for place in sorted({(event.topic, event.partition) for event in (*expected, *simulated)}):
        one, other = (
            [event for event in side if (event.topic, event.partition) == place] for side in (expected, simulated)
        )
        wrong += [
            f"{place} {each.what or 'one is missing'}:\n  {each.a and each.a.text} expected,\n  "
            f"{each.b and each.b.text} found"
            for each in unequal(one, other, identities, rows=rows)
        ]
    return [*wrong, *filter(None, [identities.disorder()])]


# -- one form ----------------------------------------------------------------------------------------------------------


def _events(feed: Feed, messages: Iterable[Sent], claims: Mapping[str, bytes]) -> list[ComparedEvent]:
    """The events of messages, in the order of each partition. Watermarks are left out: there is one at the end of a
    recording, and any number where time passes."""
    return [
        replace(_as_recorded(event, feed, claims, sent.schemas), partition=partition)
        for sent in messages
        for event in events_of(_message(sent, feed.protocol), feed.protocol, IGNORED, sent.schemas)
        for partition in sent.partitions
    ]


def _message(sent: Sent, protocol: str) -> StreamMessage:
    commit_ts = sent.commit_ts if protocol == "avro" else 0
    return StreamMessage(sent.topic, sent.partitions[0], 0, sent.key, sent.value, commit_ts)


def _as_recorded(
    event: ComparedEvent, feed: Feed, claims: Mapping[str, bytes], schemas: Mapping[int, str]
) -> ComparedEvent:
    """The event without what is known of the recordings and not of TiCDC, and with the content of its claim-check file
    in place of the random name."""
    value = event.value
    match feed.protocol:
        case "open-protocol":
            value = BIT.sub(lambda bit: f'{bit[1]},"v":{_bits(bit[2])}', value)
        case "canal-json":
            for name, type in (json.loads(value)["mysqlType"] or {}).items():
                member = re.escape(json.dumps(name, ensure_ascii=False) + ':"')
                if type == "bit":
                    value = re.sub(rf"(?<={member})\d+", lambda bit: _bits(bit[0]), value)
        case "avro" if value.startswith('{"schema"'):
            value = _with_avro_bits(value)
    if feed.protocol in ("open-protocol", "simple"):
        value = re.sub(r"(?<!\\)((?:\\\\)*)\\([bf])", lambda escape: escape[1] + ESCAPES[escape[2]], value)
    key, value = (_with_claim(text, feed, claims, schemas) for text in (event.key, value))
    return replace(event, key=key, value=value)


def _with_claim(text: str, feed: Feed, claims: Mapping[str, bytes], schemas: Mapping[int, str]) -> str:
    """The text, with what a claim-check file holds in place of its random name."""
    place = CLAIM_CHECK_NAME.search(text)
    if place is None:
        return text
    file = json.loads(claims[place[1].rpartition("/")[2]])
    key, content = (base64.b64decode(file[part] or "") for part in ("key", "value"))
    (stored,) = events_of(StreamMessage("", 0, 0, key, content), feed.protocol, IGNORED, schemas)
    return text.replace(place[1], stored.text)


def _bits(value: str) -> str:
    """The value of a BIT column or its bytes reversed, whichever is less: the recording's TiDB reverses the bytes of
    BIT(57) to BIT(64) that it reads back from its storage."""
    number = int(value)
    return str(min(number, int.from_bytes(number.to_bytes(8, "little"), "big")))


def _with_avro_bits(text: str) -> str:
    """The same of a record of Avro, whose bytes have no zeros before them."""
    document = json.loads(text)
    for column in document["schema"]["fields"]:
        is_union = isinstance(column["type"], list)
        type = next(each for each in column["type"] if each != "null") if is_union else column["type"]
        piece = bytes.fromhex(document["fields"][column["name"]]) if isinstance(type, dict) else b""
        if piece and int(type["connect.parameters"].get("length", 0)) >= WIDE_BITS and piece != b"\0":
            start = 2 if is_union else 1
            stored = piece[start:].rjust(8, b"\0")
            document["fields"][column["name"]] = (
                f"{piece[:1].hex() if is_union else ''} {min(stored, stored[::-1]).hex()}"
            )
    return json.dumps(document, ensure_ascii=False)
