"""The properties that a stream must have, derived from its changefeed and from the statements of a truth.

Where nobody tells the release, the default one is assumed. A stream is wrong only if it breaks what every release that has
its protocol would keep. A statement that was not sent may give a table another version and id, too, which no message tells.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from simulator.columns.change_frame import Ints
from simulator.reader.contract import TABLE_ID
from simulator.reader.contract.destinations import (
    ChangefeedRoutes,
    Destination,
    OrderScope,
    PartitionCountSpans,
    Span,
    order_by_table,
)
from simulator.reader.contract.message_writer import MessageWriter
from simulator.reader.decode.message_bytes import parse
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
from simulator.tso import BEFORE_COMMIT

ANY_TABLE = ""
"""Stands for the name of the table that a statement is about where it may be about others, too."""

MOVING = re.compile(r"\b(RENAME|EXCHANGE|FLASHBACK|RECOVER)\b", re.IGNORECASE)
"""Found in statements that may give tables other names or the ids of others. In the new architecture such a table may have a
new version, too."""


@dataclass(frozen=True)
class ToldTable:
    since: int
    """The commit-ts of the statement."""

    version: int | None
    """None if there is no such table from then on."""

    id: int | None
    """None if nothing tells it."""


@dataclass(frozen=True)
class ToldTables:
    """What statements tell of tables: which version and id each has from then on, as rows and table schemas name them."""

    times: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """When statements were, ascending, by `db.table` and `ANY_TABLE`."""

    by_name: Mapping[str, tuple[ToldTable, ...]] = field(default_factory=dict)
    """What messages tell, by `db.table`, in order; nothing in protocols without table schemas."""

    unsent: tuple[int, ...] = ()
    """When statements were that were not sent, ascending."""

    moved: frozenset[tuple[str, int | None]] = frozenset()
    """Tables with their ids that may have had another name, or were exchanged, None for any id; `ANY_TABLE` stands for
    those of statements that were not sent."""

    def epochs(self, name: str) -> list[int]:
        """Return after which commit-ts a table may have another version or other ids than before."""
        return sorted({*self.times.get(name, ()), *self.times.get(ANY_TABLE, ())})

    def of_rows(self, name: str, epoch: int) -> tuple[frozenset[int], int | None] | None:
        """Return the versions that rows of a table may have after so many of `epochs`, and its id, as far as it is told;
        None if nothing tells them."""
        until = self.epochs(name)[epoch - 1] if epoch else 0
        last = next((each for each in reversed(self.by_name.get(name, ())) if each.since <= until), None)
        if last is None or last.version is None:
            return None
        others = self.unsent[bisect_left(self.unsent, last.since) : bisect_left(self.unsent, until + 1)]
        return frozenset((last.version, *(ts - BEFORE_COMMIT for ts in others))), None if others else last.id

    def may_have_moved(self, name: str, id: int | None) -> bool:
        """Return whether a table with that id, or None for any, had another name or was exchanged."""
        same = {own for each, own in self.moved if each == name}
        return any(each == ANY_TABLE for each, _ in self.moved) or bool(same if id is None else same & {id, None})

    def since(self, name: str, version: int) -> list[int]:
        """Return the commit-ts of the statements that tell a version of a table."""
        return [each.since for each in self.by_name.get(name, ()) if each.version == version]

    def told_at(self, name: str) -> frozenset[int]:
        """Return the commit-ts of the statements that tell versions of a table."""
        return frozenset(each.since for each in self.by_name.get(name, ()))


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


def told_tables(statements: Iterable[ExpectedStatement], protocol: str) -> ToldTables:
    """Return what statements tell, in order of their commit-ts."""
    times, found = defaultdict[str, list[int]](list), defaultdict[str, list[ToldTable]](list)
    unsent, moved = list[int](), set[tuple[str, int | None]]()
    tells = CODECS[protocol].bootstrap is not None
    for each in statements:
        alone = each.is_sent and each.table and "EXCHANGE" not in each.query.upper()
        moves = MOVING.search(each.query) is not None
        times[f"{each.schema}.{each.table}" if alone else ANY_TABLE].append(each.commit_ts)
        if not each.is_sent:
            unsent.append(each.commit_ts)
            moved |= {(ANY_TABLE, None)} if moves else set()
        elif tells:
            for name, told in _told(each):
                found[name].append(told)
                moved |= {(name, told.id)} if moves else set()
    return ToldTables(
        {name: tuple(every) for name, every in times.items()},
        {name: tuple(every) for name, every in found.items()},
        tuple(unsent),
        frozenset(moved),
    )


def _told(statement: ExpectedStatement) -> Iterator[tuple[str, ToldTable]]:
    message = parse(statement.value.encode("utf-8", "surrogateescape"), "surrogateescape")
    schema, before = message.get("tableSchema"), message.get("preTableSchema")
    if schema is None:
        return
    name, ts = table_name(schema), statement.commit_ts
    yield name, ToldTable(ts, int(schema["version"]) if statement.after else None, _id(schema))
    if before is not None and (other := table_name(before)) != name:
        renamed = statement.query.upper().startswith("RENAME") or message["type"] == "RENAME"
        yield other, ToldTable(ts, None if renamed else int(before["version"]), None)


def _id(schema: Mapping[str, Any]) -> int | None:
    return int(schema[TABLE_ID]) if TABLE_ID in schema else None


def table_name(schema: Mapping[str, Any]) -> str:
    """Return `db.table` of a table schema in a message."""
    return f"{schema['schema']}.{schema['table']}"
