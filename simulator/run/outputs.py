"""The outputs of a run: fixture files, Kafka, the console, memory, or a counter.

An output raises for an unreachable broker or existing files when it is created, before anything is sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from simulator import signals
from simulator.channel import DriverAddress
from simulator.errors import DeliveryError
from simulator.releases import Release
from simulator.run.plan import Plan
from simulator.sinks import SINKS, claim_check
from simulator.sinks.external_storage import ExternalStorage, NotWritable
from simulator.sinks.files.directory import begin, commit, discard, empty, write_schemas
from simulator.sinks.files.settings import FileSettings
from simulator.sinks.kafka.settings import KafkaSettings, of_changefeed
from simulator.sinks.memory import MemorySink, Message
from simulator.sinks.multi_sink import MultiSink
from simulator.sinks.records import Sink, require_delivered
from simulator.sinks.storage.settings import StorageSettings
from simulator.sources.snapshots.physical import PhysicalTable
from simulator.ticdc.changefeed import Changefeed, Storage
from simulator.ticdc.codecs import CODECS, CodecOptions, DdlEvent, TableInfo
from simulator.ticdc.codecs.schema_registry import SchemaManager
from simulator.ticdc.dispatch import Destinations, Route, sent_table
from simulator.ticdc.storage import StoredTable, schema_events, stored_table


@dataclass(frozen=True)
class Output:
    """The sink of a run's records and their destinations."""

    sink: str
    """Its name in SINKS."""

    settings: object
    destinations: Destinations
    options: CodecOptions
    notes: tuple[str, ...] = ()
    schemas: SchemaManager = field(default_factory=SchemaManager)

    @property
    def storage(self) -> Storage | None:
        """The layout of a storage sink; None for another one."""
        return self.settings.storage if isinstance(self.settings, StorageSettings) else None

    def emptied(self) -> bool:
        """Discard what was sent so far, if it is nowhere but in files of this run; return whether it is."""
        if not isinstance(self.settings, FileSettings):
            return False
        empty(self.settings)
        return True

    def with_schema_files(
        self, statements: Iterable[tuple[DdlEvent, str]], release: Release
    ) -> list[tuple[DdlEvent, str]]:
        """Return statements and their topics; a storage has those that are in files."""
        if self.storage is None:
            return list(statements)
        return [(each, topic) for event, topic in statements for each in schema_events([event], self.storage, release)]

    def ddl_partitions(self, event: DdlEvent, topic: range, release: Release) -> range:
        """Return which partitions of a topic receive a statement; of a storage, where it is a file, the first one."""
        if self.storage is not None:
            return topic[:1]
        return CODECS[self.options.protocol].ddl_partitions(event, topic, self.options, release)

    def settings_for(self, tables: Sequence[PhysicalTable], routes: Sequence[Route], release: Release) -> object:
        """Return the settings of the sink for other physical tables than those of its plan."""
        if not isinstance(self.settings, StorageSettings):
            return self.settings
        return replace(self.settings, tables=tuple(_stored_tables(tables, routes, self.settings, self.options)))


@contextmanager
def to_fixtures(
    plan: Plan, changefeed: Changefeed, directory: Path, format: str, shared: bool = False
) -> Iterator[Output]:
    """Write fixture files, which appear under `directory` only if the block succeeds.

    `shared` allows more than one sink to write to each file.
    """
    counts = dict.fromkeys(plan.topics, changefeed.kafka.partitions)
    schemas = SchemaManager()
    with ExitStack() as undo:
        with signals.defer_signals():
            settings = begin(directory, format, shared)
            undo.callback(signals.defer_signals()(discard), settings)
        yield Output(format, settings, _destinations(plan, counts), codec_options(changefeed), schemas=schemas)
        with signals.defer_signals():
            write_schemas(settings, schemas.known)
            commit(settings, counts)


def to_kafka(
    plan: Plan, changefeed: Changefeed, prepared_batches: bool = True, driver: str = KafkaSettings.driver
) -> Output:
    """Write to the changefeed's Kafka, creating missing topics; raises DeliveryError if it does not answer."""
    from simulator.sinks.kafka.admin import prepare_topics

    schemas = _registered(changefeed)
    settings = kafka_settings(changefeed, prepared_batches, driver)
    wanted = {topic: changefeed.kafka.partition_num if topic == changefeed.topic else None for topic in plan.topics}
    ready = prepare_topics(settings, wanted)
    options = replace(codec_options(changefeed), max_message_bytes=ready.max_message_bytes)
    grown = tuple((growth.topic, growth.partitions) for growth in plan.grown)
    to = _destinations(plan, ready.partitions)
    return Output("kafka", replace(ready.settings, grown=grown), to, options, ready.notes, schemas)


def to_console(plan: Plan, changefeed: Changefeed, driver: DriverAddress) -> Output:
    """Write to the `ConsoleServer` at that address."""
    return replace(to_nowhere(plan, changefeed), sink="console", settings=driver)


def to_nowhere(plan: Plan, changefeed: Changefeed) -> Output:
    """Count the records, and drop them."""
    counts = dict.fromkeys(plan.topics, changefeed.kafka.partitions)
    return Output("counting", None, _destinations(plan, counts), codec_options(changefeed))


def kafka_settings(
    changefeed: Changefeed, prepared_batches: bool = True, driver: str = KafkaSettings.driver
) -> KafkaSettings:
    """Return the settings of the Kafka sink; paths of TLS files become absolute."""
    settings = of_changefeed(changefeed.kafka)
    ca, cert, key = map(claim_check.absolute, (settings.tls.ca, settings.tls.cert, settings.tls.key))
    return replace(
        settings,
        tls=replace(settings.tls, ca=ca, cert=cert, key=key),
        max_message_bytes=changefeed.codec.max_message_bytes,
        driver=driver,
        prepared_batches=prepared_batches,
    )


def resumed(output: Output, tables: Sequence[PhysicalTable], routes: Sequence[Route], since: int) -> Output:
    """Return an output to which a run goes on that ended early, at its checkpoint."""
    if not isinstance(output.settings, StorageSettings):
        return output
    settings = replace(output.settings, since=since)
    return replace(
        output, settings=replace(settings, tables=tuple(_stored_tables(tables, routes, settings, output.options)))
    )


def codec_options(changefeed: Changefeed) -> CodecOptions:
    """Return the codec's options with an absolute claim-check path, as tasks may run in other directories."""
    codec = changefeed.codec
    return replace(codec, claim_check_storage_uri=claim_check.absolute(codec.claim_check_storage_uri))


def _destinations(plan: Plan, counts: Mapping[str, int]) -> Destinations:
    return Destinations.growing(plan.topics, tuple(counts[topic] for topic in plan.topics), plan.active, plan.grown)


def _registered(changefeed: Changefeed) -> SchemaManager:
    """Return the schemas of the changefeed's registry; raise DeliveryError if it does not answer."""
    if not CODECS[changefeed.codec.protocol].needs_registry:
        return SchemaManager()
    from simulator.sinks.schema_registry import ConfluentRegistry  # it takes long, and few protocols need it

    tls = changefeed.kafka.tls if changefeed.codec.schema_registry_tls else None
    registry = ConfluentRegistry(changefeed.codec.schema_registry, tls)
    registry.check()
    return SchemaManager(registry)


def to_storage(plan: Plan, changefeed: Changefeed, release: Release) -> Output:
    """Write to the changefeed's storage; raises DeliveryError if it cannot be written to."""
    settings = storage_settings(changefeed, release)
    _require_writable(settings)
    counts = dict.fromkeys(plan.topics, changefeed.kafka.partitions)
    options = codec_options(changefeed)
    tables = tuple(_stored_tables(plan.tables, plan.routes, settings, options))
    return Output("storage", replace(settings, tables=tables), _destinations(plan, counts), options)


def _require_writable(settings: StorageSettings) -> None:
    try:
        ExternalStorage(settings.storage.uri, "sink-uri").require_writable("sink-uri")
    except NotWritable as error:
        raise DeliveryError(*error.args) from error


def storage_settings(changefeed: Changefeed, release: Release) -> StorageSettings:
    """Return the settings of the storage sink, without tables."""
    assert changefeed.storage is not None
    return StorageSettings(changefeed.storage, release, CODECS[changefeed.codec.protocol].file_extension, ())


def _stored_tables(
    tables: Sequence[PhysicalTable], routes: Sequence[Route], settings: StorageSettings, options: CodecOptions
) -> Iterator[StoredTable]:
    """Yield where the rows of physical tables are stored."""
    codec, release = CODECS[options.protocol], settings.release
    for physical, to in zip(tables, routes, strict=True):
        table = sent_table(to, physical.table)
        # where schema files are beside rows, a restart begins versions (cdc/processor/processor.go ddlStartTs)
        begun = physical.snapshot_version if release.storage_schema_names else settings.since
        info = TableInfo(table, physical.table_id, physical.version, max(physical.snapshot_version, begun))
        header = codec.file_header(table, to.selected, options, release)
        yield stored_table(info, physical.partition_id, settings.storage, release, header)


class MemoryOutput:
    """An output of an open changefeed, to which topics may be added; it appends messages to a list."""

    def __init__(self, changefeed: Changefeed, messages: list[Message]) -> None:
        self.topics: list[str] = []
        """The topics added so far; the sink shares this list."""

        self.counts: dict[str, int] = {}
        """Partitions by topic."""

        self.name = "memory"
        self.sink: Sink = MemorySink(messages, self.topics)
        self.options = codec_options(changefeed)
        self.schemas = SchemaManager()
        self._changefeed = changefeed
        self._messages = messages

    def in_order_of(self, count: int, ends: Sequence[int]) -> None:
        """Put the messages behind the first `count` in the order of the statements that end at these commit-ts."""
        later = self._messages[count:]
        statements = np.searchsorted(np.array(ends, np.int64), [message.commit_ts for message in later])
        self._messages[count:] = [later[place] for place in np.argsort(statements, kind="stable")]

    @property
    def count(self) -> int:
        """The number of messages in memory."""
        return len(self._messages)

    def for_plan(self, plan: Plan) -> Output:
        """Return the output of a plan, whose topics begin with the known ones; raises SimulatorError."""
        fresh = plan.topics[len(self.topics) :]
        if fresh:
            self.counts.update(self._prepare(fresh))
            self.topics.extend(fresh)
        destinations = _destinations(plan, self.counts)
        for growth in plan.grown:
            self._grow(growth.topic, growth.partitions)
            self.counts[growth.topic] = growth.partitions
        return Output(self.name, self._settings_for(plan), destinations, self.options, schemas=self.schemas)

    def _settings_for(self, plan: Plan) -> object:
        """Return the settings of the sink that tasks need."""
        return None

    def settle(self) -> None:
        """Wait for what a step sent; raises DeliveryError."""
        self.sink.drain()
        if self.sink.failed:
            require_delivered(self.sink.accounts())

    def close(self, complete: bool = True) -> None:
        """Close the sink; raises DeliveryError for lost records. An incomplete output is discarded."""
        succeeded = False
        try:
            require_delivered(self.sink.close())
            succeeded = complete
        finally:
            with signals.defer_signals():
                self._end(succeeded)

    def _prepare(self, topics: Sequence[str]) -> Mapping[str, int]:
        """Return the partitions of new topics."""
        return dict.fromkeys(topics, self._changefeed.kafka.partitions)

    def _grow(self, topic: str, partitions: int) -> None:
        """Give a topic more partitions; memory and files need nothing for that."""

    def _end(self, succeeded: bool) -> None:
        """Commit or discard what was written; messages in memory stay."""


class FixturesOutput(MemoryOutput):
    """Also writes fixture files, which appear under `directory` when the output is closed."""

    def __init__(self, changefeed: Changefeed, messages: list[Message], directory: Path, format: str) -> None:
        super().__init__(changefeed, messages)
        with signals.defer_signals():
            self._settings = begin(directory, format)
        self.name = format
        self.sink = MultiSink((SINKS[format](self._settings, self.topics), self.sink))

    def _end(self, succeeded: bool) -> None:
        if succeeded:
            write_schemas(self._settings, self.schemas.known)
            commit(self._settings, self.counts)
        else:
            discard(self._settings)


class KafkaOutput(MemoryOutput):
    """Also writes to the changefeed's Kafka.

    Its default topic is created at once if it is missing, other topics with their first plan. It fails if Kafka
    acknowledges nothing for `timeout` seconds. Raises DeliveryError if Kafka does not answer.
    """

    def __init__(self, changefeed: Changefeed, messages: list[Message], timeout: float = KafkaSettings.silence) -> None:
        from simulator.sinks.kafka.admin import prepare_topics

        super().__init__(changefeed, messages)
        self.schemas = _registered(changefeed)
        self._default = {changefeed.topic: changefeed.kafka.partition_num}
        self._ready = prepare_topics(replace(kafka_settings(changefeed), silence=timeout), self._default)
        self.name = "kafka"
        self.sink = MultiSink((SINKS["kafka"](self._ready.settings, self.topics), self.sink))
        self.options = replace(self.options, max_message_bytes=self._ready.max_message_bytes)

    def _prepare(self, topics: Sequence[str]) -> Mapping[str, int]:
        from simulator.sinks.kafka.admin import prepare_topics

        if all(topic in self._ready.partitions for topic in topics):
            return self._ready.partitions
        wanted: dict[str, int | None] = {**self._default, **dict.fromkeys(topics), **self._default}
        return prepare_topics(kafka_settings(self._changefeed), wanted).partitions

    def _grow(self, topic: str, partitions: int) -> None:
        from simulator.sinks.kafka.admin import grow_topic

        grow_topic(self._ready.settings, topic, partitions)


class StorageOutput(MemoryOutput):
    """Writes files to the changefeed's storage, at DDL and at checkpoints; keeps no messages in memory.

    Raises DeliveryError if the storage cannot be written to.
    """

    def __init__(self, changefeed: Changefeed, release: Release) -> None:
        super().__init__(changefeed, [])
        self._tables: list[StoredTable] = []
        self._stored = replace(storage_settings(changefeed, release), tables=self._tables)
        _require_writable(self._stored)
        self.name = "storage"
        self.sink = SINKS["storage"](self._stored, self.topics)

    def settle(self) -> None:
        """Raise DeliveryError for a file that could not be written; rows wait for the next checkpoint."""
        if self.sink.failed:
            require_delivered(self.sink.accounts())

    def _settings_for(self, plan: Plan) -> object:
        known = len(self._tables)
        self._tables += _stored_tables(plan.tables[known:], plan.routes[known:], self._stored, self.options)
        return self._stored
