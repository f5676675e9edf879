"""Every recorded case of a directory (`--endtoend DIR`, by default tests/endtoend), one test each: its SQL becomes the
messages and files that a real TiCDC made of it, in each of its changefeeds.

Recorded and simulated messages are brought into one form by the rules of that directory's README, then compared as
texts. In files TSOs become their rank, ids of partitions too, a date `DATE`; the files of a directory are one text, whose
index has to name the last of them.

Many cases were recorded of two releases. Of their stories and rows the older one's play all statements, but by default
each into a third of the feeds, in turn; `--everything` or a directory that is named plays all of them.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import groupby
from pathlib import Path, PurePosixPath
from unittest import mock
from urllib.parse import parse_qs, urlsplit

import pytest
from support.budget import left_out
from support.vectors.files import ENDTOEND, Json, parametrize, recorded_files

from simulator import TiCDC
from simulator.errors import DdlError, EncodeError, SqlError
from simulator.reader.compared_events import (
    EVERYTHING,
    ComparedEvent,
    Identities,
    events_of,
    transaction_of,
    with_commit_ts,
)
from simulator.reader.compared_events import differences as unequal
from simulator.reader.decode import avro as avro_records
from simulator.run.plan.step import ChangefeedStopped, PlanContext, RunPosition, StepResult, joined
from simulator.run.steps import execution
from simulator.sinks.memory import Message
from simulator.ticdc.ddl import events as job_events
from simulator.ticdc.ddl.sent_text import sent_text
from simulator.tidb.engine import FailedStatement, StatementOutcome
from simulator.tidb.engine.execution import Upstream
from simulator.tidb.errors import error_number
from simulator.tidb.syntax.statements import SqlStatement

FAST = r"v8\.0\.0\.(rows-00|txn-1|types-1)"
"""Cases that are not marked slow: one release, a part of the rows, types and transactions."""

NUMBERED = re.compile(r"(v[\d.]+)\.((?:rows|story)-(\d+))")
"""Cases of which there are many of one kind: release, name, number."""

TURNS = 3
"""Of so many cases of an older release one plays a feed."""

WAITING = 40
"""Changefeeds of cases with a statement that TiDB refuses and the simulator takes, or the other way round. What does not
depend on it is compared all the same: a statement that TiDB refuses is not played, and the script ends before one that
only the simulator refuses. Lower it when the database answers more of them."""

waiting: dict[str, list[str]] = {}
"""Those statements of each case that was played."""

feeds: dict[str, int] = {}
"""The number of changefeeds of each case that was played."""

SHOWN = 8
"""Differences of one changefeed that a failing test shows."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize(metafunc, "case", ENDTOEND, "*.json.gz", FAST, ".json.gz")


def test_sql_becomes_the_messages_that_ticdc_sent(case: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Every byte of every row and statement, and the number of every error."""
    option = request.config.getoption
    turn = None if option("--everything") or option("--endtoend") else turn_of(case)
    with gzip.open(case, "rt", encoding="utf-8") as file:
        recorded = json.load(file)
    statements = [{"sql": "SET time_zone = '+00:00'"}, {"sql": "SET timestamp = 1700000000"}, *recorded["statements"]]
    rows = transaction_rows(recorded["feeds"])
    wrong, told = {}, dict[str, None]()
    # each statement is executed, and each DDL written anew, once for all feeds
    with OneDatabase().shared(), mock.patch.object(job_events, "sent_text", cache(sent_text)):
        for number, each in enumerate(recorded["feeds"]):
            if turn is not None and number % TURNS != turn:
                left_out(request, 1, "changefeed")
                continue
            directory = tmp_path / each["name"]
            directory.mkdir()
            found, others = differences(Feed(recorded["release"], statements, each, rows), directory)
            wrong[each["name"]] = found[:SHOWN]
            told |= dict.fromkeys(others)
    feeds[case.name], waiting[case.name] = len(recorded["feeds"]), [*told]
    assert {} == {name: found for name, found in wrong.items() if found}


def turn_of(case: Path) -> int | None:
    """Which of the turns a case has whose statements a later release has all feeds of; None where there is no such."""
    found = NUMBERED.fullmatch(case.name.removesuffix(".json.gz"))
    if found is None:
        return None
    release, name, number = found.groups()
    others = {path.name.removesuffix(f".{name}.json.gz") for path in case.parent.glob(f"*.{name}.json.gz")}
    return int(number) % TURNS if release != max(others, key=version) else None


def version(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.removeprefix("v").split(".")))


def test_ever_fewer_changefeeds_wait_for_the_database(request: pytest.FixtureRequest) -> None:
    """Of the cases that were played before this test."""
    found = sum(feeds[name] for name, statements in waiting.items() if statements)
    print(f"{found} of {sum(feeds.values())} changefeeds wait for the database:")
    print(*(f"  {name}: {statement}" for name, statements in waiting.items() for statement in statements), sep="\n")
    if not request.config.getoption("--endtoend"):
        every = len(list(ENDTOEND.glob("*.json.gz")))
        assert found == WAITING if len(feeds) == every else found <= WAITING


@dataclass(frozen=True)
class Feed:
    """One recorded changefeed of a case."""

    release: str
    statements: Sequence[Json]
    recorded: Json
    rows: TransactionRows
    """The transactions of a storage sink's files."""

    @property
    def is_stored(self) -> bool:
        """Whether it is that of a storage sink."""
        return str(self.recorded["uri"]).startswith("file:")

    @cached_property
    def partitioned(self) -> frozenset[str]:
        """The names of tables that have partitions, whose order in a transaction is free, as that of tables is."""
        found = (PARTITIONED.match(each["sql"]) for each in self.statements)
        return frozenset(name[1].lower() for name in found if name)

    @cached_property
    def protocol(self) -> str:
        return parse_qs(urlsplit(self.recorded["uri"]).query)["protocol"][0]


def differences(feed: Feed, directory: Path) -> tuple[list[str], list[str]]:
    """Where the simulator differs from the recording, and the statements that it answered otherwise than TiDB did. It
    writes files of claim-check or of a storage sink into the directory."""
    recorded = feed.recorded
    uri = recorded["uri"].replace(urlsplit(recorded["uri"]).path, directory.as_posix(), 1 if feed.is_stored else 0)
    script, sent = played(feed, uri, recorded["config"].replace("file:///claims", directory.as_uri()))
    if script.failed or "error" in recorded and "messages" not in recorded:
        return script.wrong, script.waiting
    if feed.is_stored:
        stored, written = recorded_files(recorded["files"]), written_files(directory)
        if script.stopped:
            written.pop("metadata", None)  # the only watermark of a recording is at its end
        return [*script.wrong, *unequal_files(stored, written, feed.rows, script.ended)], script.waiting
    messages = list(recorded_messages(recorded))
    expected = compared(
        feed, dated(messages, sent) if feed.protocol == "avro" else messages, recorded_files(recorded.get("files", {}))
    )
    claims = {path.name: path.read_bytes() for path in directory.rglob("*.json")}
    found = compared(feed, sent, claims)
    if script.ended:
        expected = as_far_as(found, expected)
        found = as_far_as(found, found)
    expected, found = (by_partition(events, feed.partitioned) for events in (expected, found))
    return [*script.wrong, *_unequal(expected, found)], script.waiting


PARTITIONED = re.compile(r"(?:CREATE|ALTER)\s+TABLE\s+(?:\w+\.)?(`(?:[^`]|``)+`|\w+).*\bPARTITION\s+BY\b", re.I | re.S)


def by_partition(events: Sequence[ComparedEvent], partitioned: frozenset[str]) -> list[ComparedEvent]:
    """The events, those of a partitioned table in a transaction by their text."""
    names = {name.strip("`").replace("``", "`") for name in partitioned}

    def of_partitions(event: ComparedEvent) -> str:
        return event.text if event.table.rpartition(".")[2].strip("`").lower() in names else ""

    return sorted(sorted(dated_events(events), key=of_partitions), key=transaction_of)


def as_far_as(found: Sequence[ComparedEvent], expected: Sequence[ComparedEvent]) -> list[ComparedEvent]:
    """The first expected events, of as many steps as there are among those found."""
    steps = len({event.commit_ts for event in found if event.commit_ts})
    last = sorted({event.commit_ts for event in expected if event.commit_ts})[:steps][-1:]
    return [event for event in dated_events(expected) if [event.commit_ts] <= last]


def dated_events(events: Sequence[ComparedEvent]) -> Iterator[ComparedEvent]:
    """The events of each partition, BOOTSTRAP with the commit-ts of what follows it."""
    for place in {(event.topic, event.partition): None for event in events}:
        yield from with_commit_ts([event for event in events if (event.topic, event.partition) == place])


# -- SQL played --------------------------------------------------------------------------------------------------------

NOT_PLAYED = -1
"""The error of statements that the recording's TiDB could not run (tests/recordings/README.md: FLASHBACK, RECOVER)."""


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


Executed = tuple[Upstream, StatementOutcome | FailedStatement]


class OneDatabase:
    """The database of a case. A statement that a changefeed has met is not executed again for the others."""

    def __init__(self) -> None:
        self._first: Upstream | None = None
        self._executed: dict[tuple[int, str, int], tuple[Upstream, Executed]] = {}

    @contextmanager
    def shared(self) -> Iterator[None]:
        """Until the end of the block, scripts begin with this database."""
        with_upstream, execute = execution.with_upstream, Upstream.execute

        def begin(position: RunPosition, context: PlanContext) -> RunPosition:
            if self._first is not None and position.state is None:
                return replace(position, state=self._first, catalog=self._first.catalog)
            begun = with_upstream(position, context)
            if self._first is None and isinstance(begun.state, Upstream):
                self._first = begun.state
            return begun

        def once(upstream: Upstream, statement: SqlStatement, text: str, now_ms: int) -> Executed:
            key = id(upstream), text, now_ms
            if key not in self._executed:
                self._executed[key] = upstream, execute(upstream, statement, text, now_ms)  # which keeps the id
            return self._executed[key][1]

        with mock.patch.object(execution, "with_upstream", begin), mock.patch.object(Upstream, "execute", once):
            yield


@dataclass
class Script:
    """The step of all statements of a case, whose messages are sent together."""

    statements: Sequence[Json]
    stop: str
    """The error with which TiCDC stopped, or empty."""

    wrong: list[str] = field(default_factory=list)
    """Where the changefeed stopped otherwise than TiCDC's."""

    waiting: list[str] = field(default_factory=list)
    """Statements that were answered otherwise than by TiDB."""

    ended: bool = False
    """Whether the script ended at a statement that only the simulator refuses."""

    stopped: bool = False
    """Whether a statement stopped the changefeed as it stopped TiCDC's."""

    failed: bool = False
    """Whether the changefeed stopped as TiCDC's did, at a row or a schema; what it sent before depends on how rows are
    put together."""

    def plan(self, position: RunPosition, context: PlanContext) -> tuple[RunPosition, StepResult]:
        results = []
        for statement in self.statements:
            text, expected, error = statement["sql"], statement.get("error", 0), None
            if expected == NOT_PLAYED:
                continue
            before, result = position, StepResult()
            try:
                position, result, outcome = execution.execute_statement(text, position, context)
            except (SqlError, DdlError) as refused:
                error = refused
            else:
                error = outcome.error if isinstance(outcome, FailedStatement) else None
            if isinstance(error, ChangefeedStopped) and self.stop and stops_alike(error, text, self.stop):
                self.stopped = True
                break
            found = error_number(error) if error else 0
            if found != expected:
                self.waiting.append(f"{text[:200]}: {expected} expected, {found} {error} found")
            if expected and not found:
                position = before
                continue
            if found and not expected:
                self.ended = True
                break
            results.append(result)
        return position, joined(results)


def stops_alike(error: DdlError, text: str, recorded: str) -> bool:
    """Whether the recorded errors, which hold each other, are the last of those of the simulator, ids aside: a recording's
    program saw some of them without those around."""
    expected = causes(recorded.removeprefix(f"job {text}: "))
    said = causes(f"[{error.code}]{error.text.removesuffix(f' ({text})')}")[-len(expected) :]
    if said and not expected[0].startswith("[CDC:"):
        said[0] = said[0].partition("]")[2]
    return said == expected


def causes(error: str) -> list[str]:
    """The errors that hold each other, without ids."""
    return [cause.strip(": ") for cause in re.split(r"(?=\[CDC:\w+\])", re.sub(r"\d+", "0", error)) if cause]


def played(feed: Feed, uri: str, config: str) -> tuple[Script, list[Sent]]:
    """The script as it was played, and the messages."""
    stop = feed.recorded.get("error", "")
    script = Script(feed.statements, stop)
    with TiCDC(feed.release, sink_uri=uri, config=config or None, databases=(), keep_history=False) as ticdc:
        try:
            ticdc.open_changefeed.play(script)
        except EncodeError as error:
            # releases differ in what follows the first sentence (codecs/large_messages.py)
            if not stop.startswith(f"[{error.code}]{error.text.partition('. ')[0]}"):
                raise
            script.stopped = script.failed = True
        messages = [] if feed.is_stored or script.failed else ticdc.messages()
        schemas = {number: schema.text for number, schema in ticdc.schemas.items()}
    if stop and not script.stopped:
        script.wrong.append(f"the changefeed was expected to stop: {stop}")
    return script, [
        Sent(each.topic, (each.partition,), each.key, each.value, each.commit_ts, schemas) for each in messages
    ]


def recorded_messages(recorded: Json) -> Iterator[Sent]:
    schemas = {int(number): schema["schema"] for number, schema in recorded.get("schemas", {}).items()}
    for each in recorded["messages"]:
        partitions = range(each["partitions"]) if "partitions" in each else (each["partition"],)
        key, value = (None if each[part] is None else base64.b64decode(each[part]) for part in ("key", "value"))
        yield Sent(each["topic"], tuple(partitions), key, value, 0, schemas)


def dated(recorded: Iterable[Sent], sent: Iterable[Sent]) -> Iterator[Sent]:
    """Recorded messages, one for each partition, with the commit-ts of the simulated ones at the same places.

    Not all messages of Avro tell theirs. Watermarks are left out (`compared`), so that they shift no place.
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


# -- messages in one form ---------------------------------------------------------------------------------------------

IGNORED = EVERYTHING - {"claim-check-names"}

BIT = re.compile(r'(?<="t":16,"f":)(\d+),"v":(\d+)')
"""Flags and value of a BIT column in Open Protocol."""

WIDE_BITS = 57
"""BIT of this length and more: the recording's TiDB reverses their bytes (tests/endtoend/README.md)."""

ESCAPES = {"b": "\\u0008", "f": "\\u000c"}
"""As the Go has them that the releases were built with."""

CLAIM_CHECK_NAME = re.compile(r'"(?:ccl|claimCheckLocation)":"([^"]*)"')


def compared(feed: Feed, messages: Iterable[Sent], claims: Mapping[str, bytes]) -> list[ComparedEvent]:
    """The events of messages, in the order of each partition. Watermarks are left out: there is one at the end of a
    recording, and any number where time passes."""
    return [
        replace(_as_recorded(event, feed, claims, sent.schemas), partition=partition)
        for sent in messages
        for event in events_of(
            Message(
                sent.topic,
                sent.partitions[0],
                0,
                sent.commit_ts if feed.protocol == "avro" else 0,
                sent.key,
                sent.value,
            ),
            feed.protocol,
            IGNORED,
            sent.schemas,
        )
        for partition in sent.partitions
    ]


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
    (stored,) = events_of(Message("", 0, 0, 0, key, content), feed.protocol, IGNORED, schemas)
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
        value, parameters = (
            document["fields"][column["name"]],
            type["connect.parameters"] if isinstance(type, dict) else {},
        )
        if isinstance(value, str) and int(parameters.get("length", 0)) >= WIDE_BITS:
            stored = bytes.fromhex(value).rjust(8, b"\0")
            document["fields"][column["name"]] = min(stored, stored[::-1]).hex()
    return json.dumps(document, ensure_ascii=False)


# -- files in one form -------------------------------------------------------------------------------------------------

TSO = re.compile(rb"(?<!\d)4[57]\d{16}(?!\d)")
"""A TSO of a recording or of the simulator's default start."""

DATA = re.compile(
    r"(?P<table>[^/]+/[^/]+)/(?P<version>\d+)(/(?P<partition>\d+))?(/(?P<date>\d{4}(-\d\d){0,2}))?/CDC\d+\..+"
)
WITH_YEAR_ALONE = re.compile(
    r"(?P<table>[^/]+/[^/]+)/(?P<version>\d+)(/(?P<partition>\d+))?/(?P<date>\d{4})/CDC\d+\..+"
)
INDEX = re.compile(r"(.*)/meta/CDC\.index")
COMMIT_TS = re.compile(rb'"commitTs":(\d+)')
STABLE_ROWS = 12
"""Go's sort may change the order of equal rows where there are more (sort.Slice)."""

TransactionRows = Mapping[tuple[str, int, int], Sequence[int]]
"""How many rows each transaction has, by table, number of its version and number of its partition."""


def written_files(directory: Path) -> dict[str, bytes]:
    """The files below a directory."""
    return {
        str(PurePosixPath(path.relative_to(directory))): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file()
    }


def transaction_rows(feeds: Sequence[Json]) -> TransactionRows:
    """The transactions of a case, by its files of Canal-JSON, whose rows say their commit-ts; none without these."""
    files: Json = next((feed["files"] for feed in feeds if feed["name"] == "canal-file"), {})
    return {
        place: [len(list(rows)) for _, rows in groupby(COMMIT_TS.findall(content))]
        for place, content in _directories(recorded_files(files)).items()
    }


def unequal_files(
    expected: Mapping[str, bytes], found: Mapping[str, bytes], lengths: TransactionRows, ended: bool
) -> list[str]:
    """Where files differ; those that were found may end before the expected ones if a script ended. Which partition has
    which place among all ids is not known then."""
    if ended:
        expected, found = (
            {path: text for path, text in files.items() if not _is_of_partition(path)} for files in (expected, found)
        )
    wanted, had = _one_form(expected, lengths), _one_form(found, lengths)
    if ended:
        wanted = {path: content[: len(had[path])] for path, content in wanted.items() if path in had}
    wrong = [f"{path} is missing" for path in sorted(wanted.keys() - had.keys())]
    wrong += [f"{path} is not expected:\n  {had[path][:200]!r}" for path in sorted(had.keys() - wanted.keys())]
    for path in sorted(wanted.keys() & had.keys()):
        one, other = wanted[path], had[path]
        if one != other:
            wrong.append(_difference(path, one, other))
    return wrong


def _is_of_partition(path: str) -> bool:
    place = _place(path)
    return INDEX.fullmatch(path) is not None or place is not None and place["partition"] is not None


def _difference(path: str, one: bytes, other: bytes) -> str:
    at = next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
    start = max(0, at - 150)
    return f"{path} at {at}:\n  {one[start : at + 150]!r} expected,\n  {other[start : at + 150]!r} found"


def _directories(files: Mapping[str, bytes]) -> dict[tuple[str, int, int], bytes]:
    """The rows of each directory, whatever its date, in order."""
    places = {path: place for path in sorted(files) if (place := _place(path))}
    versions = sorted({int(place["version"]) for place in places.values()})
    partitions = _partitions(files)
    joined: dict[tuple[str, int, int], bytes] = {}
    for path, place in places.items():
        number = partitions.index(int(place["partition"])) if place["partition"] else -1
        key = place["table"], versions.index(int(place["version"])), number
        joined[key] = joined.get(key, b"") + files[path]
    return joined


def _partitions(files: Mapping[str, bytes]) -> list[int]:
    return sorted({int(place["partition"]) for place in map(_place, files) if place and place["partition"]})


def _one_form(files: Mapping[str, bytes], lengths: TransactionRows) -> dict[str, bytes]:
    ranks, partitions = _ranks(files), _partitions(files)
    formed: dict[str, bytes] = {}
    for path, content in sorted(files.items()):
        place = _place(path)
        if path == "metadata":
            formed[path] = b"" if json.loads(content).keys() == {"checkpoint-ts"} else content
        elif INDEX.fullmatch(path):
            directory = path.removesuffix("/meta/CDC.index")
            names = [each.removeprefix(f"{directory}/") for each in files if each.startswith(f"{directory}/CDC")]
            if content.decode() != max(names, default="") + "\n":
                formed[path] = content
        elif place:
            number = f"/{partitions.index(int(place['partition']))}" if place["partition"] else ""
            date = "/" + re.sub(r"\d", "0", place["date"]) if place["date"] else ""
            version = ranks[place["version"].encode()].decode()
            directory = f"{place['table']}/{version}{number}{date}{PurePosixPath(path).suffix}"
            formed[directory] = formed.get(directory, b"") + _with_ranks(_plain(content, path), ranks)
        else:
            formed[_with_ranks(path.encode(), ranks).decode()] = _with_ranks(content, ranks)
    versions = sorted({place["version"] for place in map(_place, files) if place})
    ranked = {ranks[version.encode()].decode(): number for number, version in enumerate(versions)}
    for path in [path for path in formed if DIRECTORY.match(path)]:
        table, rank, partition = DIRECTORY.match(path).groups()  # type: ignore[union-attr]
        key = table, ranked[rank], -1 if partition is None else int(partition)
        formed[path] = _with_many_sorted(formed[path], lengths.get(key, ()))
    return formed


DIRECTORY = re.compile(r"([^/]+/[^/]+)/(ts\d+)(?:/(\d{1,3}))?(?:/0000[-0]*)?\.(?:csv|json)$")
"""The name of a directory of rows in one form."""


def _with_many_sorted(content: bytes, lengths: Sequence[int]) -> bytes:
    """Rows, those of a transaction with many of them by text."""
    quote = content[:1]
    pattern = rb"(?:%b(?:[^%b]|%b%b)*%b|[^%b\n])*\n" % ((quote,) * 6) if quote in (b'"', b"'") else rb"[^\n]*\n"
    rows = re.findall(pattern, content)
    if sum(lengths) != len(rows) or max(lengths, default=0) <= STABLE_ROWS:
        return content
    sent = iter(rows)
    each = ([next(sent) for _ in range(length)] for length in lengths)
    return b"".join(row for some in each for row in (sorted(some) if len(some) > STABLE_ROWS else some))


def _place(path: str) -> re.Match[str] | None:
    # without a partition a year alone looks like the id of one
    by_year = WITH_YEAR_ALONE.fullmatch(path)
    return by_year if by_year and 2000 < int(by_year["date"]) < 2100 else DATA.fullmatch(path)


def _ranks(files: Mapping[str, bytes]) -> dict[bytes, bytes]:
    texts = [each for path, content in files.items() if path != "metadata" for each in (path.encode(), content)]
    found = sorted({tso for text in texts for tso in TSO.findall(text)})
    return {tso: b"ts%d" % number for number, tso in enumerate(found)}


def _with_ranks(text: bytes, ranks: Mapping[bytes, bytes]) -> bytes:
    return TSO.sub(lambda tso: ranks[tso[0]], text)


def _plain(content: bytes, path: str) -> bytes:
    """Canal-JSON without the times of building, and with sorted members of maps."""
    if not path.endswith(".json"):
        return content
    text = re.sub(rb'"(es|ts)":\d+', rb'"\1":0', content)
    return re.sub(rb'"(sqlType|mysqlType)":(\{[^{}]*\})', _sorted_map, text)


def _sorted_map(found: re.Match[bytes]) -> bytes:
    return b'"%s":%s' % (found[1], json.dumps(json.loads(found[2]), sort_keys=True).encode())
