"""The statements of a run for its truth: what the stream has of each, and those that change tables without a message."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from simulator.reader import decode as reading
from simulator.reader.decode import DECODERS
from simulator.reader.truth_metadata import IGNORED, ExpectedStatement
from simulator.releases import Release
from simulator.run.plan.snapshot_pairs import spelled_name
from simulator.run.plan.statements import EmittedJob, renamed_tables
from simulator.run.steps.execution import is_replicated
from simulator.ticdc.cloud_storage import schema_event_file, schema_events
from simulator.ticdc.codecs import CODECS, CodecOptions, DdlEvent
from simulator.ticdc.codecs.schema_registry import SchemaManager, entry_with_ids
from simulator.ticdc.dispatch import route, sent_table
from simulator.ticdc.rules import ChangefeedRules
from simulator.tidb.ddl.actions import SCHEMA_ACTIONS, Action
from simulator.tidb.ddl.catalog import Catalog, object_key
from simulator.tidb.ddl.derive import show_create
from simulator.tidb.model.table import Table
from simulator.tidb.system_variables import READING_MODES

EMPTYING = frozenset(
    {
        Action.DROP_TABLE,
        Action.TRUNCATE_TABLE,
        Action.DROP_SCHEMA,
        Action.DROP_TABLE_PARTITION,
        Action.TRUNCATE_TABLE_PARTITION,
    }
)
"""Jobs that take rows out of tables."""


@dataclass(frozen=True)
class StatementMessages:
    """How a changefeed sends statements."""

    rules: ChangefeedRules
    options: CodecOptions

    @property
    def release(self) -> Release:
        return self.rules.release

    def of_jobs(self, jobs: Iterable[EmittedJob]) -> Iterator[ExpectedStatement]:
        """Yield the statements of jobs on replicated tables and on databases, in their order."""
        for emitted in jobs:
            sent = [
                each
                for event, topic in zip(emitted.events, emitted.topics, strict=True)
                for each in self._of_event(event, topic)
            ]
            has_no_file = self.rules.changefeed.storage is not None and bool(emitted.events)
            held_back = self._tells_statements and emitted.job.code in EMPTYING
            concerns = emitted.job.code in SCHEMA_ACTIONS or _concerns_replicated(emitted, self.rules)
            if not sent and (has_no_file or not held_back and concerns):
                sent = [ExpectedStatement(emitted.commit_ts, emitted.job.database, "", emitted.job.query)]
            modes = emitted.job.sql_mode & READING_MODES
            needs_modes = modes and not (sent and sent[0].is_sent and self.release.ddl_text_mode == "job")
            yield from (replace(each, sql_mode=",".join(sorted(modes))) for each in sent) if needs_modes else sent

    @property
    def _tells_statements(self) -> bool:
        """Whether statements are sent, so that of those which event filters keep back a consumer knows nothing."""
        is_stored = self.rules.changefeed.storage is not None
        return is_stored or CODECS[self.options.protocol].sends_ddl(self.options, self.release)

    def tables(self, catalog: Catalog) -> tuple[Table, ...]:
        """Return the replicated tables under their names in messages."""
        tables = (table for table in catalog.tables.values() if is_replicated(table, self.rules))
        return tuple(sent_table(route(self.rules.router, table), table) for table in tables)

    def _of_event(self, event: DdlEvent, topic: str) -> Iterator[ExpectedStatement]:
        after = None if event.after is None else event.after.table
        definition = show_create(after) if isinstance(after, Table) else ""
        if (storage := self.rules.changefeed.storage) is not None:
            for each in schema_events([event], storage, self.release):
                path, content = schema_event_file(each, storage, self.release)
                texts = path, content.decode("utf-8", "replace")
                yield ExpectedStatement(
                    each.commit_ts, each.schema, each.table, each.query, str(each.type_code), topic, *texts, definition
                )
            return
        codec = CODECS[self.options.protocol]
        if not codec.ddl_partitions(event, range(1), self.options, self.release):
            return
        key, value, schemas = self._message(event)
        decoded = reading.decode(key, value, self.options.protocol, schemas)
        text = DECODERS[self.options.protocol].comparable
        for ddl in (each for each in decoded if isinstance(each, reading.DdlEvent)):
            ((entry_key, entry_value),) = DECODERS[self.options.protocol].texts(key, value)
            shown = text(entry_key, entry_value, IGNORED, schemas)
            yield ExpectedStatement(
                reading.time_of(ddl),
                *(ddl.schema, ddl.table, ddl.query, str(ddl.type), topic),
                *(shown.key, shown.value, definition),
            )

    def _message(self, event: DdlEvent) -> tuple[bytes | None, bytes, Mapping[int, str]]:
        """Return key and value of the message of an event, and the schemas that it names."""
        codec, manager = CODECS[self.options.protocol], SchemaManager()
        entry = codec.ddl(event, self.options, self.release)
        if codec.control_schemas is not None:
            entry = entry_with_ids(entry, codec.control_schemas(event.schema, self.options, self.release), manager)
        key, value = codec.message(entry, self.options, self.release)
        return key, value, manager.texts


def _concerns_replicated(emitted: EmittedJob, rules: ChangefeedRules) -> bool:
    """Return whether a replicated table exists before or after a job that touches it."""
    for old, new in renamed_tables(emitted.job).items():
        for catalog, name in ((emitted.applied.before, old), (emitted.applied.after, new)):
            if (spelled := spelled_name(catalog, name)) is not None and is_replicated(
                catalog.tables[object_key(*spelled)], rules
            ):
                return True
    return False
