"""`explain row` shows what a run would do with a row, and rejects what is no row of the table."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.playing import said

from simulator import TiCDC
from simulator.errors import UserError
from simulator.explain.change import parse_row_change, parse_value
from simulator.explain.row import RowExplained, explain_row, row_as_dict, row_lines
from simulator.releases import V8_5, Release, find
from simulator.ticdc.changefeed import Changefeed, DispatchRule, Kafka, load
from simulator.ticdc.codecs import CODECS, CodecOptions
from simulator.tidb.ddl.table_definitions import create_table
from simulator.tidb.model.table import Column
from simulator.tidb.model.types import ColumnType

STATEMENT = (
    "CREATE TABLE `t1` (`id` INT PRIMARY KEY, `name` VARCHAR(20), `b` VARBINARY(4), `v` INT AS (`id` + 1), "
    "`n` BIGINT UNSIGNED NOT NULL)"
)
TABLE = create_table(STATEMENT, "test")
OPEN = Changefeed("kafka", "shop", CodecOptions("open-protocol"), Kafka(("127.0.0.1:9092",)))
CANAL = replace(OPEN, codec=CodecOptions("canal-json"))


def explained(row: Mapping[str, Any], changefeed: Changefeed = OPEN, dispatcher: str = "index-value") -> RowExplained:
    rule = DispatchRule(("*.*",), dispatcher)
    return explain_row(TABLE, replace(changefeed, dispatchers=(rule,)), parse_row_change(TABLE, row))


INSERT = {"after": {"id": 2, "name": "é", "b": {"hex": "89ff"}, "n": "18446744073709551615"}, "commit_ts": 1}


def test_a_row_has_flags_handle_and_destination() -> None:
    """The hash is that of TiCDC's own tests for test.t1 and id = 2."""
    found = explained({**INSERT, "partitions": 3})
    assert (found.op, found.handle_key, found.dispatcher) == ("INSERT", ("id",), "index-value")
    assert (found.hashed, found.hash, found.partition, found.topic) == (("id",), 0x315DB3E1, 0, "shop")
    assert [
        ("id", 3, 11, ("binary", "handle key", "primary key"), True, True),
        ("name", 15, 64, ("nullable",), False, True),
        ("b", 15, 65, ("binary", "nullable"), False, True),
        ("v", 3, 69, ("binary", "generated", "nullable"), False, False),
        ("n", 8, 129, ("binary", "unsigned"), False, True),
    ] == [
        (column.name, column.type_code, column.flags, column.flag_names, column.handle, column.sent)
        for column in found.columns
    ]


def test_people_see_columns_destination_and_bytes() -> None:
    text = "\n".join(row_lines(explained({**INSERT, "partitions": 3})))
    assert text.startswith("INSERT on test.t1 under TiCDC v8.5.3 (classic)\n")
    assert text.splitlines()[2] == "column  type  mysqlType        sqlType  flags"
    assert "v       3     int              4        69     binary, generated, nullable; never sent" in text
    assert "dispatcher   index-value: hash 0x315db3e1 of schema, table and the values of id" in text
    assert "destination  shop/0 of 3 partitions" in text
    assert r'\x00\x00\x00\x00\x00\x00\x00.{"ts":1,"scm":"test","tbl":"t1","rid":2,"t":1}' in text
    assert "by commit-ts" not in text
    assert "ts: the commit-ts" in "\n".join(row_lines(explained(INSERT, dispatcher="ts")))


def test_programs_get_the_same_as_json() -> None:
    found = explained({**INSERT, "partitions": 3})
    data = json.loads(json.dumps(row_as_dict(found)))
    assert (found.hash, found.partition, ["id"]) == (data["hash"], data["partition"], data["handle_key"])
    ((key, value),) = found.messages
    assert key is not None
    assert [{"key": key.hex(), "value": value.hex()}] == data["messages"]
    assert ["nullable"] == data["columns"][1]["flag_names"]


def test_a_new_protocol_shows_what_it_says_of_a_column(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside what other protocols say, for people and for programs; the changefeed's protocol comes first, and a field
    that several have is shown once."""

    def column_fields(type: ColumnType, options: CodecOptions, release: Release) -> Mapping[str, str | int]:
        return {"logicalSize": type.length, "mysqlType": f"{options.protocol}:{type.name}"}

    codec = CODECS["open-protocol"]
    made_up = replace(codec, protocol=replace(codec.protocol, name="made-up"), column_fields=column_fields)
    monkeypatch.setitem(CODECS, "made-up", made_up)

    def shown(changefeed: Changefeed) -> tuple[list[str], list[str], dict[str, Any]]:
        found = explained(INSERT, changefeed)
        head, _, name = list(row_lines(found))[2:5]
        return head.split(), name.split(), row_as_dict(found)["columns"][1]

    known = {"name": "name", "type_code": 15, "flags": 64, "flag_names": ("nullable",), "handle": False, "sent": True}
    assert (
        ["column", "type", "mysqlType", "sqlType", "logicalSize", "flags"],
        ["name", "15", "varchar", "12", "20", "64", "nullable"],
        {**known, "mysql_type": "varchar", "sql_type": 12, "logical_size": 20},
    ) == shown(OPEN)
    assert (
        ["column", "type", "logicalSize", "mysqlType", "sqlType", "flags"],
        ["name", "15", "20", "made-up:varchar", "12", "64", "nullable"],
        {**known, "logical_size": 20, "mysql_type": "made-up:varchar", "sql_type": 12},
    ) == shown(replace(OPEN, codec=CodecOptions("made-up")))


def test_partitions_are_those_of_the_changefeed_by_default() -> None:
    asked = replace(OPEN, kafka=replace(OPEN.kafka, partition_num=7))
    found = explained(INSERT), explained(INSERT, asked), explained({**INSERT, "partitions": 5}, asked)
    assert [each.partitions for each in found] == [3, 7, 5]


ROWS = (
    ("INSERT INTO t1 (id, name, b, n) VALUES (2, 'é', x'89ff', 18446744073709551615)", {"after": INSERT["after"]}),
    (
        "UPDATE t1 SET name = NULL, n = 7",
        {"before": INSERT["after"], "after": {"id": 2, "name": None, "b": {"hex": "89ff"}, "n": 7}},
    ),
    ("DELETE FROM t1", {"before": {"id": 2, "name": None, "b": {"hex": "89ff"}, "n": 7}}),
)


@pytest.mark.parametrize("dispatcher", ["index-value", "table", "ts"])
@pytest.mark.parametrize(
    "protocol", ["open-protocol", "canal-json", "canal-json&enable-tidb-extension=true", "debezium"]
)
@pytest.mark.parametrize("release", ["v8.5.3", "new:v8.5.4"])
def test_messages_and_partition_are_those_of_a_run(release: str, protocol: str, dispatcher: str) -> None:
    """Whose bytes are compared with TiCDC's in tests/fidelity."""
    uri = f"kafka://127.0.0.1:9092/shop?protocol={protocol}&partition-num=16"
    config = f'[sink]\ndispatchers = [{{matcher = ["*.*"], partition = "{dispatcher}"}}]\n'
    architecture, _, tag = release.rpartition(":")
    of = find(tag, architecture or "classic")
    with TiCDC(release, sink_uri=uri, config=config) as ticdc:
        ticdc.execute(STATEMENT)
        ticdc.messages()
        for statement, row in ROWS:
            ticdc.execute(statement)
            (sent,) = ticdc.messages(watermark=False)
            change = parse_row_change(TABLE, {**row, "commit_ts": sent.commit_ts})
            found = explain_row(TABLE, load(uri, config, of), change, of)
            assert (found.messages, found.partition) == (((sent.key, sent.value),), sent.partition), statement


def test_an_update_that_ticdc_splits_is_marked() -> None:
    """This holds for a key's columns, if the release splits and output-raw-change-event does not prevent it."""
    table = create_table("CREATE TABLE t (id INT PRIMARY KEY, uk INT UNIQUE, n INT)", "test")

    def sent_update(after: Mapping[str, Any], changefeed: Changefeed = OPEN, release: Release = V8_5) -> RowExplained:
        return explain_row(
            table, changefeed, parse_row_change(table, {"before": {"id": 1, "uk": 1}, "after": after}), release
        )

    other = {"id": 1, "uk": 2}
    assert ("uk",) == sent_update(other).split_by
    assert "TiCDC sends this UPDATE as DELETE and INSERT" in "\n".join(row_lines(sent_update(other)))
    assert () == sent_update(other, replace(OPEN, output_raw_change_event=True)).split_by
    assert () == sent_update(other, release=find("v7.1.1")).split_by
    assert () == sent_update({"id": 1, "uk": 1, "n": 2}).split_by


def test_tidb_splits_an_update_of_a_clustered_key_unless_the_collation_considers_the_keys_equal() -> None:
    """No setting of TiCDC changes that; TiCDC, which compares bytes, splits the other one."""
    found = explained(
        {"before": {"id": 1, "n": 1}, "after": {"id": 2, "n": 1}}, replace(OPEN, output_raw_change_event=True)
    )
    assert (found.moved_by, found.split_by) == (("id",), ())
    assert "TiDB writes this UPDATE as DELETE and INSERT" in "\n".join(row_lines(found))

    table = create_table("CREATE TABLE t (k VARCHAR(9) COLLATE utf8mb4_general_ci PRIMARY KEY CLUSTERED)", "test")

    found = explain_row(table, OPEN, parse_row_change(table, {"before": {"k": "ann"}, "after": {"k": "Ann "}}))

    assert (found.moved_by, found.split_by) == ((), ("k",))


def column(type_: str) -> Column:
    (found,) = create_table(f"CREATE TABLE `t` (`c` {type_})", "test").columns
    return found


@pytest.mark.parametrize(
    ("type_", "value", "text"),
    [
        ("INT UNSIGNED", "007", "7"),
        ("DECIMAL(5,2)", 1.5, "1.50"),
        ("DECIMAL(5,2)", "-0", "0.00"),
        ("DOUBLE", "1e21", "1e21"),
        ("BIT(3)", 7, "7"),
        ("YEAR", "0000", "0"),
        ("DATE", "2024-02-29", "2024-02-29"),
        ("TIME(2)", "-838:59:59.00", "-838:59:59.00"),
        ("DATETIME", "2024-02-29 10:00:00", "2024-02-29 10:00:00"),
        ("ENUM('a','b')", "b", "b"),
        ("SET('a','b')", "b,a", "a,b"),
        ("VARBINARY(4)", {"hex": "c3a9"}, "\u00c3\u00a9"),
        ("VARCHAR(4)", {"hex": "c3a9"}, "é"),
        ("VARCHAR(4)", {"hex": "ff"}, "\udcff"),
        ("JSON", '{"a": 1}', '{"a": 1}'),
        ("VARCHAR(4)", 7, "7"),
    ],
)
def test_values_become_tidb_text(type_: str, value: Any, text: str) -> None:
    assert text == parse_value(value, column(type_))


NOT_STORED: dict[str, tuple[Any, ...]] = {
    "TINYINT": (128,),
    "INT": ("1.5", 1.5, "٣"),
    "DECIMAL(5,2)": ("1000", "1.234", "x", "٣"),
    "DOUBLE": ("nan",),
    "FLOAT": (1e39, "1_0"),
    "FLOAT(5,2)": (1000,),
    "BIT(3)": (8,),
    "YEAR": (1900, 70),
    "DATE": ("2024-2-9", "2023-02-29"),
    "TIME(2)": ("10:00:00",),
    "TIME": ("839:00:00",),
    "DATETIME": ("2024-02-29", "2024-02-29 24:00:00"),
    "TIMESTAMP": ("2039-01-01 00:00:00",),
    "ENUM('a','b')": ("c", "2"),
    "SET('a','b')": ("a,c",),
    "JSON": ("{", "nan"),
    "VARCHAR(2)": ("abc",),
    "CHAR(2)": ({"hex": "ffffff"},),
    "TINYTEXT": ("ä" * 128,),
    "VARBINARY(1)": ({"hex": "c3a9"},),
    "VECTOR(2)": ("[1]",),
}


@pytest.mark.parametrize("type_", NOT_STORED)
def test_values_that_tidb_cannot_store_are_rejected(type_: str) -> None:
    of = column(type_)
    for value in NOT_STORED[type_]:
        with pytest.raises(UserError, match=re.escape(f"column 'c': {value!r} is no {of.type.name} (")):
            parse_value(value, of)


def test_a_row_has_the_row_id_that_its_images_have() -> None:
    table = create_table("CREATE TABLE t (id INT, PRIMARY KEY (id) NONCLUSTERED)", "test")
    before, after = {"_tidb_rowid": -7, "id": 1}, {"_tidb_rowid": -7, "id": 2}
    assert parse_row_change(table, {"before": before, "after": after}).row_id == -7
    for row, words in (
        ({"before": before, "after": {**after, "_tidb_rowid": 8}}, "have to tell the same"),
        ({"before": before, "row_id": 8}, "have to tell the same"),
        ({"after": {"_tidb_rowid": "x", "id": 1}}, "_tidb_rowid: 'x' is not an integer from"),
    ):
        with pytest.raises(UserError, match=words):
            parse_row_change(table, row)
    with pytest.raises(UserError, match="has no column '_tidb_rowid'"):
        parse_row_change(TABLE, {"after": {"_tidb_rowid": 1, "id": 2, "n": 1}})


FILTER = """[filter]
rules = ["*.*", "!test.dropped"]
ignore-txn-start-ts = [7]
[[filter.event-filters]]
matcher = ["test.t"]
ignore-event = ["delete"]
[[filter.event-filters]]
matcher = ["test.t"]
ignore-insert-value-expr = "id > 5"
ignore-update-new-value-expr = "v = 'x'"
"""


T = "t (id INT PRIMARY KEY, v VARCHAR(9))"
INSERTED = '{"after": {"id": 1}}'


@pytest.fixture(name="ask")
def _ask(tmp_path: Path) -> Callable[..., str]:
    """What `explain row` prints of a row under FILTER."""

    def ask(change: str, table: str, *options: str) -> str:
        schema, config = tmp_path / "table.sql", tmp_path / "changefeed.toml"
        schema.write_text(f"CREATE TABLE {table}")
        config.write_text(FILTER)
        code, out, _ = said("explain", "row", change, "--schema", schema, "--config", config, *options)
        assert code == 0
        return out

    return ask


@pytest.mark.parametrize(
    ("change", "table", "why"),
    [
        (INSERTED, "dropped (id INT PRIMARY KEY)", "rule !test.dropped of filter.rules"),
        (INSERTED, "mysql.t (id INT PRIMARY KEY)", "mysql is a system schema, which TiCDC never replicates"),
        (INSERTED, "u (id INT, UNIQUE (id))", "the table has no primary key and no unique key of NOT NULL"),
        ('{"after": {"id": 1}, "commit_ts": 8}', "u (id INT PRIMARY KEY)", "ignore-txn-start-ts has 7"),
        ('{"before": {"id": 1}}', T, "filter.event-filters[1] with matcher test.t: ignore-event has delete"),
    ],
)
def test_a_filtered_row_has_its_rule_alone(ask: Callable[..., str], change: str, table: str, why: str) -> None:
    found = json.loads(ask(change, table, "--json"))
    assert not found["sent"] and found["messages"] == [] and found["why"].startswith(why)
    shown = ask(change, table)
    assert f"decision     not sent\nwhy          {why}" in shown and "value " not in shown


def test_expressions_filter_by_the_values_of_the_row(ask: Callable[..., str]) -> None:
    """An UPDATE is filtered by its new row here. A row that passes has its messages and the table filter's rule."""
    ignored = "filter.event-filters[2] with matcher test.t: an expression on the row's values holds"
    for change, why in (
        ('{"after": {"id": 6}}', ignored),
        ('{"after": {"id": 5}}', "rule *.* of filter.rules"),
        ('{"before": {"id": 1}, "after": {"id": 1, "v": "x"}}', ignored),
        ('{"before": {"id": 1, "v": "x"}, "after": {"id": 1}}', "rule *.* of filter.rules"),
    ):
        found = json.loads(ask(change, T, "--json"))
        assert (found["why"], found["sent"], bool(found["messages"])) == (why, why != ignored, why != ignored)
