"""Whole databases through the command line: whatever tables, types and exports, the stream says how one state became
the other, each row where TiCDC would have put it.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from support.databases import AFTER, BEFORE, Row, Table, Value, state, write
from support.java_programs import Flink, Refused, as_sent, flink_contents, texts, typed
from support.playing import assert_leads, error_of, full_image, play, row_of

from simulator.reader.decode import DdlEvent, Event, RowEvent, Watermark, decode
from simulator.reader.records import Record, read_records
from simulator.ticdc.changefeed import load

pytestmark = pytest.mark.slow  # whole databases take long

KEY = "PRIMARY KEY ({}) /*T![clustered_index] CLUSTERED */"

TYPES: dict[str, tuple[Value, Value, Value]] = {
    "tinyint": (1, -128, 127),
    "tinyint(1)": (1, 0, 1),
    "tinyint unsigned": (1, 0, 255),
    "smallint": (1, -32768, 32767),
    "smallint unsigned": (1, 0, 65535),
    "mediumint": (1, -8388608, 8388607),
    "mediumint unsigned": (1, 0, 16777215),
    "int": (1, -2147483648, 2147483647),
    "int(8) unsigned zerofill": (1, 0, 4294967295),
    "bigint": (1, -(2**63), 2**63 - 1),
    "bigint unsigned": (1, 0, 2**64 - 1),
    "float": ("1.5", "-3.4028235e38", "1e-45"),
    "double": ("0.1", "-1.7976931348623157e308", "5e-324"),
    "decimal(10,0)": ("1", "-9999999999", "9999999999"),
    "decimal(20,5) unsigned": ("1.50000", "0.00000", "999999999999999.99999"),
    "decimal(65,30)": ("1." + "0" * 30, "-" + "9" * 35 + "." + "9" * 30, "0." + "0" * 29 + "1"),
    "bit(1)": (b"\x01", b"\x00", b"\x01"),
    "bit(10)": (b"\x00\x01", b"\x00\x00", b"\x03\xff"),
    "bit(64)": (b"\0\0\0\0\0\0\0\1", b"\0" * 8, b"\xff" * 8),
    "year": (2020, 1901, 2155),
    "date": ("2020-02-20", "0001-01-01", "9999-12-31"),
    "time": ("10:20:30", "-838:59:59", "838:59:59"),
    "time(6)": ("10:20:30.123456", "-00:00:00.000001", "838:59:58.999999"),
    "datetime": ("2020-02-20 02:20:20", "0001-01-01 00:00:00", "9999-12-31 23:59:59"),
    "datetime(3)": ("2020-02-20 02:20:20.120", "0001-01-01 00:00:00.000", "9999-12-31 23:59:59.999"),
    "timestamp": ("2020-02-20 02:20:20", "1970-01-01 00:00:01", "2038-01-19 03:14:07"),
    "timestamp(6)": ("2020-02-20 02:20:20.123456", "1970-01-01 00:00:01.000000", "2038-01-19 03:14:07.999999"),
    "char(10)": ("a", "", "😀" * 10),
    "char(10) charset latin1": ("a", "", "z z"),
    "varchar(40)": ("a", "", "  é 数据 😀  "),
    "varchar(40) collate utf8mb4_general_ci": ("a", "", "ÄÖÜ"),
    "tinytext": ("a", "", "\\N"),
    "text": ("a", "", "line\nline\r\n\tend\\"),
    "mediumtext": ("a", "", "'\"`;,--/*"),
    "longtext": ("a", "", "\0\x1a\x7f\u2028<&>😀"),
    "binary(4)": (b"a\0\0\0", b"\0\0\0\0", b"\xff\xfe\x80\n"),
    "varbinary(20)": (b"a", b"", b"\xff\xfe\\\"'\n\r\0\x80,"),
    "tinyblob": (b"a", b"", b"\\N"),
    "blob": (b"a", b"", bytes(range(256))),
    "mediumblob": (b"a", b"", b"\xf0\x9f\x98\x80"),
    "longblob": (b"a", b"", b"\xc3\x28"),
    "enum('a','b,c','é ''x')": ("a", "b,c", "é 'x"),
    "set('a','b','é ''x')": ("a", "", "a,é 'x"),
    "json": ('{"a": 1}', "null", '{"a": [1, -2.5, "\\"😀\\\\\\n"], "é": {}}'),
    "vector(3)": ("[1,2,3]", "[0,0,0]", "[-1.5,0.1,10000000000]"),
}
"""Every type of TiDB: an ordinary value, a low or empty one, a high or hostile one, as a MySQL client prints them."""


def typed_row(key: int, *which: int | None) -> Row:
    """A row of the table of all types: which value of each type, the numbers given repeating; None is NULL."""
    values = zip(TYPES.values(), cycle(which))
    return [key, *(None if choice is None else three[choice] for three, choice in values)]


TYPED = Table(
    "CREATE TABLE `every type` (`id` int NOT NULL, "
    + "".join(f"`c{number} {name.partition('(')[0]}` {name}, " for number, name in enumerate(TYPES))
    + "`twice` int GENERATED ALWAYS AS (`id` * 2) VIRTUAL, "
    + KEY.format("`id`")
    + ")",
    [typed_row(1, 0), typed_row(2, 1), typed_row(3, 2), typed_row(4, None), typed_row(5, 0, 1, None), typed_row(6, 2)],
    [typed_row(1, 1), typed_row(2, 2), typed_row(3, None), typed_row(4, 0), typed_row(6, 2, None), typed_row(7, 1, 2)],
)

TEXTS = (
    "", "\\N", "NULL", "\\", "'", '"', "a\nb", "\r\n", "\t", "\0", "\x1a", "\x7f", "😀é数", " a ", "<&>\u2028", "%s{}",
)  # fmt: skip
HOSTILE = Table(
    "CREATE TABLE `Ta.ble 数-schema%2E` (`ID` int NOT NULL, `co``l '\"` varchar(40), `数 据` varbinary(40), `a.b` json, "
    f"{KEY.format('`ID`')})",
    [[key, text, text.encode(), None] for key, text in enumerate(TEXTS)],
    [[key, text * 2, None, '"x"'] for key, text in enumerate(reversed(TEXTS), 1)],
    "Shop. Ünï%2F数",
)

COMPOSITE = Table(
    f"CREATE TABLE `composite` (`note` varchar(9), `no` int NOT NULL, `region` varchar(9) NOT NULL, "
    f"{KEY.format('`region`,`no`')})",
    [["a", 1, "x"], ["b", 2, "x"], ["c", 1, "y"], ["d", 11, "x"], ["e", 1, "x1"], [None, 5, ""]],
    [["a", 1, "x"], ["B", 2, "x"], ["c", 2, "y"], ["d", 11, "x"], [None, 1, "x1"], [None, 6, ""]],
)
NONCLUSTERED = Table(
    "CREATE TABLE `nonclustered` (`code` char(3) NOT NULL, `n` bigint, "
    "PRIMARY KEY (`code`) /*T![clustered_index] NONCLUSTERED */)",
    [["a", 1], ["b", 2], ["c", 3]],
    [["a", 1], ["b", 20], ["d", 3]],
)
UNIQUE = Table(
    "CREATE TABLE `unique_only` (`a` int NOT NULL, `b` int NOT NULL, `c` int, UNIQUE KEY `ab` (`a`,`b`), "
    "UNIQUE KEY `nullable` (`c`))",
    [[1, 1, None], [1, 2, 3]],
    [[1, 1, 4], [2, 1, 3]],
)
KEYLESS = Table(
    "CREATE TABLE `keyless` (`a` int, `b` varchar(9), KEY `a` (`a`))",
    [[1, "x"], [1, "x"], [1, "x"], [2, None], [3, "gone"], [None, None], [None, None]],
    [[1, "x"], [1, "x"], [1, "x"], [1, "x"], [1, "x"], [2, None], [2, None], [None, None], [4, "new"]],
)
DROPPED = Table("CREATE TABLE `dropped` (`id` int PRIMARY KEY)", [[1], [2]], None)
CREATED = Table(
    "CREATE TABLE `created` (\n  `id` int PRIMARY KEY,\n  `n` int COMMENT 'a; b'\n)", None, [[1, 1], [2, 2]]
)
NEW_SCHEMA = Table("CREATE TABLE `parts` (`id` int PRIMARY KEY)", None, [[1]], "annex")
PASSING = (
    Table("CREATE TABLE `late` (`id` int PRIMARY KEY)", None, [[1]], "passing"),
    Table("CREATE TABLE `gone` (`id` int PRIMARY KEY)", [[1]], None, "passing"),
)
"""Tables of one state only, with a topic each."""

EMPTY = Table("CREATE TABLE `empty` (`id` int PRIMARY KEY)")
SECRET = Table("CREATE TABLE `secret` (`id` int PRIMARY KEY)", [[1]], [[2]], "vault")
IN_OLD_SCHEMAS = (
    Table("CREATE TABLE `open` (`id` int PRIMARY KEY)", None, [[1]], "vault"),
    Table("CREATE TABLE `first` (`id` int PRIMARY KEY)", None, [[1]], "bare"),
)
"""New tables of databases that were there: of one only a table that is not replicated, the other without any."""

SYSTEM = Table("CREATE TABLE `user` (`id` int PRIMARY KEY)", [[1]], [[2]], "mysql")
LEFT_OUT = (SECRET, SYSTEM)
"""Tables that the changefeed does not replicate."""

PARTITIONED = (
    Table(
        "CREATE TABLE `by_hash` (`id` int PRIMARY KEY, `n` int) PARTITION BY HASH (`id`) PARTITIONS 3",
        [[key, 0] for key in range(-6, 6)],
        [[key, key % 2] for key in range(-4, 9)],
    ),
    Table(
        "CREATE TABLE `by_range` (`id` int, `d` date, `n` int, PRIMARY KEY (`id`,`d`)) PARTITION BY RANGE (YEAR(`d`)) "
        "(PARTITION `p0` VALUES LESS THAN (2000), PARTITION `p1` VALUES LESS THAN (2020), "
        "PARTITION `p2` VALUES LESS THAN (MAXVALUE))",
        [[1, "1999-12-31", 1], [2, "2000-01-01", 1], [3, "2020-01-01", 1]],
        [[1, "2000-12-31", 1], [2, "2000-01-01", 2], [3, "2020-01-01", 3], [4, "1970-01-01", 4]],
    ),
    Table(
        "CREATE TABLE `by_list` (`id` int, `city` varchar(9), `n` int, PRIMARY KEY (`id`,`city`)) "
        "PARTITION BY LIST COLUMNS (`city`) "
        "(PARTITION `p0` VALUES IN ('a','b'), PARTITION `p1` VALUES IN ('c'), PARTITION `rest` DEFAULT)",
        [[1, "a", 1], [2, "b", 1], [3, "c", 1], [4, "z", 1]],
        [[1, "c", 1], [2, "b", 2], [3, "c", 2], [4, "z", 2]],
    ),
)


def dispatched(name: str, schema: str = "shop") -> Table:
    """A table whose rows a dispatcher has reason to spread."""
    statement = (
        f"CREATE TABLE `{name}` (`id` int NOT NULL, `Email` varchar(20), `city` varchar(9), `n` int, "
        f"{KEY.format('`id`')}, UNIQUE KEY `uk` (`Email`))"
    )
    before = [[key, f"{key}@x" if key % 5 else None, f"city{key % 3}", 0] for key in range(20)]
    mails = {key: f"{key}@x" if key % 3 == 1 else f"{key}@y" if key % 4 else None for key in range(5, 25)}
    after = [[key, mail, f"city{key % 2}", key % 3] for key, mail in mails.items()]
    return Table(statement, before, after, schema)


DISPATCHED = {name: dispatched(name) for name in ("d_default", "d_table", "d_unique", "d_columns", "d_ts")}
WARE_HOUSE = (dispatched("a b", "Ware House"), dispatched("é", "Ware House"))
TABLES = (
    *(TYPED, HOSTILE, COMPOSITE, NONCLUSTERED, UNIQUE, KEYLESS, EMPTY, DROPPED, CREATED, NEW_SCHEMA),
    *(*IN_OLD_SCHEMAS, *PASSING, *PARTITIONED, *DISPATCHED.values(), *WARE_HOUSE),
)
"""All that the changefeed replicates."""

CHANGEFEED = """\
force-replicate = true

[filter]
rules = ["*.*", "!vault.secret"]

[sink]
dispatchers = [
    { matcher = ["shop.d_table"], partition = "table" },
    { matcher = ["shop.d_unique"], partition = "index-value", index = "UK" },
    { matcher = ["shop.D_COLUMNS"], partition = "columns", columns = ["CITY", "n"] },
    { matcher = ["shop.d_ts"], partition = "ts" },
    { matcher = ["shop.d_default"], partition = "default", topic = "the-default" },
    { matcher = ["`Ware House`.*"], topic = "of_{schema}.{table}", partition = "index-value" },
    { matcher = ["passing.*"], topic = "of_{table}" },
    { matcher = ["*.*"], partition = "index-value", topic = "" },
]
"""
POS = 447_000_000_000_000_001
PARTITIONS = 4
TOPICS = ("all", "the-default", "of_Ware_House.a_b", "of_Ware_House._", "of_late", "of_gone")
HOST = "kafka://127.0.0.1:9092/all?partition-num=4&protocol="
OPEN, CANAL = HOST + "open-protocol", HOST + "canal-json&enable-tidb-extension=true"


@dataclass(frozen=True)
class Run:
    """What a run over the whole shop wrote."""

    uri: str
    fixtures: Path
    summary: dict[str, Any]

    @cached_property
    def records(self) -> list[Record]:
        return list(read_records(str(self.fixtures)))

    @cached_property
    def placed(self) -> list[tuple[Record, Event]]:
        """Every event with the record it is in."""
        return [(record, event) for record in self.records for event in decode(record.key, record.value)]

    def lane(self, topic: str, partition: int) -> list[Event]:
        return [event for record, event in self.placed if (record.topic, record.partition) == (topic, partition)]

    def marks(self, topic: str, partition: int) -> list[int]:
        return [event.ts for event in self.lane(topic, partition) if isinstance(event, Watermark)]

    def rows(self, table: Table) -> list[tuple[Record, RowEvent]]:
        rows = ((record, event) for record, event in self.placed if isinstance(event, RowEvent))
        return [(record, event) for record, event in rows if (event.schema, event.table) == table.name]


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Both states of the shop, and tables that are not replicated: SQL with a Pos before, compressed CSV after."""
    folder, tables = tmp_path_factory.mktemp("shop"), (*TABLES, *LEFT_OUT)
    before, after = write(folder / "b", tables, BEFORE, pos=POS), write(folder / "a", tables, AFTER, "csv.zst")
    (before / "bare-schema-create.sql").write_text("CREATE DATABASE `bare`;\n")
    return before, after


@pytest.fixture(scope="module", params=[OPEN, CANAL], ids=["open-protocol", "canal-json"])
def run(request: pytest.FixtureRequest, states: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The shop through a changefeed that has a rule for everything, once for each protocol."""
    return run_of(request.param, states, tmp_path_factory.mktemp("run"))


def run_of(uri: str, states: tuple[Path, Path], folder: Path, *options: object) -> Run:
    config, summary = folder / "changefeed.toml", folder / "summary.json"
    config.write_text(CHANGEFEED)
    shared = ("--sink-uri", uri, "--config", config, "--fixtures", folder / "out", "--summary", summary)
    assert play("diff", *states, *shared, "--master", "none", *options) == 0
    return Run(uri, folder / "out", json.loads(summary.read_text()))


def assert_leads_on(run: Run, tables: tuple[Table, ...], topics: tuple[str, ...]) -> None:
    definitions = {table.name: table.definition for table in tables}
    partitions, changefeed = dict.fromkeys(topics, PARTITIONS), load(run.uri, CHANGEFEED)
    before, after = (state(tables, which) for which in (BEFORE, AFTER))
    assert_leads(run.records, changefeed, partitions, definitions, before, after)


def test_the_stream_keeps_the_contract_and_leads_to_the_state_after(run: Run) -> None:
    """Of every type, NULL, empty and hostile values included, in tables with a key and without."""
    assert_leads_on(run, TABLES, TOPICS)


@pytest.mark.interop
def test_flink_keeps_every_table_of_a_canal_json_stream(run: Run, flink: Flink) -> None:
    """Names, types and keys may be what they are; watermarks and the other tables' statements pass by."""
    messages = [record.value for record in run.records if record.value is not None]
    if run.uri == OPEN:
        with pytest.raises(Refused):
            flink.read({"id": "INT"}, messages)
        return
    states = [state(TABLES, which) for which in (BEFORE, AFTER)]
    for table in (table for table in TABLES if table.after is not None):
        before, after = (
            Counter(as_sent(table.definition, row_of(image, table.definition)) for image in held.get(table.name, ()))
            for held in states
        )
        for type_of in (texts, typed):
            assert flink_contents(flink, table.definition, type_of, messages, before) == after, table.name


def test_tables_of_one_state_are_created_before_their_rows_and_dropped_after_the_others(run: Run) -> None:
    """As TiCDC restores them; the rows of a dropped table go without an event."""
    seen = [event for event in run.lane("all", 0) if not isinstance(event, Watermark)]
    assert [event.query for event in seen[:5] if isinstance(event, DdlEvent)] == [
        "CREATE DATABASE `annex`",
        "CREATE TABLE `parts` (`id` INT PRIMARY KEY)",
        "CREATE TABLE `first` (`id` INT PRIMARY KEY)",
        "CREATE TABLE `created` (`id` INT PRIMARY KEY,`n` INT COMMENT 'a; b')",
        "CREATE TABLE `open` (`id` INT PRIMARY KEY)",
    ]
    assert isinstance(seen[-1], DdlEvent) and seen[-1].query == "DROP TABLE `shop`.`dropped`"
    assert {type(event) for event in seen[5:-1]} == {RowEvent}
    assert run.rows(DROPPED) == []
    assert [event.op for _, event in run.rows(CREATED)] == ["INSERT"] * 2


def test_statements_reach_the_partitions_that_the_protocol_wants(run: Run) -> None:
    found = Counter((record.topic, record.partition) for record, event in run.placed if isinstance(event, DdlEvent))
    counts, reached = {"all": 6, "of_late": 1, "of_gone": 1}, PARTITIONS if run.uri == OPEN else 1
    assert found == {(topic, partition): count for topic, count in counts.items() for partition in range(reached)}


def test_what_the_filter_leaves_out_is_nowhere(run: Run) -> None:
    """Neither are system schemas."""
    names = {(event.schema, event.table) for _, event in run.placed if not isinstance(event, Watermark)}
    assert names.isdisjoint(table.name for table in LEFT_OUT)


def test_a_key_that_changes_is_a_delete_and_an_insert(run: Run) -> None:
    """There is no UPDATE of what nothing identifies; equal rows are as many events."""
    keys = [(event.op, full_image(event)["region"], full_image(event)["no"]) for _, event in run.rows(COMPOSITE)]
    moved = [("DELETE", "", "5"), ("DELETE", "y", "1"), ("INSERT", "", "6"), ("INSERT", "y", "2")]
    assert sorted(keys) == [*moved, ("UPDATE", "x", "2"), ("UPDATE", "x1", "1")]
    gone = [("DELETE", None, None), ("DELETE", "3", "gone")]
    come = [("INSERT", "1", "x"), ("INSERT", "1", "x"), ("INSERT", "2", None), ("INSERT", "4", "new")]
    found = Counter((event.op, *full_image(event).values()) for _, event in run.rows(KEYLESS))
    assert found == Counter([*gone, *come])


def test_watermarks_rise_everywhere_alike_while_a_topic_has_tables(run: Run) -> None:
    """From CREATE TABLE of its first table to DROP TABLE of its last."""
    always, late, gone = (run.marks(topic, 3) for topic in ("all", "of_late", "of_gone"))
    assert always == sorted(always) != []
    for topic in ("all", "the-default", "of_Ware_House.a_b", "of_Ware_House._"):
        assert [run.marks(topic, partition) for partition in range(PARTITIONS)] == [always] * PARTITIONS
    created, dropped = (
        next(event.commit_ts or 0 for event in run.lane(topic, 0) if isinstance(event, DdlEvent))
        for topic in ("of_late", "of_gone")
    )
    assert late == [ts for ts in always if ts >= created] and late[0] == created
    assert gone == [ts for ts in always if ts <= dropped] and gone[-1] == dropped


def test_the_summary_counts_what_was_written(run: Run) -> None:
    ops = {"INSERT": "inserted", "UPDATE": "updated", "DELETE": "deleted"}
    rows = [(record, event) for record, event in run.placed if isinstance(event, RowEvent)]
    tables: dict[str, dict[str, int]] = {}
    for _, event in rows:
        counts = tables.setdefault(f"{event.schema}.{event.table}", dict.fromkeys(ops.values(), 0))
        counts[ops[event.op]] += 1
    assert run.summary["tables"] == tables
    for part in run.summary["partitions"]:
        place = part["topic"], part["partition"]
        here = [record for record in run.records if (record.topic, record.partition) == place]
        size = sum(len(record.key or b"") + len(record.value or b"") for record in here)
        of_rows = sum((record.topic, record.partition) == place for record, _ in rows)
        assert (part["messages"], part["bytes"], part["rows"]) == (len(here), size, of_rows)
    assert (run.summary["messages"], run.summary["rows"]) == (len(run.records), len(rows))
    assert [statement["query"] for statement in run.summary["statements"]][-1] == "DROP TABLE `shop`.`dropped`"


def test_a_table_without_a_key_is_refused(states: tuple[Path, Path]) -> None:
    """As TiCDC does, unless force-replicate."""
    said = error_of("diff", *states, "--sink-uri", OPEN, "--console", "--master", "none")
    assert "shop.keyless" in said and "force-replicate" in said and "Traceback" not in said


@pytest.mark.parametrize("run", [OPEN], indirect=True)
def test_the_same_rows_in_other_formats_give_the_same_bytes(run: Run, tmp_path: Path) -> None:
    before = write(tmp_path / "before", (*TABLES, SECRET), BEFORE, "parquet")
    after = write(tmp_path / "after", TABLES, AFTER, "sql.gz")
    (before / "bare-schema-create.sql").write_text("CREATE DATABASE `bare`;\n")
    assert run_of(run.uri, (before, after), tmp_path, "--start-ts", POS).records == run.records
