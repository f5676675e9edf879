"""Vectors of the dispatchers: partitions, hashes, rules and topics; and TiCDC's dispatch hash value by value, and what rows
of one message share: what the columns of a run are held to."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from simulator.columns import cells
from simulator.errors import ChangefeedError
from simulator.releases import Release
from simulator.ticdc import dispatch
from simulator.ticdc.changefeed.model import DispatchRule
from simulator.tidb.ddl.definitions.from_sql import create_table
from simulator.tidb.model import types
from simulator.tidb.model.table import Column, Index, IndexColumn, Table
from simulator.tidb.model.types import ColumnType
from support.vectors.codecs import Json
from support.vectors.files import Vector
from support.vectors.kinds import Kind, keys_of


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


def rule(data: Json, matcher: tuple[str, ...] = ("*.*",)) -> DispatchRule:
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


def placed(rule_: DispatchRule, table: Table, row: Json, data: Json, release: Release, n: int) -> tuple[int, int]:
    """Partition and hash of a row under one rule."""
    old_value = data.get("old_value", True)
    router = dispatch.compile_rules([rule_], "topic", release=release, enable_old_value=old_value)
    route = dispatch.route(router, table)
    assert [name for name, _ in route.hashed] == data.get("index_columns", [name for name, _ in route.hashed])
    columns = {column.name: column for column in table.columns}
    texts = {name: text(value, columns[name]) for name, value in row.items() if name in columns}
    rows = cells.columns([texts or {"of a table whose columns do not count": None}])
    hashes, row_id = dispatch.dispatch_hashes(route, table, rows), pa.array([data.get("row_id")], pa.int64())
    partition = dispatch.choose_partitions(route, hashes, np.array([data["commit_ts"]]), row_id, n)
    return int(partition[0]), int(hashes[0])


def check_partitions(vector: Vector) -> None:
    """A vector of `partitions`."""
    data = vector.data
    table = create_table(data["create_table"], data["schema"])
    row = data["before"] if data["after"] is None else data["after"]
    made = {
        name: placed(DispatchRule(("*.*",), name), table, row, data, vector.release, data["n"])[0]
        for name in data["partitions"]
    }
    assert made == data["partitions"]


def check_dispatch(vector: Vector) -> None:
    """A vector of `facts.dispatch`."""
    DISPATCH_KINDS[vector.data.get("kind", "row")](vector)


def _row(vector: Vector) -> None:
    data = vector.data
    if data["partition"] == "error":
        with pytest.raises(ChangefeedError) as caught:
            placed(rule(data["rule"]), _table(data), dict(data["columns"]), data, vector.release, data["partitions"])
        assert caught.value.code == data.get("error_code", caught.value.code)
        assert contains(caught.value.text, data.get("error_text", ""))
        return
    row = dict(data["columns"])
    partition, hash_ = placed(rule(data["rule"]), _table(data), row, data, vector.release, data["partitions"])
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
    router = dispatch.compile_rules([rule(each) for each in data["rules"]], "default-topic", release=vector.release)
    number, chosen = dispatch.matching_rule(router, data["schema"], data["table"])
    used = dispatch.DISPATCHERS.get(chosen.partition, dispatch.DISPATCHERS["default"]).name
    assert number == data["rule_index"]
    assert used == dispatch.DISPATCHERS[data["dispatcher_used"]].name
    topic_kind = "static" if not chosen.topic or dispatch.is_static(chosen.topic) else "dynamic"
    assert topic_kind == data.get("topic_kind", topic_kind)


def _key(vector: Vector) -> None:
    data = vector.data
    router = dispatch.compile_rules(
        [rule(data["rule"])], "default-topic", "canal-json", scheme=data["sink"], release=vector.release
    )
    table = Table("test", "t", (Column("id", ColumnType("bigint")),), (), ("id",), True)
    route = dispatch.route(router, table)
    assert partition_key(route, table, 0, 0) == data["key"]
    numbers = np.array([12345], np.uint32), np.zeros(1, np.int64), pa.nulls(1, pa.int64())
    assert dispatch.choose_partitions(route, *numbers, 7).tolist() == [data["partition"]]


DISPATCH_KINDS = {
    "row": _row,
    "hash": _hash,
    "value_string": _value_string,
    "rule_selection": _rule_selection,
    "key": _key,
}


def check_topic(vector: Vector) -> None:
    """A vector of `facts.topics`."""
    TOPIC_KINDS[vector.data.get("kind", "expression")](vector)


def _expression(vector: Vector) -> None:
    data = vector.data
    scheme = "pulsar" if data["protocol"] == "pulsar" else "kafka"
    for protocol in data["protocol"].replace("pulsar", "canal-json").split("|"):
        if data.get("error") or data.get("error_code"):
            code, wanted = re.findall(r"(CDC:\w+)? ?(.*)", data.get("error") or "")[0]
            with pytest.raises(ChangefeedError) as caught:
                dispatch.validate(data["expression"], protocol, scheme, vector.release)
            assert caught.value.code == (data.get("error_code") or code or caught.value.code)
            assert contains(caught.value.text, data.get("error_text", wanted))
        else:
            dispatch.validate(data["expression"], protocol, scheme, vector.release)
            assert dispatch.substitute(data["expression"], data["schema"], data["table"]) == data["topic"]


def _router(vector: Vector) -> dispatch.Router:
    rules = [rule(each) for each in vector.data["rules"]]
    return dispatch.compile_rules(rules, vector.data["default_topic"], release=vector.release)


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


RULE = keys_of("matcher partition dispatcher index columns topic")
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
}


def contains(made: str, wanted: str) -> bool:
    """Whether a text holds all fixed parts of a wanted one, in order; `…`, `%v` and `%s` stand for anything."""
    at = 0
    for part in wanted.replace("%v", "…").replace("%s", "…").split("…"):
        at = made.find(part, at)
        if at < 0:
            return False
        at += len(part)
    return True
