"""The outputs of a run or of a changefeed that stays open: a sink, and what it has to be told of each plan.

An output raises for an unreachable broker or existing files when it is created, before anything is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from simulator import signals
from simulator.columns.change_frame import Ints
from simulator.engines.tasks import TaskSpec
from simulator.engines.tasks.control_events import ControlEvents, PlacedDdl, WatermarkSchedule
from simulator.errors import DeliveryError
from simulator.releases import Release
from simulator.run.plan import Plan
from simulator.sinks import SINKS
from simulator.sinks.external_storage import ExternalStorage, NotWritable, absolute_uri
from simulator.sinks.files import begin, commit, discard, empty, write_schemas
from simulator.sinks.kafka import KafkaSettings, of_changefeed
from simulator.sinks.memory import MemorySink, Message, MultiSink
from simulator.sinks.records import Sink, require_delivered
from simulator.sinks.storage import StorageSettings
from simulator.sources.snapshots.pieces import PhysicalTable
from simulator.ticdc.changefeed import Changefeed, Storage
from simulator.ticdc.cloud_storage import StoredTable, schema_events, stored_table
from simulator.ticdc.codecs import CODECS, CodecOptions, DdlEvent, TableInfo
from simulator.ticdc.codecs.schema_registry import SchemaManager
from simulator.ticdc.dispatch import Route, sent_table
from simulator.ticdc.dispatch.destinations import Destinations, TopicGrowth


class Output:
    """A sink that needs nothing but settings, and the destinations of its plan; this one counts records and drops them.

    A run makes a sink in each of its tasks. A changefeed that stays open writes to `sink`, plan after plan.
    """

    storage: Storage | None = None
    """The layout of a storage; None for another sink."""

    def __init__(
        self,
        changefeed: Changefeed,
        name: str = "counting",
        settings: Any = None,
        messages: list[Message] | None = None,
    ) -> None:
        """Besides the sink of that name in SINKS, `sink` appends to `messages` if they are given."""
        self.name, self.settings = name, settings
        self.options = codec_options(changefeed)
        self.schemas = SchemaManager()
        self.notes: tuple[str, ...] = ()
        self.topics: list[str] = []
        """The topics of all plans so far; `sink` shares this list."""

        self.counts: dict[str, int] = {}
        """Partitions by topic."""

        self.destinations = Destinations((), ())
        self.changefeed, self._messages = changefeed, messages

    @cached_property
    def sink(self) -> Sink:
        """The sink of a changefeed that stays open."""
        own = SINKS[self.name](self.settings, self.topics)
        if self._messages is None or self._messages is self.settings:
            return own
        return MultiSink((own, MemorySink(self._messages, self.topics)))

    def for_plan(self, plan: Plan) -> Self:
        """Take the destinations of a plan, whose topics begin with those of the plans before; raises SimulatorError."""
        fresh = plan.topics[len(self.topics) :]
        if fresh:
            self.counts.update(self._prepare(fresh))
            self.topics.extend(fresh)
        counts = tuple(self.counts[topic] for topic in plan.topics)
        self.destinations = Destinations.growing(plan.topics, counts, plan.active, plan.grown)
        return self

    def grow(self, growths: Iterable[TopicGrowth]) -> None:
        """Give topics more partitions now, which the sink of a run does when the first record for them comes."""
        self.counts.update((growth.topic, growth.partitions) for growth in growths)

    def resume(self, since: int) -> None:
        """Go on at the checkpoint of a run that ended early; `for_plan` follows, or `settings_for`."""

    def settings_for(self, tables: Sequence[PhysicalTable], routes: Sequence[Route]) -> Any:
        """Return the settings of the sink for other physical tables than those of its plan."""
        return self.settings

    def task_spec(
        self, statements: Iterable[tuple[DdlEvent, str]], timeline: WatermarkSchedule, release: Release, **fields: Any
    ) -> TaskSpec:
        """Return what the tasks of a run are told; `fields` are those of TaskSpec that the output does not know.

        The statements come with their topics.
        """
        sent, to = self._statements(statements, release), self.destinations
        placed = (
            PlacedDdl(event.commit_ts, index, self._ddl_partitions(event, to.of_topic(topic, event.commit_ts), release))
            for index, (event, topic) in enumerate(sent)
        )
        watermarks = self.storage is not None or CODECS[self.options.protocol].has_watermarks(self.options, release)
        return TaskSpec(
            statements=tuple(event for event, _ in sent),
            control_events=ControlEvents(tuple(placed), timeline, watermarks, release.watermark_after_ddl, to),
            release=release,
            sink=self.name,
            schemas=self.schemas,
            storage=self.storage,
            **{"settings": self.settings, "options": self.options} | fields,
        )

    def barriers(self, control_events: ControlEvents) -> Ints:
        """Return the commit-ts at which the tasks of a run wait until everything older is delivered."""
        return np.zeros(0, np.int64)

    def _statements(
        self, statements: Iterable[tuple[DdlEvent, str]], release: Release
    ) -> Sequence[tuple[DdlEvent, str]]:
        """Return the statements that become messages, or files, with their topics."""
        return list(statements)

    def _ddl_partitions(self, event: DdlEvent, topic: range, release: Release) -> range:
        """Return which partitions of a topic receive a statement."""
        return CODECS[self.options.protocol].ddl_partitions(event, topic, self.options, release)

    def _prepare(self, topics: Sequence[str]) -> Mapping[str, int]:
        """Return the partitions of new topics; raises SimulatorError."""
        return dict.fromkeys(topics, self.changefeed.kafka.partitions)

    @property
    def is_remote(self) -> bool:
        """Whether it has a connection, which is closed while the changefeed is stopped."""
        return self.storage is not None or self.name == "kafka"

    def use(self, changefeed: Changefeed) -> None:
        """Go on with other settings of the changefeed, which leave it the same sink."""
        self.options, self.changefeed = codec_options(changefeed), changefeed

    @property
    def count(self) -> int:
        """The number of messages in memory."""
        return len(self._messages or ())

    def in_order_of(self, count: int, ends: Sequence[int]) -> None:
        """Put the messages behind the first `count` in the order of the statements that end at these commit-ts."""
        if self._messages is not None:
            later = self._messages[count:]
            statements = np.searchsorted(np.array(ends, np.int64), [message.commit_ts for message in later])
            self._messages[count:] = [later[place] for place in np.argsort(statements, kind="stable")]

    def settle(self) -> None:
        """Wait for what was written to `sink`; raises DeliveryError."""
        self.sink.drain()
        if self.sink.failed:
            require_delivered(self.sink.accounts())

    def close(self, complete: bool = True) -> None:
        """Close `sink`; raises DeliveryError for lost records. An incomplete output is discarded."""
        with ended(self, complete):
            require_delivered(self.sink.close())

    def erase(self) -> None:
        """Remove what was sent so far; no task may be writing. Raises DeliveryError."""

    def end(self, complete: bool) -> None:
        """Commit or discard what was written; messages in memory, in Kafka or in a storage stay."""


@contextmanager
def ended(output: Output, complete: bool = True) -> Iterator[Output]:
    """Yield an output that is discarded unless the block succeeds and makes it complete."""
    succeeded = False
    try:
        yield output
        succeeded = complete
    finally:
        with signals.defer_signals():
            output.end(succeeded)


class MemoryOutput(Output):
    """Appends messages to a list."""

    def __init__(self, changefeed: Changefeed, messages: list[Message]) -> None:
        super().__init__(changefeed, "memory", messages, messages)


class FilesOutput(Output):
    """Writes fixture files, which appear under `directory` when the output ends complete.

    `shared` allows more than one sink to write to each file. Raises UserError for a directory of something else.
    """

    def __init__(
        self,
        changefeed: Changefeed,
        directory: Path,
        format: str,
        messages: list[Message] | None = None,
        shared: bool = False,
    ) -> None:
        super().__init__(changefeed, format, messages=messages)
        with signals.defer_signals():
            self.settings = begin(directory, format, shared)

    def move_to(self, directory: Path) -> None:
        """Let the files appear under another directory."""
        self.settings = replace(self.settings, directory=str(directory.absolute()))

    def erase(self) -> None:
        empty(self.settings)

    def end(self, complete: bool) -> None:
        try:
            if complete:
                write_schemas(self.settings, self.schemas.known)
                commit(self.settings, self.counts)
        finally:
            discard(self.settings)


class KafkaOutput(Output):
    """Writes to the changefeed's Kafka.

    Its default topic and those that are given are created at once if they are missing, other ones with their first
    plan. `chosen` are fields of KafkaSettings. Raises DeliveryError if Kafka does not answer.
    """

    def __init__(
        self, changefeed: Changefeed, topics: Iterable[str] = (), messages: list[Message] | None = None, **chosen: Any
    ) -> None:
        from simulator.sinks.kafka.admin import prepare_topics

        super().__init__(changefeed, "kafka", kafka_settings(changefeed, **chosen), messages)
        self.schemas = _registered(changefeed)
        ready = prepare_topics(self.settings, self._wanted(topics))
        self.settings, self.notes, self._ready = ready.settings, ready.notes, dict(ready.partitions)
        self.options = replace(self.options, max_message_bytes=ready.max_message_bytes)

    def for_plan(self, plan: Plan) -> Self:
        super().for_plan(plan)
        grown = tuple((growth.topic, growth.partitions) for growth in plan.grown)
        self.settings = replace(self.settings, grown=grown)
        return self

    def barriers(self, control_events: ControlEvents) -> Ints:
        return control_events.barriers

    def grow(self, growths: Iterable[TopicGrowth]) -> None:
        from simulator.sinks.kafka.admin import grow_topic

        for growth in growths:
            grow_topic(self.settings, growth.topic, growth.partitions)
            super().grow([growth])

    def _wanted(self, topics: Iterable[str]) -> dict[str, int | None]:
        default = {self.changefeed.topic: self.changefeed.kafka.partition_num}
        return {**default, **dict.fromkeys(topics), **default}

    def _prepare(self, topics: Sequence[str]) -> Mapping[str, int]:
        from simulator.sinks.kafka.admin import prepare_topics

        if all(topic in self._ready for topic in topics):
            return self._ready
        return prepare_topics(kafka_settings(self.changefeed), self._wanted(topics)).partitions


class StorageOutput(Output):
    """Writes files to the changefeed's storage, at DDL and at checkpoints.

    Raises DeliveryError if the storage cannot be written to.
    """

    def __init__(self, changefeed: Changefeed, release: Release) -> None:
        assert changefeed.storage is not None
        self.storage = changefeed.storage
        extension = CODECS[changefeed.codec.protocol].file_extension
        self._tables: list[StoredTable] = []
        super().__init__(changefeed, "storage", StorageSettings(self.storage, release, extension, self._tables))
        try:
            ExternalStorage(self.storage.uri, "sink-uri").require_writable()
        except NotWritable as error:
            raise DeliveryError(*error.args) from error

    def for_plan(self, plan: Plan) -> Self:
        known = len(self._tables)
        self._tables += self._stored_tables(plan.tables[known:], plan.routes[known:])
        return super().for_plan(plan)

    def resume(self, since: int) -> None:
        self._tables.clear()
        self.settings = replace(self.settings, since=since)

    def settings_for(self, tables: Sequence[PhysicalTable], routes: Sequence[Route]) -> Any:
        return replace(self.settings, tables=tuple(self._stored_tables(tables, routes)))

    def barriers(self, control_events: ControlEvents) -> Ints:
        return control_events.times()

    def settle(self) -> None:
        """Raise DeliveryError for a file that could not be written; rows wait for the next checkpoint."""
        if self.sink.failed:
            require_delivered(self.sink.accounts())

    def _statements(
        self, statements: Iterable[tuple[DdlEvent, str]], release: Release
    ) -> Sequence[tuple[DdlEvent, str]]:
        assert self.storage is not None
        return [(each, topic) for event, topic in statements for each in schema_events([event], self.storage, release)]

    def _ddl_partitions(self, event: DdlEvent, topic: range, release: Release) -> range:
        """Return the first partition: a statement is one file."""
        return topic[:1]

    def _stored_tables(self, tables: Sequence[PhysicalTable], routes: Sequence[Route]) -> Iterator[StoredTable]:
        """Yield where the rows of physical tables are stored."""
        codec, settings = CODECS[self.options.protocol], self.settings
        for physical, to in zip(tables, routes, strict=True):
            table = sent_table(to, physical.table)
            # where schema files are beside rows, a restart begins versions (cdc/processor/processor.go ddlStartTs)
            begun = physical.snapshot_version if settings.release.storage_schema_names else settings.since
            info = TableInfo(table, physical.table_id, physical.version, max(physical.snapshot_version, begun))
            header = codec.file_header(table, to.selected, self.options, settings.release)
            yield stored_table(info, physical.partition_id, settings.storage, settings.release, header)


def kafka_settings(changefeed: Changefeed, **chosen: Any) -> KafkaSettings:
    """Return the settings of the Kafka sink, with the chosen fields; paths of TLS files become absolute."""
    settings = of_changefeed(changefeed.kafka)
    ca, cert, key = map(absolute_uri, (settings.tls.ca, settings.tls.cert, settings.tls.key))
    return replace(
        settings,
        tls=replace(settings.tls, ca=ca, cert=cert, key=key),
        max_message_bytes=changefeed.codec.max_message_bytes,
        **chosen,
    )


def codec_options(changefeed: Changefeed) -> CodecOptions:
    """Return the codec's options with an absolute claim-check path, as tasks may run in other directories."""
    codec = changefeed.codec
    return replace(codec, claim_check_storage_uri=absolute_uri(codec.claim_check_storage_uri))


def _registered(changefeed: Changefeed) -> SchemaManager:
    """Return the schemas of the changefeed's registry; raise DeliveryError if it does not answer."""
    if not CODECS[changefeed.codec.protocol].needs_registry:
        return SchemaManager()
    from simulator.sinks.schema_registry import ConfluentRegistry  # it takes long, and few protocols need it

    tls = changefeed.kafka.tls if changefeed.codec.schema_registry_tls else None
    registry = ConfluentRegistry(changefeed.codec.schema_registry, tls)
    registry.check()
    return SchemaManager(registry)
