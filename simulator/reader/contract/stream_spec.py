"""The properties that a stream must have, derived from its changefeed.

Where nobody tells the release, the default one is assumed. A stream is wrong only if it breaks what every release that has
its protocol would keep.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from simulator.columns.change_frame import Ints
from simulator.reader.contract.destinations import (
    ChangefeedRoutes,
    Destination,
    OrderScope,
    PartitionCountSpans,
    Span,
    order_by_table,
)
from simulator.reader.contract.message_writer import MessageWriter
from simulator.reader.contract.told_tables import ToldTables
from simulator.reader.events import TableSchemas
from simulator.reader.truth_metadata import ExpectedStatement
from simulator.releases import RELEASES, V8_5, Release
from simulator.sinks.external_storage import read_claim_check
from simulator.ticdc.changefeed import Changefeed
from simulator.ticdc.codecs import CODECS, CodecOptions
from simulator.ticdc.codecs.codec import Fidelity
from simulator.ticdc.codecs.large_messages import RECORD_OVERHEAD
from simulator.ticdc.dispatch import route, router, sent_table
from simulator.ticdc.split import operation_order, split_rule
from simulator.tidb.model.table import Table

UNBOUNDED = 1 << 62
"""Stands for a size that is unknown."""


@dataclass(frozen=True)
class StreamSpec:
    protocol: str
    partitions: Mapping[str, int]
    """Topic → number of partitions, including empty ones."""

    tables: Mapping[tuple[str, str], Table]
    """By schema and name."""

    destination: Destination | str
    """Returns the destination of a table's rows; a text explains why it is unknown."""

    max_message_bytes: int = 10485760
    max_batch_size: int = 16
    record_overhead: int = RECORD_OVERHEAD
    """Bytes that the release adds to the size of key and value."""

    large_rows: bool = False
    """Whether a single row may exceed max_message_bytes, as in releases that do not check."""

    watermarks: bool | None = True
    """Whether the protocol has watermarks with these options; None if that is not known."""

    bare_deletes: bool = False
    """Whether the DELETE of a row without a primary key has neither key nor value, as in Avro of the new
    architecture."""

    fidelity: Fidelity = Fidelity()

    stages: Callable[[Table], Mapping[str, int]] | None = None
    """Returns the order of a table's row changes at one commit-ts, by kind; empty if TiCDC keeps no order."""

    ddl_in_every_partition: bool | None = True
    """False if DDL is in partition 0 only; None if that is not known."""

    restarts: bool = False
    """Whether rows may be repeated, as after a restart of the changefeed."""

    finished: bool = True
    """Whether the run is complete, so that a watermark covers the last row."""

    stored: Callable[[str], bytes] | None = None
    """Reads the file at a claim-check location. None: such rows are limited to their handle key."""

    later: tuple[tuple[int, Mapping[tuple[str, str], Table]], ...] = ()
    """The tables after each statement that changes them, with its commit-ts, in order (`definitions`)."""

    complete: bool = True
    """Whether the stream has no other tables. Otherwise rows of unknown tables are checked as far as possible."""

    by_layout: Destination | str = "its definition is not known"
    """Returns the destination of rows of a table that is known from its messages only (`decode.row_images`)."""

    files: bool = False
    """Whether it consists of files on a storage: rows have no destination, and the only watermark is the last event."""

    schemas: Mapping[int, str] = field(default_factory=dict)
    """Those of a registry, by id."""

    one_partition: Callable[[Table], bool] = lambda table: True
    """Whether all changes of a row are in one partition."""

    any_time: Mapping[tuple[str, str], tuple[Table, ...]] = field(default_factory=dict)
    """All definitions of each table, for rows that have no commit-ts to tell which one is theirs."""

    writer: MessageWriter | None = None
    """Writes messages as the changefeed does; None if it is not known how."""

    statements: tuple[ExpectedStatement, ...] | None = None
    """The statements that were sent, in order of their commit-ts; None if nobody tells."""

    told: ToldTables | None = None
    """What statements tell of tables; None if nobody tells which there were."""

    held_back: frozenset[str] = frozenset()
    """Tables (`db.table`) of which event filters may hold back statements, which `told` may not have then."""

    renamed: Mapping[str, TableSchemas] = field(default_factory=dict)
    """Topic → the table schemas that a RENAME tells there, of rows that may be in another topic."""

    orders: OrderScope = order_by_table
    grown: PartitionCountSpans = field(default_factory=dict)
    """When topics that got more partitions had how many."""

    topic_spans: Mapping[str, tuple[Span, ...]] | None = None
    """When topics had tables, and so watermarks; None if nobody tells."""

    @property
    def all_tables(self) -> list[Table]:
        """All definitions of tables, each once."""
        every = (self.tables, *(tables for _, tables in self.later))
        return list({id(table): table for tables in every for table in tables.values()}.values())

    @property
    def tables_of_any_time(self) -> list[Table]:
        """Those and the ones that nothing in the stream tells, which may have been dropped."""
        return [*self.all_tables, *(table for tables in self.any_time.values() for table in tables)]

    def definitions(self, schema: str, table: str) -> tuple[Ints, list[Table | None]]:
        """Return the definitions of a table, and the commit-ts above which each but the first one applies,
        ascending."""
        name = schema, table
        since, versions = list[int](), [self.tables.get(name)]
        for ts, tables in self.later:
            if tables.get(name) is not versions[-1]:
                since.append(ts)
                versions.append(tables.get(name))
        return np.array(since, np.int64), versions


def stream_spec_of(
    changefeed: Changefeed, tables: Iterable[Table], partitions: Mapping[str, int], release: Release = V8_5
) -> StreamSpec:
    options, tables = changefeed.codec, list(tables)
    routes = ChangefeedRoutes(changefeed, release, tables)
    codec = CODECS[options.protocol]
    sizes = codec.sizes(options, release)
    split = split_rule(release, changefeed.output_raw_change_event, options.enable_old_value, changefeed.active_active)
    fidelity = replace(
        codec.fidelity(options, release),
        moves_rows=not split.keys or split.several,
        deletes_absent="none" if options.enable_old_value else release.empty_deletes,
        drops_deletes=release.soft_deletes,
        ends_marked=release.soft_deletes and not changefeed.active_active,
    )
    return StreamSpec(
        protocol=options.protocol,
        partitions=partitions,
        tables=sent_tables(changefeed, tables, release),
        destination=routes.destination,
        by_layout=routes.layout_destination,
        orders=routes.order,
        one_partition=routes.in_one_partition,
        max_message_bytes=sizes.max_message_bytes,
        max_batch_size=sizes.max_batch_size,
        record_overhead=sizes.record_overhead,
        large_rows=sizes.large_rows,
        watermarks=codec.has_watermarks(options, release),
        bare_deletes=may_have_bare_deletes(options.protocol, release, tables),
        fidelity=fidelity,
        stages=stages_of(changefeed, release, tables),
        ddl_in_every_partition=codec.broadcasts_ddl(release),
        stored=partial(read_claim_check, uri=options.claim_check_storage_uri)
        if options.claim_check_storage_uri
        else None,
    )


def may_have_bare_deletes(protocol: str, release: Release, tables: Collection[Table]) -> bool:
    """Return whether a DELETE may have neither key nor value, given all definitions of tables; none if they are not known."""
    has_primary_keys = bool(tables) and all(table.primary_key for table in tables)
    return not has_primary_keys and CODECS[protocol].has_bare_deletes(release)


def sent_tables(
    changefeed: Changefeed, tables: Iterable[Table], release: Release = V8_5
) -> dict[tuple[str, str], Table]:
    """Return the tables by their names in messages, renamed accordingly."""
    rules = router(changefeed, release)
    called = [sent_table(route(rules, table), table) for table in tables]
    return {(table.schema, table.name): table for table in called}


def stages_of(
    changefeed: Changefeed, release: Release = V8_5, tables: Iterable[Table] = ()
) -> Callable[[Table], Mapping[str, int]]:
    """Return the order of row changes at one commit-ts. Since 7.4 TiCDC keeps it only among rows of one partition key,
    so that tables whose partitions have several keys have no order (tiflow: cdc/sink/dmlsink/mq/worker.go)."""
    rule = split_rule(
        release, changefeed.output_raw_change_event, changefeed.codec.enable_old_value, changefeed.active_active
    )
    fidelity = CODECS[changefeed.codec.protocol].fidelity(changefeed.codec, release)
    stages = operation_order(rule, fidelity.old_values and not fidelity.hides_unchanged_updates)
    order = ChangefeedRoutes(changefeed, release, tables).order
    return lambda sent: {} if order(sent) == "hash" else stages


UNKNOWN_RELEASE = "which release wrote it is not known: --release or --truth tells"


def possible_releases(protocol: str) -> Sequence[Release]:
    """Return the releases that may have written a stream."""
    every = (release for releases in RELEASES.values() for release in releases.values())
    return [release for release in every if CODECS[protocol].protocol.exists(release)]


def spec_of_any_release(spec: StreamSpec, options: CodecOptions) -> StreamSpec:
    """Return what a stream must keep whatever release wrote it."""
    codec, releases = CODECS[options.protocol], possible_releases(options.protocol)
    every_partition = {codec.broadcasts_ddl(release) for release in releases}
    watermarks = {codec.has_watermarks(options, release) for release in releases}
    return replace(
        spec,
        writer=None,
        destination=UNKNOWN_RELEASE,
        by_layout=UNKNOWN_RELEASE,
        max_message_bytes=UNBOUNDED,
        max_batch_size=UNBOUNDED,
        orders=lambda table: "hash",
        stages=None,
        ddl_in_every_partition=every_partition.pop() if len(every_partition) == 1 else None,
        watermarks=spec.watermarks if spec.files or len(watermarks) == 1 else None,
        bare_deletes=any(map(codec.has_bare_deletes, releases)),
        fidelity=loosest(*releases_by_fidelity(options)),
    )


def releases_by_fidelity(options: CodecOptions) -> dict[Fidelity, Release]:
    """Return which values messages lose, each with a release that loses them."""
    codec = CODECS[options.protocol]
    return {codec.fidelity(options, release): release for release in possible_releases(options.protocol)}


def loosest(*fidelities: Fidelity) -> Fidelity:
    """Return the fidelity of messages that may lose what any of these lose."""
    return replace(
        fidelities[0],
        old_values=all(each.old_values for each in fidelities),
        hides_unchanged_updates=any(each.hides_unchanged_updates for each in fidelities),
        names_operations=all(each.names_operations for each in fidelities),
        nulls=frozenset().union(*(each.nulls for each in fidelities)),
        old_nulls=frozenset().union(*(each.old_nulls for each in fidelities)),
        null_word=any(each.null_word for each in fidelities),
        null_is_default=any(each.null_is_default for each in fidelities),
        whole_seconds=any(each.whole_seconds for each in fidelities),
    )
