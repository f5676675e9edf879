"""Vectors of split UPDATEs: a release, a table, rows before and after a transaction → events in order.

Every line is answered twice, by the functions for a transaction and by the batches of a run, whose columns,
keys and order are those of the changes that a diff finds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

import numpy as np
import pyarrow as pa

from simulator.columns import cells, row_image
from simulator.columns.change_frame import DELETE, INSERT, ORDER, UPDATE
from simulator.ticdc import key_bytes
from simulator.ticdc.split import (
    SplitRule,
    add_ranks,
    key_columns_in_diff,
    keys_changed,
    shares_transaction,
    split_rule,
    split_updates,
)
from simulator.ticdc.table_info import handle_key
from simulator.tidb.ddl.definitions.from_sql import create_table
from simulator.tidb.model.table import Table, visible_columns
from support.transaction import Row, RowEvent, net, sent
from support.vectors.files import Vector
from support.vectors.kinds import Kind, keys_of

NAMES = {DELETE: "DELETE", UPDATE: "UPDATE", INSERT: "INSERT"}
EVENT = re.compile(r"(DELETE|UPDATE|INSERT)\((.*)\)")
ARROW = re.compile(r" *(?:->|→) *")
SKETCH = re.compile(r"table (\w+)\((.*)\)")
"""A table of TiCDC's unit tests, which have columns and flags and no statement: `table t(a, b PRIMARY KEY handle)`."""


def may_split(table: Table, rule: SplitRule) -> bool:
    """Whether an UPDATE of the table may be split in a diff."""
    return bool(rule.keys and key_columns_in_diff(table, rule))


def check_split(vector: Vector) -> None:
    """A vector of `facts.update_split`."""
    data = vector.data
    table = table_of(data)
    found, expected = events(vector, table), data["expected"]
    if not expected or isinstance(expected[0], str):
        assert [written(event, like) for event, like in zip_longest(found, expected)] == expected
    elif "op" in expected[0]:
        assert list(as_csv(found, data["csv_output_old_value"])) == [
            (event["op"], event.get("is_update", False), event["values"]) for event in expected
        ]
    else:
        assert [(NAMES[event.op], event.before, event.after) for event in found] == [
            (wanted["type"], wanted["before"], wanted["after"]) for wanted in expected
        ]
    assert by_batch(transaction(vector, table)) == plain(transaction(vector, table))


def transaction(vector: Vector, table: Table) -> Transaction:
    """The vector's row changes, and rows of the transaction that it only counts."""
    written = list(changes(vector.data, table))
    others = vector.data.get("rows_in_txn", 0) - len(written)
    written += [RowEvent(INSERT, None, dict.fromkeys(names(table))) for _ in range(others)]
    return Transaction(table, tuple(written), rule(vector))


def events(vector: Vector, table: Table) -> list[RowEvent]:
    """The events of the vector's transaction, without rows of it that the vector only counts."""
    whole = transaction(vector, table)
    own = len(list(changes(vector.data, table)))
    found = sent(table, whole.events, whole.rule)
    return [event for event in found if all(event is not other for other in whole.events[own:])]


def rule(vector: Vector) -> SplitRule:
    """A sink to MySQL takes the branch of output-raw-change-event (cdc/model/sink.go): it splits nothing here."""
    data = vector.data
    found = split_rule(vector.release, bool(data.get("output-raw-change-event")), data.get("old_value", True))
    return replace(found, keys=0) if data.get("protocol") == "mysql" else found


def changes(data: Mapping[str, Any], table: Table) -> Iterator[RowEvent]:
    """What TiDB writes: said so, or of rows before and after, which stand in pairs."""
    if "input" in data:
        for given in data["input"]:
            said = read(given) if isinstance(given, str) else given
            op = next(op for op, name in NAMES.items() if name == said["type"])
            yield RowEvent(op, row(table, said["before"]), row(table, said["after"]))
        return
    before, after = (each if isinstance(each, list) else [each] for each in (data["before"], data["after"]))
    pairs = [(row(table, old), row(table, new)) for old, new in zip(before, after, strict=True)]
    if "uk_changed" in data:
        assert data["uk_changed"] == any(old and new and changes_key(table, old, new) for old, new in pairs)
    yield from net(table, pairs)


def changes_key(table: Table, old: Row, new: Row) -> bool:
    """Whether any unique key of the table changes."""
    unique = {column.name for index in table.indexes if index.unique or index.primary for column in index.columns}
    return any(old[name] != new[name] for name in unique | set(table.primary_key))


def read(text: str) -> dict[str, Any]:
    """An event that is written `DELETE(id=3)`, or `UPDATE(id=3, v=1->2)`."""
    found = EVENT.fullmatch(text)
    assert found, f"no event: {text}"
    pairs = [part.strip().partition("=") for part in found[2].split(",")]
    sides = [{name: ARROW.split(value)[at] for name, _, value in pairs} for at in (0, -1)]
    return {
        "type": found[1],
        "before": sides[0] if found[1] != "INSERT" else None,
        "after": sides[1] if found[1] != "DELETE" else None,
    }


def written(event: RowEvent | None, like: str | None) -> str | None:
    """An event as the vector writes one: its kind, or with the columns that the vector names."""
    if event is None:
        return None
    if like is None or "(" not in like:
        return NAMES[event.op]
    said = read(like)
    columns = said["after"] or said["before"]
    old, new = event.before or event.after or {}, event.after or event.before or {}
    values = (
        f"{name}={old[name]}->{new[name]}" if old[name] != new[name] else f"{name}={new[name]}" for name in columns
    )
    return f"{NAMES[event.op]}({', '.join(values)})"


def as_csv(events: Sequence[RowEvent], old_value: bool) -> Iterator[tuple[str, bool, Row | None]]:
    """Lines of the CSV encoder: with output-old-value it writes an UPDATE as DELETE and INSERT by itself."""
    for event in events:
        if event.op == UPDATE and old_value:
            yield "D", True, event.before
            yield "I", True, event.after
        else:
            yield NAMES[event.op][0], False, event.before if event.op == DELETE else event.after


def table_of(data: Mapping[str, Any]) -> Table:
    """The table; one that is only sketched has texts, and a primary key beside which rows may be stored; one that is
    not even that has the columns that events name, the first of them its key."""
    text = data.get("create_table") or f"table t({', '.join(named(data))})"
    sketch = SKETCH.fullmatch(text)
    if sketch is None:
        return create_table(text, "test")
    columns = [column.strip().partition(" ") for column in sketch[2].split(",")]
    return create_table(f"CREATE TABLE {sketch[1]} ({', '.join(map(column_of, columns))})", "test")


def named(data: Mapping[str, Any]) -> list[str]:
    """Columns of events of a table that is not told."""
    said = [read(event) if isinstance(event, str) else event for event in data["input"]]
    columns = dict.fromkeys(name for event in said for name in {**(event["before"] or {}), **(event["after"] or {})})
    return [f"{name} PRIMARY KEY handle" if at == 0 else name for at, name in enumerate(columns)]


def column_of(column: tuple[str, str, str]) -> str:
    name, _, said = column
    said = said.replace("PRIMARY KEY", "PRIMARY KEY NONCLUSTERED").replace("handle", "")
    return f"{name} VARCHAR(100) {said}"


def row(table: Table, values: Row | None) -> Row | None:
    """Every column, NULL where nothing is said."""
    return None if values is None else {name: values.get(name) for name in names(table)}


def names(table: Table) -> list[str]:
    return [column.name for column in visible_columns(table)]


@dataclass(frozen=True)
class Transaction:
    """Row changes of one table, as TiDB writes them."""

    table: Table
    events: tuple[RowEvent, ...]
    rule: SplitRule


def of_diff(transaction: Transaction) -> list[RowEvent]:
    """The changes as a diff finds them: an UPDATE of the handle key, or of a row without one, is a row that went and a
    row that came."""
    found = []
    for event in transaction.events:
        before, after = event.before, event.after
        if before is None or after is None or same_key(transaction.table, before, after):
            found.append(event)
        else:
            found += [RowEvent(DELETE, before, None), RowEvent(INSERT, None, after)]
    return found


def same_key(table: Table, before: Row, after: Row) -> bool:
    old, new = key_bytes.handle_keys(table, cells.columns([before, after])).to_pylist()
    return bool(handle_key(table)) and old == new


def plain(transaction: Transaction) -> list[RowEvent]:
    """What the functions for one transaction make of the changes of a diff, with their whole old rows, as rows in a run
    have them."""
    found = sent(transaction.table, of_diff(transaction), replace(transaction.rule, old_value=True))
    return [replace(event, half=False) for event in found]


def by_batch(transaction: Transaction) -> list[RowEvent]:
    """What a run makes of them."""
    table, rule, events = transaction.table, transaction.rule, of_diff(transaction)
    if not events:
        return []
    changes = pa.record_batch(
        {
            "commit_ts": pa.array([7] * len(events), pa.int64()),
            "table": pa.array([0] * len(events), pa.int32()),
            "handle": pa.array([b"%04d" % number for number in range(len(events))], pa.binary()),
            "before": packed(table, [event.before for event in events]),
            "after": packed(table, [event.after for event in events]),
        }
    )
    placed = add_ranks(changes, rule)
    if may_split(table, rule):
        is_split = np.zeros(len(events), np.bool_)
        updates = [number for number, event in enumerate(events) if event.before and event.after]
        if updates:
            before, after = (
                cells.columns([row for number in updates if (row := getattr(events[number], side))])
                for side in ("before", "after")
            )
            is_split[updates] = keys_changed(table, before, after, rule)
        placed = split_updates(changes, is_split & shares_transaction(changes) if rule.several else is_split, rule)
    rows = pa.Table.from_batches([placed]).sort_by([(name, "ascending") for name in ORDER]).to_pylist()
    return [RowEvent(row["op"], unpacked(table, row["before"]), unpacked(table, row["after"])) for row in rows]


def packed(table: Table, rows: Sequence[Row | None]) -> pa.Array:
    """Images of rows."""
    return pa.concat_arrays(
        [
            pa.nulls(1, pa.binary()) if row is None else row_image.pack(list(cells.columns([row]).values()))
            for row in rows
        ]
    )


def unpacked(table: Table, image: bytes | None) -> Row | None:
    if image is None:
        return None
    names = [column.name for column in visible_columns(table)]
    return {
        name: None if cell == b"\xfe" else cell.decode() for name, cell in zip(names, image.split(b"\xff"), strict=True)
    }


EVENTS = keys_of("type before after op commit_ts is_update values")
KINDS = {
    "facts.update_split": Kind(
        check_split,
        keys_of(
            "kind protocol output-raw-change-event csv_output_old_value create_table before after case transaction "
            "uk_changed rows_in_txn old_value expected_order_note",
            input=EVENTS,
            expected=EVENTS,
        ),
    )
}
