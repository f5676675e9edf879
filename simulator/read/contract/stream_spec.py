"""What was asked of a stream, from the changefeed that made it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa

from simulator.columns import cells
from simulator.read.decode import LOST, RowEvent, full_image, row_text, time_of
from simulator.read.records import Place
from simulator.releases import Release, V8_5
from simulator.run import storage
from simulator.ticdc.changefeed.model import Changefeed
from simulator.ticdc.codecs import CODECS
from simulator.ticdc.codecs.codec import Fidelity
from simulator.ticdc.codecs.oversize import RECORD_OVERHEAD
from simulator.ticdc.dispatch import (
    ROW_ID,
    Route,
    Router,
    hashes,
    partitions as partitions_of,
    route,
    router,
    sent_table,
)
from simulator.ticdc.split import split_rule, stages
from simulator.tidb.model.table import Table, row_id_column
from simulator.tidb.syntax.definitions import TableName


@dataclass(frozen=True)
class StreamSpec:
    """What was asked of the stream."""

    protocol: str
    partitions: Mapping[str, int]
    """Topic -> how many partitions, those that stayed empty included."""

    tables: Mapping[tuple[str, str], Table]
    """By schema and name."""

    destination: Callable[[RowEvent, Table], Place | None]
    """The topic and partition that the dispatcher gives a row; None where the message does not say enough."""

    max_message_bytes: int = 10485760
    max_batch_size: int = 16
    record_overhead: int = RECORD_OVERHEAD
    """Bytes that the release counts on top of key and value."""

    large_rows: bool = False
    """Whether a row by itself may be above max_message_bytes, as in releases that do not look."""

    watermarks: bool = True
    """Whether the protocol has them with these options."""

    fidelity: Fidelity = Fidelity()

    stages: Callable[[Table], Mapping[str, int]] | None = None
    """Of a table, by kind of row change, what comes after what at one commit-ts; empty where TiCDC keeps no order."""

    ddl_in_every_partition: bool = True
    """False where it is in partition 0 alone."""

    restarts: bool = False
    """Whether rows may come again, as after a restart of the changefeed."""

    finished: bool = True
    """Whether the run came to its end, so that a watermark covers the last row."""

    stored: Callable[[str], bytes] | None = None
    """Reads what lies at a claim-check location; None: such rows stay cut down to their handle key."""

    later: tuple[tuple[int, Mapping[tuple[str, str], Table]], ...] = ()
    """The tables behind each statement that changes them, with its commit-ts, in order (`definitions`)."""

    def table(self, event: RowEvent) -> Table | None:
        """The row's table as it was defined then."""
        behind = [tables for ts, tables in self.later if ts < time_of(event)]
        return (behind[-1] if behind else self.tables).get((event.schema, event.table))


def stream_spec_of(
    changefeed: Changefeed, tables: Iterable[Table], partitions: Mapping[str, int],
    finished: bool = True, restarts: bool = False, release: Release = V8_5,
) -> StreamSpec:
    """How that changefeed writes those tables to topics with so many partitions."""
    options, tables = changefeed.codec, list(tables)
    codec = CODECS[options.protocol]
    sizes = codec.sizes(options, release)
    return StreamSpec(
        protocol=options.protocol,
        partitions=partitions,
        tables=sent_tables(changefeed, tables, release),
        destination=destination_of(changefeed, partitions, release, tables),
        max_message_bytes=sizes.max_message_bytes,
        max_batch_size=sizes.max_batch_size,
        record_overhead=sizes.record_overhead,
        large_rows=sizes.large_rows,
        watermarks=codec.has_watermarks(options, release),
        fidelity=codec.fidelity(options, release),
        stages=stages_of(changefeed, release, tables),
        ddl_in_every_partition=codec.ddl_everywhere(release),
        stored=partial(storage.read, uri=options.claim_check_storage_uri) if options.claim_check_storage_uri else None,
        restarts=restarts,
        finished=finished,
    )


def sent_tables(
    changefeed: Changefeed, tables: Iterable[Table], release: Release = V8_5
) -> dict[tuple[str, str], Table]:
    """The tables by the names that messages have for them, and under those."""
    rules = router(changefeed, release)
    called = [sent_table(route(rules, table), table) for table in tables]
    return {(table.schema, table.name): table for table in called}


def _source(rules: Router, tables: Iterable[Table]) -> Callable[[Table], Table | None]:
    """From a table as messages call it to the one in TiDB, as far as `tables` tells: None where table routing may have
    given the name to another."""
    names = {rules.routes.target(table.schema, table.name): (table.schema, table.name) for table in tables}

    def source(sent: Table) -> Table | None:
        if not rules.routes.rules:
            return sent
        name = names.get(TableName(sent.schema, sent.name))
        return replace(sent, schema=name[0], name=name[1]) if name else None
    return source


def stages_of(
    changefeed: Changefeed, release: Release = V8_5, tables: Iterable[Table] = (),
) -> Callable[[Table], Mapping[str, int]]:
    """The order of row changes at one commit-ts. From 7.4 on TiCDC keeps it among rows of one partition key alone, so
    that tables whose rows have several in a partition have none (tiflow: cdc/sink/dmlsink/mq/worker.go)."""
    rule = split_rule(release, changefeed.output_raw_change_event, changefeed.codec.enable_old_value)
    fidelity = CODECS[changefeed.codec.protocol].fidelity(changefeed.codec, release)
    found = stages(rule, fidelity.old_values and not fidelity.hides_same)
    rules = router(changefeed, release)
    source = _source(rules, tables)

    known: dict[int, tuple[Table, Mapping[str, int]]] = {}

    def of_table(sent: Table) -> Mapping[str, int]:
        if id(sent) not in known:
            table = source(sent)
            ordered = table and not (release.group_by_partition_key and route(rules, table).groups_by == "hash")
            known[id(sent)] = sent, found if ordered else {}
        return known[id(sent)][1]
    return of_table


def destination_of(
    changefeed: Changefeed, partitions: Mapping[str, int], release: Release = V8_5, tables: Iterable[Table] = (),
) -> Callable[[RowEvent, Table], Place | None]:
    """Where the changefeed's dispatchers put a row; the new row decides, for a DELETE the old one. `tables` are those
    whose names table routing may change."""
    rules = router(changefeed, release)
    source, routes = _source(rules, tables), dict[int, tuple[Table, Table | None, Route | None]]()

    def destination(event: RowEvent, sent: Table) -> Place | None:
        if id(sent) not in routes:
            table = source(sent)
            routes[id(sent)] = sent, table, route(rules, table) if table else None
        # The table is kept with its route, so that no other can have its id.
        _, table, to = routes[id(sent)]
        if table is None or to is None:
            return None
        if event.commit_ts is None and to.groups_by == "commit_ts":
            return None
        texts = row_text(full_image(event), table)
        if any(source and LOST in (texts.get(source, LOST) or "") for _, source in to.hashed):
            return None
        key = row_id_column(table)
        if to.dispatcher == ROW_ID and key is None:
            return None
        sources = {source: texts[source] for _, source in to.hashed if source}
        row_id = pa.array([int(texts.get(key) or 0) % (1 << 64) if key else 0], pa.uint64())
        hashed = hashes(to, table, cells.columns([sources or {"": None}]))
        place = partitions_of(
            to, hashed, np.array([event.commit_ts or 0]), row_id.view(pa.int64()), partitions[to.topic])
        return to.topic, int(place[0])
    return destination
