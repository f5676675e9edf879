"""An open changefeed and what it has sent since somebody asked: its messages, its events, its files."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace

from simulator.errors import UserError
from simulator.reader.decode import Event, Watermark
from simulator.reader.event_lines import MessageReader
from simulator.reader.storage.directory import StorageDirectory
from simulator.reader.storage.events import FileEvent
from simulator.reader.storage.events import events as events_of_files
from simulator.reader.storage.schema_files import TableSchema
from simulator.run.open_changefeed import OpenChangefeed
from simulator.sinks.external_storage import ExternalStorage
from simulator.sinks.memory import Message
from simulator.ticdc.changefeed import Changefeed
from simulator.ticdc.codecs import Schema


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
        """Return the messages since the last call, in the order of sending.

        They end with a watermark above everything so far in every partition, if the protocol has watermarks, unless
        `watermark` is false. Raises UserError for a changefeed that writes files.
        """
        taken = self._taken(watermark)
        for message in taken:
            self.reader.skip(message)
        return taken

    def events(self, watermark: bool = True) -> list[Event]:
        """Return `messages` decoded: `RowEvent`, `DdlEvent` and `Watermark` of `simulator.reader.decode`.

        Of a changefeed that writes files, they are those of new files and of `metadata`, table version by table version.
        Raises UserError for a file that cannot be read.
        """
        if self.changefeed.storage is not None:
            return self._new_file_events(watermark)
        messages = self._taken(watermark)
        return [event for message in messages for event in self.reader.events(message, self.schema_texts)]

    def files(self, watermark: bool = True) -> dict[str, bytes]:
        """Return the files of the storage by their paths, sorted.

        They have all rows so far, and `metadata` is above them, unless `watermark` is false.
        Raises UserError for a changefeed that sends messages.
        """
        if self.changefeed.storage is None:
            raise UserError("there are no files: the changefeed sends messages to Kafka; `messages` returns them")
        if watermark:
            self.live.resolve()
        storage = ExternalStorage(self.changefeed.storage.uri, "sink-uri")
        return {path: storage.read(path) or b"" for path, _ in sorted(storage.files())}

    def file_events(self) -> Iterator[FileEvent]:
        """Yield the events of all files so far."""
        assert self.changefeed.storage is not None
        storage = ExternalStorage(self.changefeed.storage.uri, "sink-uri")
        return events_of_files(StorageDirectory(storage, self.changefeed))

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
