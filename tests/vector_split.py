"""Vectors of split UPDATEs: a release, a table, rows before and after a transaction → events in order.

One law: every line is answered by the plain functions that test_split.py holds to the Spark columns of the pipeline.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from simulator.changes import DELETE, INSERT, UPDATE
from simulator.schema import parse
from simulator.schema.keys import visible_columns
from simulator.schema.table import Table
from simulator.split import RowEvent, SplitRule, net, sent, split_rule
from simulator.split.transaction import Row
from vector_files import Vector

NAMES = {DELETE: "DELETE", UPDATE: "UPDATE", INSERT: "INSERT"}
SKETCH = re.compile(r"table (\w+)\((.*)\)")
"""A table of TiCDC's unit tests, which have columns and flags and no statement: `table t(a, b PRIMARY KEY handle)`."""


def check_split(vector: Vector) -> None:
    """A vector of `facts.update_split`."""
    data = vector.data
    table = table_of(data["create_table"])
    found = events(vector, table)
    if not found:
        assert data["expected"] == []
    elif isinstance(data["expected"][0], str):
        assert [NAMES[event.op] for event in found] == data["expected"]
    elif "op" in data["expected"][0]:
        assert list(as_csv(found, data["csv_output_old_value"])) == [
            (one["op"], one.get("is_update", False), one["values"]) for one in data["expected"]]
    else:
        assert [(NAMES[event.op], event.before, event.after) for event in found] == [
            (one["type"], one["before"], one["after"]) for one in data["expected"]]


def events(vector: Vector, table: Table) -> list[RowEvent]:
    """The events of the vector's transaction, without rows of it that the vector only counts."""
    written = list(changes(vector.data, table))
    others = [RowEvent(INSERT, None, dict.fromkeys(names(table))) for _ in range(
        vector.data.get("rows_in_txn", 0) - len(written))]
    found = sent(table, [*written, *others], rule(vector))
    return [event for event in found if all(event is not one for one in others)]


def rule(vector: Vector) -> SplitRule:
    """A sink to MySQL takes the branch of output-raw-change-event (cdc/model/sink.go): it splits nothing here."""
    data = vector.data
    found = split_rule(vector.release, bool(data["output-raw-change-event"]), data.get("old_value", True))
    return replace(found, keys=0) if data["protocol"] == "mysql" else found


def changes(data: Mapping[str, Any], table: Table) -> Iterator[RowEvent]:
    """What TiDB writes: said so, or of rows before and after, which stand in pairs."""
    if data.get("kind") == "transaction":
        for one in data["input"]:
            op = next(op for op, name in NAMES.items() if name == one["type"])
            yield RowEvent(op, row(table, one["before"]), row(table, one["after"]))
        return
    before, after = (each if isinstance(each, list) else [each] for each in (data["before"], data["after"]))
    yield from net(table, [(row(table, old), row(table, new)) for old, new in zip(before, after, strict=True)])


def as_csv(events: Sequence[RowEvent], old_value: bool) -> Iterator[tuple[str, bool, Row | None]]:
    """Lines of the CSV encoder: with output-old-value it writes an UPDATE as DELETE and INSERT by itself."""
    for event in events:
        if event.op == UPDATE and old_value:
            yield "D", True, event.before
            yield "I", True, event.after
        else:
            yield NAMES[event.op][0], False, event.before if event.op == DELETE else event.after


def table_of(text: str) -> Table:
    """The table; one that is only sketched has texts, and a primary key beside which rows may be stored."""
    sketch = SKETCH.fullmatch(text)
    if sketch is None:
        return parse.create_table(text, "test")
    columns = [column.strip().partition(" ") for column in sketch[2].split(",")]
    return parse.create_table(f"CREATE TABLE {sketch[1]} ({', '.join(map(column_of, columns))})", "test")


def column_of(column: tuple[str, str, str]) -> str:
    name, _, said = column
    said = said.replace("PRIMARY KEY", "PRIMARY KEY NONCLUSTERED").replace("handle", "")
    return f"{name} VARCHAR(100) {said}"


def row(table: Table, values: Row | None) -> Row | None:
    """Every column, NULL where nothing is said."""
    return None if values is None else {name: values.get(name) for name in names(table)}


def names(table: Table) -> list[str]:
    return [column.name for column in visible_columns(table)]
