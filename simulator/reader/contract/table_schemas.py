"""Points 5 and 0 of messages that tell the schema of a table, and of the ids and versions in rows, across partitions.

When TiCDC repeats a BOOTSTRAP, its wall clock says: it may tell a table that a statement has changed or dropped meanwhile,
until the next row of the table or for half an hour (tiflow v8.5.3 and ticdc v8.5.4: pkg/sink/codec/bootstraper.go). What
always holds: the first one of a table precedes the table's first row in each partition that gets any; it goes to all
partitions or to the first one; and it tells what the statements before it made.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain

import numpy as np

from simulator.columns.hashing import BOOTSTRAPS, ChangeSum, ChangeSums, sums_by_group
from simulator.reader.contract import TABLE_ID, DescribedTable, Ids, PartitionSummary, TableSpan, Violation
from simulator.reader.contract.stream_spec import StreamSpec, ToldTables
from simulator.ticdc.codecs import CODECS

VERSION = "schemaVersion"
FIRST_ONLY, ALL_PARTITIONS, NONE = "first", "all", ""

ANY_ID = 0
"""Stands for a table's id where rows or statements do not tell it."""


def bootstrapped_partitions(spec: StreamSpec) -> str | None:
    """Return which partitions of a topic get BOOTSTRAPs with rows; None if that is not known, or the protocol has none."""
    if spec.writer is None or CODECS[spec.protocol].bootstrap is None:
        return None
    options, release = spec.writer.options, spec.writer.release
    if min(options.send_bootstrap_interval_in_sec, options.send_bootstrap_in_msg_count) <= 0:
        return NONE
    first = release.simple_first_partition or not options.send_bootstrap_to_all_partition
    return FIRST_ONLY if first else ALL_PARTITIONS


# -- ids and versions of rows ------------------------------------------------------------------------------------------


def other_ids(summaries: Sequence[PartitionSummary], spec: StreamSpec) -> Iterator[Violation]:
    """Yield rows whose ids or versions are those of no message with the schema of their table, not those that statements
    tell, others than in another partition, or those of another partition of their table."""
    told_of, known, owners = _told_ids(summaries), dict[TableSpan, Ids](), dict[tuple[str, int, int], TableSpan]()
    for each in summaries:
        for span, found in each.row_ids.items():
            name, epoch, part = span
            made = None if spec.told is None else spec.told.of_rows(name, epoch)
            told = told_of(name) if part is None and made is None else None
            for ids, offset in found.items():
                first, owner = known.setdefault(span, ids), owners.setdefault((name, epoch, ids[0][1]), span)
                others = chain(
                    _untold_id(dict(ids), told),
                    (f"{member}: {one} → {two}" for (member, one), (_, two) in zip(ids, first) if one != two),
                    () if made is None else _contradicted(dict(ids), part, *made),
                    _of_another_part(ids) if part is not None and owner != span else (),
                )
                if what := next(others, ""):
                    yield Violation("message-different", *each.place, offset, f"a row of {name}: {what}", name)


def _told_ids(summaries: Sequence[PartitionSummary]) -> Callable[[str], Collection[int] | None]:
    """Return what returns the ids of a table in messages with its schema, those of all tables if it has none of its own;
    None if BOOTSTRAPs tell no ids."""
    told, bootstrapped = defaultdict[str, set[int]](set), set[str]()
    for each in summaries:
        for table, id in (*each.told_ids, *((table, id) for table, _, id in each.bootstraps)):
            told[table].add(id)
        bootstrapped.update(table for table, _, id in each.bootstraps if id)
    every = set().union(*told.values())
    return lambda name: None if not bootstrapped else told[name] if name in bootstrapped else every


def _untold_id(ids: Mapping[str, int], told: Collection[int] | None) -> Iterator[str]:
    id = ids.get(TABLE_ID, 0)
    if told is not None and id and id not in told:
        yield f"{TABLE_ID}: {id}, which no message with its schema has"


def _contradicted(ids: Mapping[str, int], part: int | None, versions: frozenset[int], id: int | None) -> Iterator[str]:
    """Yield what of a row's version and id contradicts the statements before it."""
    if VERSION in ids and ids[VERSION] not in versions:
        yield f"{VERSION}: {ids[VERSION]} → {max(versions)}"
    if TABLE_ID not in ids or id is None:
        return
    if part is None and ids[TABLE_ID] != id:
        yield f"{TABLE_ID}: {ids[TABLE_ID]} → {id}"
    if part is not None and ids[TABLE_ID] == id:
        yield f"{TABLE_ID}: {id}, which is that of the table and not of a partition"


def _of_another_part(ids: Ids) -> Iterator[str]:
    member, number = ids[0]
    yield f"{member}: {number}, which rows of another partition of the table have"


# -- BOOTSTRAPs -------------------------------------------------------------------------------------------------------


def misplaced_bootstraps(summaries: Iterable[PartitionSummary], spec: StreamSpec) -> Iterator[Violation]:
    """Yield BOOTSTRAPs in a partition that gets none, or before the statement that makes what they tell, and rows of a
    table without one before them. `summaries` are those of partitions that are there from the start."""
    where = bootstrapped_partitions(spec)
    if where is None:
        return
    at_start = spec.writer is not None and spec.writer.options.send_all_bootstrap_at_start
    for part in summaries:
        reached = where == ALL_PARTITIONS or where == FIRST_ONLY and part.place[1] == 0
        for (name, version, id), offset in part.first_bootstraps.items():
            if not reached and not at_start:
                yield _unexpected(part, offset, f"the schema of {name} in a partition that gets none", name)
            elif offset < part.first_told.get((name, version, id), -1):
                yield _unexpected(part, offset, f"version {version} of the schema of {name} before its statement", name)
        if reached and spec.told is not None:
            yield from _rows_without_bootstrap(part, spec.told)


def _unexpected(part: PartitionSummary, offset: int, what: str, name: str) -> Violation:
    return Violation("bootstrap-unexpected", *part.place, offset, what, name)


def _rows_without_bootstrap(part: PartitionSummary, told: ToldTables) -> Iterator[Violation]:
    """Yield the first rows of tables without a BOOTSTRAP before them. A table that had another name, or the id of another
    one, may have been told then."""
    first: dict[tuple[str, int], int] = {}
    for (name, _, id), offset in part.first_bootstraps.items():
        for key in ((name, id), (name, ANY_ID)):
            first[key] = min(offset, first.get(key, offset))
    rows: dict[tuple[str, int], int] = {}
    for (name, _, _), found in part.row_ids.items():
        known = {each.id for each in told.by_name.get(name, ())}
        for ids, offset in found.items():
            id = dict(ids).get(TABLE_ID, ANY_ID)
            key = name, id if id in known else ANY_ID
            rows[key] = min(offset, rows.get(key, offset))
    for (name, id), offset in rows.items():
        if not told.may_have_moved(name, id or None) and first.get((name, id), offset) >= offset:
            what = f"no message with the schema of {name} before its first row{f' with {TABLE_ID} {id}' if id else ''}"
            yield Violation("bootstrap-missing", *part.place, offset, what, name)


def other_bootstraps(
    summaries: Sequence[PartitionSummary], sent: ChangeSums, spec: StreamSpec | None
) -> Iterator[Violation]:
    """Yield what is wrong with the numbers of BOOTSTRAPs, given those that were sent. Those that are repeated need not be
    the same ones."""
    told: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for table, version, id in sum((each.bootstraps for each in summaries), Counter[DescribedTable]()).elements():
        told[table].append((version, id))
    for table, expected in sorted((table, each) for (table, kind), each in sent.items() if kind == BOOTSTRAPS):
        actual, of_table = _sum_of_schemas(told[table]), f"messages with the schema of {table}"
        if actual.rows < expected.rows:
            what = f"{of_table}: sent {expected.rows:,}, here {actual.rows:,}"
            yield Violation("bootstrap-missing", "", None, None, what, table)
        elif actual.rows == expected.rows and (
            actual.times != expected.times or actual.images not in (expected.images, None)
        ):
            what = f"{of_table}: {actual.rows:,}, of which at least one has another version or id than was sent"
            yield Violation("message-different", "", None, None, what, table)
        elif actual.rows > expected.rows and spec is not None and not spec.restarts:
            what = f"{of_table}: sent {expected.rows:,}, here {actual.rows:,}"
            yield Violation("bootstrap-unexpected", "", None, None, what, table)
        elif spec is not None and bootstrapped_partitions(spec) == ALL_PARTITIONS:
            yield from _shares(summaries, table, expected.rows, actual.rows, spec)


def _shares(
    summaries: Sequence[PartitionSummary], table: str, sent: int, here: int, spec: StreamSpec
) -> Iterator[Violation]:
    """Yield the partitions that have fewer of a table's BOOTSTRAPs than each partition of their topic was sent."""
    topics: dict[str, dict[int, int]] = defaultdict(dict)
    for each in summaries:
        count = sum(count for (name, _, _), count in each.bootstraps.items() if name == table)
        topics[each.place[0]][each.place[1]] = count
    topics = {topic: counts for topic, counts in topics.items() if any(counts.values())}
    if len(topics) > 1 and here != sent or not spec.grown.keys().isdisjoint(topics):
        return
    for topic, counts in topics.items():
        share = (sent if len(topics) == 1 else sum(counts.values())) // spec.partitions[topic]
        for partition in range(spec.partitions[topic]):
            count = counts.get(partition, 0)
            if count < share:
                what = f"messages with the schema of {table}: each partition was sent {share:,}, here {count:,}"
                yield Violation("bootstrap-missing", topic, partition, None, what, table)


def _sum_of_schemas(told: Sequence[tuple[int, int]]) -> ChangeSum:
    """Return the sum of versions and ids, as `engines.tasks.messages.sum_rows` does."""
    versions, ids = np.array(told, np.int64).reshape(-1, 2).T
    return sums_by_group(ids * 0, versions, ids.view(np.uint64), versions >= 0, ids > 0).get(0, ChangeSum())
