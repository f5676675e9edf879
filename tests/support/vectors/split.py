"""Vectors of what happens to rows: the partition, hash and topic that each gets, and UPDATEs that are split."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from simulator.columns import cells, row_image
from simulator.columns.change_frame import DELETE, INSERT, ORDER, UPDATE
from simulator.errors import ChangefeedError
from simulator.releases import V8_5, Release
from simulator.ticdc import dispatch, table_info
from simulator.ticdc.changefeed import Changefeed, DispatchRule, Kafka
from simulator.ticdc.codecs import CodecOptions
from simulator.ticdc.dispatch.destinations import choose_partitions, dispatch_hashes, is_static
from simulator.ticdc.dispatch.dispatchers import DISPATCHERS
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
from simulator.tidb.ddl.table_definitions import create_table
from simulator.tidb.model import types
from simulator.tidb.model.table import Column, Index, IndexColumn, Table, visible_columns
from simulator.tidb.model.types import ColumnType
from support import codec_rows
from support.transaction import Row, RowEvent, net, sent
from support.vectors.files import Json, Kind, Vector, contains, keys_of

# -- dispatchers: partitions, hashes, rules and topics ------------------------------------------------------------------


def inertia(writes: Iterable[Sequence[bytes]]) -> int:
    """The hash (unsigned, 32 bits) of writes, each being byte strings that are hashed without separators; their order
    does not matter (tiflow v8.5.3 pkg/hash/position_inertia.go)."""
    state = 0
    for parts in writes:
        state ^= zlib.crc32(b"".join(parts))
    return state


def value_string(value: object) -> str:
    """A value as dispatchers hash it (`ColumnValueString`, tiflow v8.5.3 cdc/model/sink.go)."""
    if value is None:
        return "null"
    if isinstance(value, (bool, np.bool_)):
        return "1" if value else "0"
    if isinstance(value, (float, np.floating)):
        return np.format_float_positional(value, unique=True, trim="-")
    return value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else str(value)


def partition_key(route: dispatch.Route, table: Table, hash: int, commit_ts: int) -> str:
    """What rows of one message share (release.group_by_partition_key): `schema.table`, the hash, or the commit-ts."""
    shared = {"table": f"{table.schema}.{table.name}", "hash": str(hash), "commit_ts": str(commit_ts)}
    return route.key or shared[route.groups_by]


def dispatch_rule(data: Json, matcher: tuple[str, ...] = ("*.*",)) -> DispatchRule:
    """A rule as changefeed.toml or a vector writes it."""
    return DispatchRule(
        tuple(data.get("matcher", matcher)),
        data.get("partition") or data.get("dispatcher", ""),
        data.get("index", ""),
        tuple(data.get("columns", ())),
        data.get("topic", ""),
    )


def text(value: object, column: Column) -> str | None:
    """A value of a vector as TiDB text."""
    if isinstance(value, Mapping):
        raw = bytes.fromhex(value["hex"])
        return raw.decode("latin-1" if types.is_binary(column.type) else "utf-8", "surrogateescape")
    return None if value is None else str(int(value)) if isinstance(value, bool) else str(value)


def router_of(
    rules: Sequence[DispatchRule],
    release: Release = V8_5,
    options: CodecOptions = CodecOptions("open-protocol"),
    scheme: str = "kafka",
    topic: str = "default-topic",
) -> dispatch.Router:
    """The router of a changefeed with these dispatch rules alone."""
    return dispatch.router(Changefeed(scheme, topic, options, Kafka(()), dispatchers=tuple(rules)), release)


def placed(rule_: DispatchRule, table: Table, row: Json, data: Json, release: Release, n: int) -> tuple[int, int]:
    """Partition and hash of a row under one rule."""
    old_value = data.get("old_value", True)
    router = router_of([rule_], release, CodecOptions("open-protocol", enable_old_value=old_value))
    route = dispatch.route(router, table)
    assert [name for name, _ in route.hashed] == data.get("index_columns", [name for name, _ in route.hashed])
    columns = {column.name: column for column in table.columns}
    texts = {name: text(value, columns[name]) for name, value in row.items() if name in columns}
    rows = cells.columns([texts or {"of a table whose columns do not count": None}])
    hashes, row_id = dispatch_hashes(route, table, rows), pa.array([data.get("row_id")], pa.int64())
    partition = choose_partitions(route, hashes, np.array([data["commit_ts"]]), row_id, n)
    return int(partition[0]), int(hashes[0])


def check_partitions(vector: Vector) -> None:
    """`partitions`."""
    data = vector.data
    table = create_table(data["create_table"], data["schema"])
    row = data["before"] if data["after"] is None else data["after"]
    made = {
        name: placed(DispatchRule(("*.*",), name), table, row, data, vector.release, data["n"])[0]
        for name in data["partitions"]
    }
    assert made == data["partitions"]


def check_dispatch(vector: Vector) -> None:
    """`facts.dispatch`."""
    DISPATCH_KINDS[vector.data.get("kind", "row")](vector)


def _row(vector: Vector) -> None:
    data = vector.data
    if data["partition"] == "error":
        with pytest.raises(ChangefeedError) as caught:
            placed(
                dispatch_rule(data["rule"]),
                _table(data),
                dict(data["columns"]),
                data,
                vector.release,
                data["partitions"],
            )
        assert caught.value.code == data.get("error_code", caught.value.code)
        assert contains(caught.value.text, data.get("error_text", ""))
        return
    row = dict(data["columns"])
    partition, hash_ = placed(dispatch_rule(data["rule"]), _table(data), row, data, vector.release, data["partitions"])
    assert partition == data["partition"]
    assert f"{hash_:08x}" == data.get("hash_hex", f"{hash_:08x}")


def _table(data: Json) -> Table:
    """A table that has the columns and the handle key of the vector, which gives no statement."""
    columns = [Column(name, _type(value)) for name, value in data["columns"]]
    virtual = [Column(name, _type(1), generated="virtual") for name in data.get("virtual_columns", ())]
    defined = data.get("index_definition")
    index = (
        []
        if defined is None
        else [
            Index(
                1,
                defined["name"],
                tuple(map(IndexColumn, defined["columns"])),
                defined.get("unique", False),
                defined.get("primary", False),
            )
        ]
    )
    index += [
        Index(100 + number, f"unique{number}", (IndexColumn(columns[-1].name),), True)
        for number in range(1, data.get("unique_indexes", 1))
    ]
    return Table(
        data["schema"], data["table"], (*columns, *virtual), tuple(index), tuple(data.get("handle_key", ())), True
    )


def _type(value: object) -> ColumnType:
    """Of a column that holds the value: JSON's integers are BIGINT, its other numbers DOUBLE."""
    if isinstance(value, Mapping):
        return ColumnType("varbinary", 255, charset="binary", collation="binary")
    if isinstance(value, float):
        return ColumnType("double")
    if isinstance(value, int):
        return ColumnType("bigint", unsigned=value >= 1 << 63)
    return ColumnType("varchar", 255, charset="utf8mb4", collation="utf8mb4_bin")


def _hash(vector: Vector) -> None:
    writes = [[part.encode() for part in write] for write in vector.data["writes"]]
    assert f"{inertia(writes):08x}" == vector.data["hash_hex"]


GO_TYPES: dict[str, Callable[[Any], object]] = {"float32": np.float32, "bytes": str.encode}


def _value_string(vector: Vector) -> None:
    data = vector.data
    value = GO_TYPES[data["type"]](data["value"]) if data["type"] in GO_TYPES else data["value"]
    assert value_string(value) == data["text"]


def _rule_selection(vector: Vector) -> None:
    data = vector.data
    router = router_of([dispatch_rule(each) for each in data["rules"]], vector.release)
    number, chosen = dispatch.matching_rule(router, data["schema"], data["table"])
    used = DISPATCHERS.get(chosen.partition, DISPATCHERS["default"]).name
    assert number == data["rule_index"]
    assert used == DISPATCHERS[data["dispatcher_used"]].name
    topic_kind = "static" if not chosen.topic or is_static(chosen.topic) else "dynamic"
    assert topic_kind == data.get("topic_kind", topic_kind)


def _key(vector: Vector) -> None:
    data = vector.data
    router = router_of([dispatch_rule(data["rule"])], vector.release, CodecOptions("canal-json"), scheme=data["sink"])
    table = Table("test", "t", (Column("id", ColumnType("bigint")),), (), ("id",), True)
    route = dispatch.route(router, table)
    assert partition_key(route, table, 0, 0) == data["key"]
    numbers = np.array([12345], np.uint32), np.zeros(1, np.int64), pa.nulls(1, pa.int64())
    assert choose_partitions(route, *numbers, 7).tolist() == [data["partition"]]


DISPATCH_KINDS = {
    "row": _row,
    "hash": _hash,
    "value_string": _value_string,
    "rule_selection": _rule_selection,
    "key": _key,
}


def check_topic(vector: Vector) -> None:
    """`facts.topics`."""
    TOPIC_KINDS[vector.data.get("kind", "expression")](vector)


def _expression(vector: Vector) -> None:
    data = vector.data
    scheme = "pulsar" if data["protocol"] == "pulsar" else "kafka"
    for protocol in data["protocol"].replace("pulsar", "canal-json").split("|"):
        if data.get("error") or data.get("error_code"):
            code, wanted = re.findall(r"(CDC:\w+)? ?(.*)", data.get("error") or "")[0]
            with pytest.raises(ChangefeedError) as caught:
                dispatch.validate_expression(data["expression"], protocol, scheme, vector.release)
            assert caught.value.code == (data.get("error_code") or code or caught.value.code)
            assert contains(caught.value.text, data.get("error_text", wanted))
        else:
            dispatch.validate_expression(data["expression"], protocol, scheme, vector.release)
            assert dispatch.topic_name(data["expression"], data["schema"], data["table"]) == data["topic"]


def _router(vector: Vector) -> dispatch.Router:
    rules = [dispatch_rule(each) for each in vector.data["rules"]]
    return router_of(rules, vector.release, topic=vector.data["default_topic"])


def _active_topics(vector: Vector) -> None:
    data = vector.data
    made = dispatch.active_topics(_router(vector), [(schema, table) for schema, table in data["tables"]])
    assert sorted(made) == sorted(data["topics"])


def _row_topic(vector: Vector) -> None:
    data = vector.data
    assert dispatch.topic_of(_router(vector), data["schema"], data["table"]) == data["topic"]


def _ddl_topic(vector: Vector) -> None:
    data = vector.data
    old = tuple(data["old_table"]) if data["old_table"] else None
    assert dispatch.topic_of_ddl(_router(vector), data["schema"], data["table"], old) == data["topic"]


TOPIC_KINDS = {
    "expression": _expression,
    "active_topics": _active_topics,
    "row_topic": _row_topic,
    "ddl_topic": _ddl_topic,
}


# -- split UPDATEs: a release, a table, rows before and after a transaction → events in order ---------------------------
# Every line is answered twice, by the functions for a transaction and by the batches of a run, whose columns, keys and
# order are those of the changes that a diff finds.

NAMES = {DELETE: "DELETE", UPDATE: "UPDATE", INSERT: "INSERT"}
SKETCH = re.compile(r"table (\w+)\((.*)\)")
"""A table of TiCDC's unit tests, which have columns and flags and no statement: `table t(a, b PRIMARY KEY handle)`."""


def may_split(table: Table, rule: SplitRule) -> bool:
    """Whether an UPDATE of the table may be split in a diff."""
    return bool(rule.keys and key_columns_in_diff(table, rule))


def check_split(vector: Vector) -> None:
    """`facts.update_split`. A sink to MySQL takes the branch of output-raw-change-event (cdc/model/sink.go): it splits
    nothing here. Rows of the transaction that the vector only counts are in it, and are not compared."""
    data, expected = vector.data, vector.data["expected"]
    table = table_of(data)
    rule = split_rule(vector.release, bool(data.get("output-raw-change-event")), data.get("old_value", True))
    rule = replace(rule, keys=0) if data.get("protocol") == "mysql" else rule
    own = list(changes(data, table))
    others = range(data.get("rows_in_txn", 0) - len(own))
    counted = [RowEvent(INSERT, None, dict.fromkeys(names(table))) for _ in others]
    found = [event for event in sent(table, own + counted, rule) if all(event is not other for other in counted)]
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
    in_diff = of_diff(table, own + counted)
    one_by_one = [replace(event, half=False) for event in sent(table, in_diff, replace(rule, old_value=True))]
    assert by_batch(table, in_diff, rule) == one_by_one


def changes(data: Json, table: Table) -> Iterator[RowEvent]:
    """What TiDB writes: said so, or of rows before and after, which stand in pairs."""
    if "input" in data:
        for said in map(read, data["input"]):
            op = next(op for op, name in NAMES.items() if name == said["type"])
            yield RowEvent(op, row(table, said["before"]), row(table, said["after"]))
        return
    before, after = (each if isinstance(each, list) else [each] for each in (data["before"], data["after"]))
    pairs = [(row(table, old), row(table, new)) for old, new in zip(before, after, strict=True)]
    if "uk_changed" in data:
        indexes = [index for index in table.indexes if index.unique or index.primary]
        unique = {column.name for index in indexes for column in index.columns} | set(table.primary_key)
        changed = (old and new and any(old[name] != new[name] for name in unique) for old, new in pairs)
        assert data["uk_changed"] == any(changed)
    yield from net(table, pairs)


def read(event: str | Json) -> Json:
    """An event, which may be written `DELETE(id=3)`, or `UPDATE(id=3, v=1->2)`."""
    if not isinstance(event, str):
        return event
    found = re.fullmatch(r"(DELETE|UPDATE|INSERT)\((.*)\)", event)
    assert found, f"no event: {event}"
    pairs = [part.strip().partition("=") for part in found[2].split(",")]
    old, new = ({name: re.split(" *(?:->|→) *", value)[at] for name, _, value in pairs} for at in (0, -1))
    of = found[1]
    return {"type": of, "before": None if of == "INSERT" else old, "after": None if of == "DELETE" else new}


def written(event: RowEvent | None, like: str | None) -> str | None:
    """An event as the vector writes one: its kind, or with the columns that the vector names."""
    if event is None:
        return None
    if like is None or "(" not in like:
        return NAMES[event.op]
    said = read(like)
    old, new = event.before or event.after or {}, event.after or event.before or {}
    values = (
        f"{name}={new[name]}" if old[name] == new[name] else f"{name}={old[name]}->{new[name]}"
        for name in said["after"] or said["before"]
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


def table_of(data: Json) -> Table:
    """The table; one that is only sketched has texts, and a primary key beside which rows may be stored; one that is
    not even that has the columns that events name, the first of them its key."""
    text = data.get("create_table")
    if text is None:
        sides = (side for event in map(read, data["input"]) for side in (event["before"], event["after"]) if side)
        first, *rest = dict.fromkeys(name for side in sides for name in side)
        text = f"table t({', '.join([f'{first} PRIMARY KEY handle', *rest])})"
    sketch = SKETCH.fullmatch(text)
    if sketch is None:
        return create_table(text, "test")
    keyed = sketch[2].replace("PRIMARY KEY", "PRIMARY KEY NONCLUSTERED").replace("handle", "")
    columns = (column.strip().partition(" ") for column in keyed.split(","))
    texts = (f"{name} VARCHAR(100) {said}" for name, _, said in columns)
    return create_table(f"CREATE TABLE {sketch[1]} ({', '.join(texts)})", "test")


def row(table: Table, values: Row | None) -> Row | None:
    """Every column, NULL where nothing is said."""
    return None if values is None else {name: values.get(name) for name in names(table)}


def names(table: Table) -> list[str]:
    return [column.name for column in visible_columns(table)]


def of_diff(table: Table, events: Sequence[RowEvent]) -> list[RowEvent]:
    """The changes as a diff finds them: an UPDATE of the handle key, or of a row without one, is a row that went and a
    row that came."""
    found = []
    for event in events:
        before, after = event.before, event.after
        if before is None or after is None or same_key(table, before, after):
            found.append(event)
        else:
            found += [RowEvent(DELETE, before, None), RowEvent(INSERT, None, after)]
    return found


def same_key(table: Table, before: Row, after: Row) -> bool:
    old, new = table_info.handles_of_rows(table, cells.columns([before, after])).to_pylist()
    return bool(handle_key(table)) and old == new


def by_batch(table: Table, events: Sequence[RowEvent], rule: SplitRule) -> list[RowEvent]:
    """What a run makes of changes, with their whole old rows."""
    if not events:
        return []

    def images(rows: Iterable[Row | None]) -> pa.Array:
        return pa.array([codec_rows.image(each, table, frozenset()) for each in rows], pa.binary())

    changes = pa.record_batch(
        {
            "commit_ts": pa.array([7] * len(events), pa.int64()),
            "table": pa.array([0] * len(events), pa.int32()),
            "handle": pa.array([b"%04d" % number for number in range(len(events))], pa.binary()),
            "before": images(event.before for event in events),
            "after": images(event.after for event in events),
        }
    )
    placed = add_ranks(changes, rule)
    if may_split(table, rule):
        is_split = np.zeros(len(events), np.bool_)
        updates = {at: (event.before, event.after) for at, event in enumerate(events) if event.before and event.after}
        if updates:
            before, after = (cells.columns(side) for side in zip(*updates.values(), strict=True))
            is_split[list(updates)] = keys_changed(table, before, after, rule)
        placed = split_updates(changes, is_split & shares_transaction(changes) if rule.several else is_split, rule)
    rows = pa.Table.from_batches([placed]).sort_by([(name, "ascending") for name in ORDER]).to_pylist()
    return [RowEvent(row["op"], unpacked(table, row["before"]), unpacked(table, row["after"])) for row in rows]


def unpacked(table: Table, image: bytes | None) -> Row | None:
    if image is None:
        return None
    found = zip(names(table), row_image.cells_of(image), strict=True)
    return {name: None if cell is None else cell.decode() for name, cell in found}


RULE = keys_of("matcher partition dispatcher index columns topic")
EVENTS = keys_of("type before after op commit_ts is_update values")
KINDS = {
    "partitions": Kind(
        check_partitions, keys_of("create_table schema table before after commit_ts row_id n partitions")
    ),
    "facts.dispatch": Kind(
        check_dispatch,
        keys_of(
            "kind schema table columns virtual_columns handle_key unique_indexes index_columns old_value row_id commit_ts "
            "partitions partition hash_hex error_code error_text writes type value text rule_index dispatcher_used "
            "topic_kind sink key",
            rule=RULE,
            rules=RULE,
            index_definition=keys_of("name columns unique primary"),
        ),
    ),
    "facts.topics": Kind(
        check_topic,
        keys_of(
            "kind expression protocol schema table tables old_table type_code default_topic topic topics error error_code "
            "error_text",
            rules=RULE,
        ),
    ),
    "facts.update_split": Kind(
        check_split,
        keys_of(
            "kind protocol output-raw-change-event csv_output_old_value create_table before after case transaction "
            "uk_changed rows_in_txn old_value expected_order_note",
            input=EVENTS,
            expected=EVENTS,
        ),
    ),
}
