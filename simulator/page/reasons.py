"""Why a message looks as it does: what `ticdc-sim explain` says of the row or the statement that it is about.

They are taken from the history of the served TiDB, as a message may not have all of a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from simulator import tso
from simulator.api.server import TiCDCServer
from simulator.changefeeds.history import Commit
from simulator.changefeeds.served import ServedChangefeed
from simulator.columns.row_image import cells_of
from simulator.errors import SimulatorError
from simulator.explain.change import RowChange
from simulator.explain.ddl import ddl_lines, explain_statements
from simulator.explain.row import explain_row, filter_decision, row_lines
from simulator.page.messages import Decoded
from simulator.reader.decode import DdlEvent, RowEvent, Watermark
from simulator.ticdc.rules import ChangefeedRules, changefeed_rules
from simulator.tidb.engine import CommittedTransaction, CompletedDdl, TableChanges
from simulator.tidb.model.table import Table, visible_columns

FIRST_ROWS = 8
"""Rows of a batch that are explained."""

MOST_SEARCHED = 2000
"""Rows of a transaction among which that of a message is looked for."""

WATERMARK = """watermark    every change with this commit-ts or a lower one was sent before, to all partitions
why          TiCDC sends it to each partition, so that a reader of one knows how far it is;
             after a restart lower commit-ts may come again"""


def reasons(decoded: Decoded, served: TiCDCServer, changefeed: ServedChangefeed) -> list[list[str]]:
    """Return the lines about each event of a message, of a batch the first. Called between two statements."""
    rules = changefeed_rules(changefeed.changefeed, served.release)
    told: list[list[str]] = []
    for event in decoded.events[:FIRST_ROWS]:
        try:
            match event:
                case Watermark():
                    told.append(WATERMARK.splitlines())
                case DdlEvent():
                    told.append(list(_statement_lines(decoded.message.commit_ts, served, rules)))
                case RowEvent():
                    told.append(list(_row_lines(event, decoded.message.commit_ts, served, rules)))
        except SimulatorError as error:
            told.append([f"not explained: {error}"])
    return [lines for lines in told if lines]


def _statement_lines(ts: int, served: TiCDCServer, rules: ChangefeedRules) -> Iterator[str]:
    for commit in served.changefeeds.history.statements:
        if _contains(commit, ts):
            for ddl in commit.events:
                if isinstance(ddl, CompletedDdl):
                    for explained in explain_statements([(ddl.database, ddl.text)], ddl.before, rules):
                        jobs = (
                            replace(job, events=tuple(replace(event, messages=()) for event in job.events))
                            for job in explained.jobs
                        )
                        yield from ddl_lines(replace(explained, jobs=tuple(jobs)))


def _row_lines(event: RowEvent, ts: int, served: TiCDCServer, rules: ChangefeedRules) -> Iterator[str]:
    history = served.changefeeds.history
    ts = event.commit_ts or ts
    found = history.since(history.place(ts - 1)[0], 1)
    if not found or not _contains(found[0], ts):
        yield "not explained: its transaction is older than the history that is kept"
        return
    changes = [
        each
        for transaction in found[0].events
        if isinstance(transaction, CommittedTransaction)
        for each in transaction.changes
    ]
    named = [each for each in changes if each.table.name == event.table] or changes
    table, change = max(
        (pair for each in named for pair in _changes(each, ts)), key=lambda pair: _likeness(event, pair[1])
    )
    explained = explain_row(table, rules.changefeed, change, rules.release, filter_decision(table, change, rules))
    yield from row_lines(replace(explained, messages=()))


def _contains(commit: Commit, ts: int) -> bool:
    return commit.now_ms <= tso.physical(ts) < commit.end_ms


def _changes(changes: TableChanges, ts: int) -> Iterator[tuple[Table, RowChange]]:
    names = [column.name for column in visible_columns(changes.table)]
    columns = (changes.before, changes.after, changes.row_id)
    rows = zip(*(column[:MOST_SEARCHED].to_pylist() for column in columns), strict=True)
    for before, after, row_id in rows:
        yield changes.table, RowChange(_image(before, names), _image(after, names), ts, None, row_id)


def _image(image: bytes | None, names: Sequence[str]) -> dict[str, str | None] | None:
    if image is None:
        return None
    texts = (None if cell is None else cell.decode("utf-8", "surrogatepass") for cell in cells_of(image))
    return dict(zip(names, texts, strict=True))


def _likeness(event: RowEvent, change: RowChange) -> int:
    """Return how many values of a row's message are those of a change."""
    sides = (event.before, change.before), (event.after, change.after)
    return sum(
        value == stored[name]
        for sent, stored in sides
        if sent is not None and stored is not None
        for name, value in sent.items()
        if name in stored
    )
