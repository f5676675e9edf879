"""A changefeed before it is served: what a user asks of it, the changefeed that this comes to, where its messages go, and
what it has sent since somebody asked; TiCDC's errors about it.

Messages go to what the sink-uri names, to fixtures, or nowhere but memory.
"""

from __future__ import annotations

import json
import posixpath
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from simulator.errors import ChangefeedError, CodedError, SimulatorError, UserError, uri_without_secrets
from simulator.files import parse_toml
from simulator.reader.decode import Event, Watermark
from simulator.reader.event_lines import MessageReader
from simulator.reader.storage.directory import StorageDirectory
from simulator.reader.storage.events import FileEvent
from simulator.reader.storage.events import events as events_of_files
from simulator.reader.storage.listing import StorageListing
from simulator.reader.storage.schema_files import TableSchema
from simulator.releases import Release
from simulator.run.open_changefeed import OpenChangefeed
from simulator.run.outputs import FilesOutput, KafkaOutput, MemoryOutput, Output, StorageOutput
from simulator.settings import DEFAULT_SINK_URI
from simulator.sinks.external_storage import ExternalStorage
from simulator.sinks.kafka import KafkaSettings
from simulator.sinks.memory import Message
from simulator.ticdc.changefeed import Changefeed, load, load_file
from simulator.ticdc.codecs import Schema

Config = str | Path | Mapping[str, Any] | None
"""TiCDC's changefeed.toml: a path, its text (with a line break or `=` in it), or a mapping."""


BLACKHOLE = "blackhole"
"""The scheme of a sink that drops everything."""


@dataclass(frozen=True)
class ChangefeedSpec:
    """A changefeed as it was asked for."""

    name: str
    """Its id, which is unique in its namespace."""

    sink_uri: str = field(repr=False)
    """`kafka://…`, the URI of a storage, or `blackhole://`."""

    config: Config = None
    start_ts: int = 0
    """A TSO, above which commits are sent; 0 for now."""

    target_ts: int = 0
    """The last TSO of which anything is sent; 0 for none."""

    namespace: str = "default"
    ignores_ineligible_tables: bool = False
    """Whether it is created although tables that it would replicate have no valid index."""

    @property
    def id(self) -> str:
        """As TiCDC prints it."""
        return f"{self.namespace}/{self.name}"


def compiled(
    sink_uri: str | None, config: Config, release: Release, assumed: str = DEFAULT_SINK_URI, time_zone: str = ""
) -> Changefeed:
    """Return the changefeed of a sink-uri and a configuration, as `simulator.ticdc.changefeed.load`.

    One of `blackhole://` is encoded as one of Kafka, in Open Protocol if no protocol is asked for. Raises ChangefeedError
    if TiCDC rejects it.
    """
    if sink_uri is not None and sink_uri.lower().startswith(f"{BLACKHOLE}:"):
        query = sink_uri.partition("?")[2]
        kafka = f"kafka://127.0.0.1:9092/{BLACKHOLE}?{query}"
        asks = "protocol" in parse_qs(query)
        as_kafka = compiled(kafka if asks else None, config, release, f"{kafka}&protocol=open-protocol", time_zone)
        return replace(as_kafka, scheme=BLACKHOLE, sink_uri=sink_uri)
    if isinstance(config, Mapping):
        return load(sink_uri, config_text(config), release, assumed=assumed, time_zone=time_zone)
    if isinstance(config, str) and ("\n" in config or "=" in config):
        return load(sink_uri, config, release, assumed=assumed, time_zone=time_zone)
    return load_file(sink_uri, config, release, assumed, time_zone)


def require_no_rule_file(config: Config) -> None:
    """Raise ChangefeedError for a configuration, or its text, whose filter has rules in a file, as `@rules.txt`, of which
    errors would tell the content."""
    with suppress(ValueError):  # `compiled` says what is wrong
        config = parse_toml(config) if isinstance(config, str) else config
    table = config.get("filter") if isinstance(config, Mapping) else None
    rules = table.get("rules") if isinstance(table, Mapping) else None
    if isinstance(rules, list | tuple) and any(str(rule).strip().startswith("@") for rule in rules):
        raise ChangefeedError("filter rules in a file are not read by a server", "CDC:ErrFilterRuleInvalid")


def require_allowed(changefeed: Changefeed, places: Collection[str]) -> None:
    """Raise ChangefeedError for a changefeed that writes files anywhere but in these directories or below these URIs."""
    allowed = [_place(each) for each in places]
    uris = [changefeed.codec.claim_check_storage_uri, changefeed.storage.uri if changefeed.storage else ""]
    for uri in filter(None, uris):
        if not any(f"{_place(uri)}/".startswith(f"{place}/") for place in allowed):
            text = (
                f"storage sink config invalid: {uri_without_secrets(uri)}: changefeeds of this server may not write there; "
                f"accepted: {', '.join(places) or 'none'} (--allow-storage)"
            )
            raise ChangefeedError(text, "CDC:ErrStorageSinkInvalidConfig")


def _place(uri: str) -> str:
    """Return a directory or URI in one form, without its parameters: links are followed, and `..` is gone. A path with a
    null byte is none, and stays as it is."""
    parts = urlsplit(uri)
    path = unquote(parts.path)
    if parts.scheme in ("", "file", "local") and "\0" not in path:
        return str(Path(parts.netloc + path).resolve())
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{posixpath.normpath('/' + unquote(parts.path))}".rstrip(
        "/"
    )


def config_text(config: Mapping[str, Any]) -> str:
    """Return the text of a changefeed.toml."""
    return "".join(f"{json.dumps(key)} = {_toml(value)}\n" for key, value in config.items())


def _toml(value: object) -> str:
    """Return a TOML value on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{json.dumps(key)} = {_toml(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


ERRORS = {
    "ErrAPIInvalidParam": "{}",
    "ErrChangeFeedAlreadyExists": "changefeed already exists, {}",
    "ErrChangeFeedNotExists": "changefeed not exists, {}",
    "ErrChangefeedUpdateRefused": "changefeed update error: {}",
    "ErrSnapshotLostByGC": (
        "fail to create or maintain changefeed due to snapshot loss caused by GC. checkpoint-ts {} is earlier than or "
        "equal to GC safepoint at {}"
    ),
    "ErrStartTsBeforeGC": (
        "fail to create or maintain changefeed because start-ts {} is earlier than or equal to GC safepoint at {}"
    ),
    "ErrTableIneligible": (
        "some tables are not eligible to replicate({}), if you want to ignore these tables, please set "
        "ignore_ineligible_table to true"
    ),
    "ErrTargetTsBeforeStartTs": "fail to create changefeed because target-ts {} is earlier than start-ts {}",
}
"""TiCDC's texts about changefeeds (tiflow v8.5.4 pkg/errors/cdc_errors.go)."""


def changefeed_error(name: str, *values: object) -> ChangefeedError:
    """Return the error of that name in ERRORS; its code is `CDC:` and the name."""
    return ChangefeedError(ERRORS[name].format(*values), f"CDC:{name}")


def text_of(error: SimulatorError) -> str:
    """Return an error's text as TiCDC writes it: no blank stands behind the code."""
    return f"[{error.code}]{error.text}" if isinstance(error, CodedError) and error.code else str(error)


@dataclass(frozen=True)
class Sinks:
    """How the sink of a changefeed is chosen."""

    sends: bool = False
    """Whether messages go to Kafka; if not, and without `fixtures`, they stay in memory."""

    fixtures: Path | None = None
    """The directory of a changefeed's messages in place of Kafka."""

    fixtures_format: str = "jsonl"
    kafka_timeout: float = KafkaSettings.silence
    """Seconds without an acknowledgement after which Kafka counts as gone."""

    storages: Collection[str] | None = None
    """The directories and URIs to which changefeeds may write files; None for any."""

    def output(self, changefeed: Changefeed, release: Release, messages: list[Message]) -> Output:
        """Return a changefeed's output, which appends to `messages`, too, unless it writes files to a storage.

        Raises UserError for fixtures of a storage and for a directory of something else, DeliveryError if Kafka or the
        storage does not answer.
        """
        if changefeed.storage is not None:
            if self.fixtures is not None:
                raise UserError("fixtures hold the messages of Kafka: a storage sink writes the files of its sink-uri")
            return StorageOutput(changefeed, release)
        if changefeed.scheme == BLACKHOLE:
            return Output(changefeed, messages=messages)
        if self.fixtures is not None:
            return FilesOutput(changefeed, self.fixtures, self.fixtures_format, messages)
        if self.sends:
            return KafkaOutput(changefeed, messages=messages, silence=self.kafka_timeout)
        return MemoryOutput(changefeed, messages)

    def of(self, name: str, namespace: str) -> Sinks:
        """Return those of one changefeed among several: each has a directory of fixtures of its own."""
        if namespace != "default":
            name = f"{namespace}.{name}"
        return self if self.fixtures is None else replace(self, fixtures=self.fixtures / name)


class SentMessages:
    """The last messages of a changefeed, numbered from 0."""

    def __init__(self, most: int) -> None:
        self.most, self.next_number = most, 0
        """The number of the next message."""

        self._kept: deque[Message] = deque(maxlen=most)

    def extend(self, messages: Sequence[Message]) -> None:
        self._kept.extend(messages)
        self.next_number += len(messages)

    def since(self, number: int) -> list[tuple[int, Message]]:
        """Return the messages from that number on that are kept, with their numbers."""
        kept = list(self._kept)
        first = self.next_number - len(kept)
        return [(place, kept[place - first]) for place in range(max(number, first), self.next_number)]

    def get(self, number: int) -> Message | None:
        """Return a message; None for one that is not kept."""
        return next((message for place, message in self.since(number)[:1] if place == number), None)


class ChangefeedStream:
    """What a changefeed sends, whichever `live` one sends it: it may begin again at its checkpoint."""

    def __init__(self, live: OpenChangefeed, sent: list[Message], most_shown: int = 0) -> None:
        """The output of the open changefeed appends to `sent`. `shown` keeps so many of the last messages."""
        self.live, self.sent, self.shown = live, sent, SentMessages(most_shown)
        self.is_open = True
        """Whether its output is; one in memory or of fixtures stays open."""

        self._noted = 0
        """How many of `sent` are in `shown`."""

        self._protocol = self.changefeed.codec.protocol
        self.reader = MessageReader(self._protocol)
        self._read: set[tuple[str, int]] = set()
        """Paths and row numbers of the events of files that `events` has returned."""

    def renew(self, live: OpenChangefeed) -> None:
        """Go on with another open changefeed, whose output appends to `sent`, too."""
        self.live, self.is_open = live, True
        if self.changefeed.codec.protocol != self._protocol:
            self._protocol = self.changefeed.codec.protocol
            self.reader = MessageReader(self._protocol)

    def close(self, complete: bool) -> None:
        """Close the output, if it is open. Raises DeliveryError."""
        if self.is_open:
            self.is_open = False
            self.live.close(complete)

    @property
    def changefeed(self) -> Changefeed:
        return self.live.output.changefeed

    @property
    def schemas(self) -> dict[int, Schema]:
        """The schemas that messages name, by id; empty in protocols without a registry."""
        return dict(self.live.output.schemas.known)

    @property
    def schema_texts(self) -> dict[int, str]:
        return {number: schema.text for number, schema in self.live.output.schemas.known.items()}

    def messages(self, watermark: bool = True) -> list[Message]:
        """Return the messages since the last call, as `TiCDC.messages` does. Raises UserError for a changefeed that writes
        files."""
        taken = self._taken(watermark)
        for message in taken:
            self.reader.skip(message)
        return taken

    def events(self, watermark: bool = True) -> list[Event]:
        """Return the events since the last call, as `TiCDC.events` does. Raises UserError."""
        if self.changefeed.storage is not None:
            return self._new_file_events(watermark)
        messages = self._taken(watermark)
        return [event for message in messages for event in self.reader.events(message, self.schema_texts)]

    def files(self, watermark: bool = True) -> dict[str, bytes]:
        """Return the files of the storage by their paths, as `TiCDC.files` does. Raises UserError for a changefeed that sends
        messages."""
        if self.changefeed.storage is None:
            raise UserError("there are no files: the changefeed sends messages to Kafka; `messages` returns them")
        if watermark:
            self.live.resolve()
        storage = self._storage
        return {path: storage.read(path) or b"" for path, _ in sorted(storage.files())}

    def file_events(self) -> Iterator[FileEvent]:
        """Yield the events of all files so far."""
        return events_of_files(StorageDirectory(StorageListing(self._storage), self.changefeed))

    @property
    def _storage(self) -> ExternalStorage:
        assert self.changefeed.storage is not None, "its files were asked for"
        return ExternalStorage(self.changefeed.storage.uri, "sink-uri")

    def _taken(self, watermark: bool) -> list[Message]:
        if self.changefeed.storage is not None:
            raise UserError("there are no messages: the changefeed writes files to its storage; `events` reads them")
        self.live.deliver()
        if watermark:
            self.live.resolve()
        return self.take()

    def take(self) -> list[Message]:
        """Return the messages since the last call, as many as are sent, with their offsets in Kafka."""
        self.note()
        taken = self._placed(self.sent)
        self.sent.clear()
        self._noted = 0
        return taken

    def note(self) -> None:
        """Let `shown` have the messages so far."""
        fresh = self.sent[self._noted :]
        self.shown.extend(self._placed(fresh) if self.shown.most else fresh)
        self._noted = len(self.sent)

    def _placed(self, messages: Sequence[Message]) -> list[Message]:
        """Return messages with their offsets in Kafka."""
        bases = self._first_offsets() if messages else {}
        return [
            replace(message, offset=message.offset + bases.get((message.topic, message.partition), 0))
            for message in messages
        ]

    def _new_file_events(self, watermark: bool) -> list[Event]:
        if watermark:
            self.live.resolve()
        events: list[Event] = []
        for each in self.file_events():
            if isinstance(each.event, UserError):
                raise UserError(f"{each.path}: {each.event}")
            if (each.path, each.row) not in self._read and not isinstance(each.event, TableSchema):
                events.append(each.event)
                if not isinstance(each.event, Watermark):
                    self._read.add((each.path, each.row))
        return events

    def _first_offsets(self) -> dict[tuple[str, int], int]:
        output = self.live.output
        return {
            (output.topics[account.topic], account.partition): account.first_offset or 0
            for account in output.sink.accounts()
        }
