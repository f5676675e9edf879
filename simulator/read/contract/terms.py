"""The terms of a stream from the changefeed that made it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from simulator.columns import cells
from simulator.read.contract.messages import RECORD_OVERHEAD, Terms
from simulator.read.contract.readings import reading_of
from simulator.read.contract.repeats import Place
from simulator.read.decode import RowEvent, full_image, row_text
from simulator.releases import Release, V8_5
from simulator.run import storage
from simulator.ticdc.changefeed.model import Changefeed
from simulator.ticdc.dispatch import Route, Router, hashes, partitions as partitions_of, route, router, sent_table
from simulator.ticdc.split import split_rule, stages
from simulator.tidb.model.table import Table, row_id_column
from simulator.tidb.syntax.definitions import TableName

LOST = "\ufffd"
"""What messages have for bytes that are not UTF-8."""


def terms_of(
    changefeed: Changefeed, tables: Iterable[Table], partitions: Mapping[str, int],
    finished: bool = True, restarts: bool = False, release: Release = V8_5,
) -> Terms:
    """The terms under which that changefeed writes those tables to topics with so many partitions."""
    codec, tables = changefeed.codec, list(tables)
    is_open = codec.protocol == "open-protocol"
    return Terms(
        protocol=codec.protocol,
        partitions=partitions,
        tables=sent_tables(changefeed, tables, release),
        destination=destination_of(changefeed, partitions, release, tables),
        max_message_bytes=codec.max_message_bytes if release.open_batch_size or not is_open else sys.maxsize,
        max_batch_size=1 if not is_open else codec.max_batch_size if release.open_batch_size else sys.maxsize,
        record_overhead=RECORD_OVERHEAD if release.record_overhead_counted or not is_open else 0,
        large_rows=not (release.size_error if is_open else release.canal_size_limit),
        watermarks=is_open or codec.enable_tidb_extension and release.tidb_extension,
        reading=reading_of(codec, release),
        stages=stages_of(changefeed, release, tables),
        ddl_in_every_partition=is_open or not release.canal_ddl_in_partition_0,
        stored=partial(storage.read, uri=codec.claim_check_storage_uri) if codec.claim_check_storage_uri else None,
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
    reading = reading_of(changefeed.codec, release)
    found = stages(rule, reading.old_values and not reading.hides_same)
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
        if to.dispatcher == "row-id" and key is None:
            return None
        sources = {source: texts[source] for _, source in to.hashed if source}
        row_id = pa.array([int(texts.get(key) or 0) % (1 << 64) if key else 0], pa.uint64())
        hashed = hashes(to, table, cells.columns([sources or {"": None}]))
        place = partitions_of(
            to, hashed, np.array([event.commit_ts or 0]), row_id.view(pa.int64()), partitions[to.topic])
        return to.topic, int(place[0])
    return destination
