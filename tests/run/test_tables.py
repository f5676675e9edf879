"""Whole databases through the command line: whatever tables, types and exports, the stream says how one state became
the other, each row where TiCDC would have put it.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from support import shop
from support.databases import AFTER, BEFORE, Table, contents, contents_after, state, write
from support.java_programs import Flink, Refused, as_sent, flink_contents, texts, typed
from support.playing import assert_leads, full_image, play

from simulator.consumer.decode import DdlEvent, Event, RowEvent, Watermark, decode
from simulator.consumer.records import Record, read_records
from simulator.ticdc.changefeed import load

pytestmark = pytest.mark.slow  # the runs compare snapshots on Spark

POS = 447_000_000_000_000_001
PARTITIONS = 4
TOPICS = ("all", "the-default", "of_Ware_House.a_b", "of_Ware_House._", "of_late", "of_gone")
HOST = "kafka://127.0.0.1:9092/all?partition-num=4&protocol="
OPEN = HOST + "open-protocol"
PROTOCOLS = {
    "open-protocol": OPEN,
    "canal-json": HOST + "canal-json",
    "canal-json with the TiDB extension": HOST + "canal-json&enable-tidb-extension=true",
}


@dataclass(frozen=True)
class Run:
    """What a run over the whole shop wrote."""

    uri: str
    fixtures: Path
    summary: dict[str, Any]

    @property
    def placed(self) -> list[tuple[Record, Event]]:
        """Every event with the record it is in."""
        return [
            (record, event) for record in read_records(str(self.fixtures)) for event in decode(record.key, record.value)
        ]

    @property
    def lanes(self) -> dict[tuple[str, int], list[Event]]:
        """The events of each partition."""
        found: dict[tuple[str, int], list[Event]] = {}
        for record, event in self.placed:
            found.setdefault((record.topic, record.partition), []).append(event)
        return found

    def rows(self, table: Table) -> list[tuple[Record, RowEvent]]:
        return [
            (record, event)
            for record, event in self.placed
            if isinstance(event, RowEvent) and (event.schema, event.table) == table.name
        ]


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Both states of the shop, and tables that are not replicated: SQL with a Pos before, compressed CSV after."""
    folder, tables = tmp_path_factory.mktemp("shop"), (*shop.TABLES, *shop.LEFT_OUT)
    before, after = write(folder / "b", tables, BEFORE, pos=POS), write(folder / "a", tables, AFTER, "csv.zst")
    (before / "bare-schema-create.sql").write_text("CREATE DATABASE `bare`;\n")
    return before, after


@pytest.fixture(scope="module", params=PROTOCOLS)
def run(request: pytest.FixtureRequest, states: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The shop through a changefeed that has a rule for everything, once for each protocol."""
    return run_of(PROTOCOLS[request.param], states, tmp_path_factory.mktemp("run"))


def run_of(uri: str, states: tuple[Path, Path], folder: Path, *options: object) -> Run:
    config, summary = folder / "changefeed.toml", folder / "summary.json"
    config.write_text(shop.CHANGEFEED)
    shared = ("--sink-uri", uri, "--config", config, "--fixtures", folder / "out", "--summary", summary)
    assert play("diff", *states, *shared, *options) == 0
    return Run(uri, folder / "out", json.loads(summary.read_text()))


def test_the_stream_keeps_the_contract_and_leads_to_the_state_after(run: Run) -> None:
    definitions = {table.name: table.definition for table in shop.TABLES}
    partitions, changefeed = dict.fromkeys(TOPICS, PARTITIONS), load(run.uri, shop.CHANGEFEED)
    before, after = (state(shop.TABLES, which) for which in (BEFORE, AFTER))
    assert_leads(read_records(str(run.fixtures)), changefeed, partitions, definitions, before, after)


def test_old_rows_taken_away_and_new_ones_added_give_the_state_after(run: Run) -> None:
    """Of every type, NULL, empty and hostile values included, in tables with a key and without."""
    events = [event for _, event in run.placed]
    assert contents_after(events, contents(shop.TABLES, BEFORE), shop.TABLES) == contents(shop.TABLES, AFTER)


@pytest.mark.interop
def test_flink_keeps_every_table_of_a_canal_json_stream(run: Run, flink: Flink) -> None:
    """Names, types and keys may be what they are; watermarks and the other tables' statements pass by."""
    messages = [record.value for record in read_records(str(run.fixtures)) if record.value is not None]
    if run.uri == OPEN:
        with pytest.raises(Refused):
            flink.read({"id": "INT"}, messages)
        return
    states = [contents(shop.TABLES, which) for which in (BEFORE, AFTER)]
    for table in (table for table in shop.TABLES if table.after is not None):
        names = [column.name for column in table.columns]
        before, after = (
            Counter(
                as_sent(table.definition, dict(zip(names, row, strict=True)))
                for row in held.get(table.name, Counter()).elements()
            )
            for held in states
        )
        for type_of in (texts, typed):
            assert flink_contents(flink, table.definition, type_of, messages, before) == after, table.name


def crc(*parts: str) -> int:
    return zlib.crc32("".join(parts).encode())


def hashed(table: Table, *names: str) -> Callable[[RowEvent], int]:
    """The hash of the table's name and of those columns, NULL as `null` (tiflow: pkg/hash/position_inertia.go)."""

    def of(event: RowEvent) -> int:
        number, row = crc(*table.name), full_image(event)
        for name in names:
            number ^= crc(name, str(row[name]) if row[name] is not None else "null")
        return number

    return of


@pytest.mark.parametrize(("name", "topic", "columns"), [
    ("d_default", "the-default", ()),
    ("d_table", "all", ()),
    ("d_last", "all", ()),
    ("d_index", "all", ("id",)),
    ("d_rowid", "all", ("id",)),
    ("d_unique", "all", ("Email",)),
    ("d_columns", "all", ("city", "n")),
    ("a b", "of_Ware_House.a_b", ("id",)),
    ("é", "of_Ware_House._", ("id",)),
])  # fmt: skip
def test_a_row_lies_where_its_dispatcher_puts_it(run: Run, name: str, topic: str, columns: tuple[str, ...]) -> None:
    """The new row decides, and of a DELETE the old one."""
    table = next(table for table in shop.DISPATCHED if table.name[1] == name)
    number = hashed(table, *columns)
    found = run.rows(table)
    assert {event.op for _, event in found} == {"INSERT", "UPDATE", "DELETE"}
    assert [(record.topic, record.partition) for record, _ in found] == [
        (topic, number(row) % PARTITIONS) for _, row in found
    ]


def test_dispatched_by_ts_a_row_lies_at_its_commit_ts(run: Run) -> None:
    table = next(table for table in shop.DISPATCHED if table.name[1] == "d_ts")
    exact = [(record.partition, event.commit_ts) for record, event in run.rows(table) if event.commit_ts is not None]
    assert [ts % PARTITIONS for _, ts in exact] == [partition for partition, _ in exact]


def test_tables_of_one_state_are_created_before_their_rows_and_dropped_after_the_others(run: Run) -> None:
    """As TiCDC restores them; the rows of a dropped table go without an event."""
    lane = [event for record, event in run.placed if (record.topic, record.partition) == ("all", 0)]
    seen = [event for event in lane if not isinstance(event, Watermark)]
    assert [event.query for event in seen[:5] if isinstance(event, DdlEvent)] == [
        "CREATE DATABASE `annex`",
        "CREATE TABLE `parts` (`id` INT PRIMARY KEY)",
        "CREATE TABLE `first` (`id` INT PRIMARY KEY)",
        "CREATE TABLE `created` (`id` INT PRIMARY KEY,`n` INT COMMENT 'a; b')",
        "CREATE TABLE `open` (`id` INT PRIMARY KEY)",
    ]
    assert isinstance(seen[-1], DdlEvent) and seen[-1].query == "DROP TABLE `shop`.`dropped`"
    assert {type(event) for event in seen[5:-1]} == {RowEvent}
    assert run.rows(shop.DROPPED) == []
    assert [event.op for _, event in run.rows(shop.CREATED)] == ["INSERT"] * 2


def test_statements_reach_the_partitions_that_the_protocol_wants(run: Run) -> None:
    found = Counter((record.topic, record.partition) for record, event in run.placed if isinstance(event, DdlEvent))
    everywhere = "open-protocol" in run.uri
    counts = {"all": 6, "of_late": 1, "of_gone": 1}
    assert found == {
        (topic, partition): count
        for topic, count in counts.items()
        for partition in range(PARTITIONS if everywhere else 1)
    }


def test_what_the_filter_leaves_out_is_nowhere(run: Run) -> None:
    """Neither are system schemas."""
    names = {(event.schema, event.table) for _, event in run.placed if not isinstance(event, Watermark)}
    assert names.isdisjoint(table.name for table in shop.LEFT_OUT)


def test_a_key_that_changes_is_a_delete_and_an_insert(run: Run) -> None:
    found = [(event.op, full_image(event)["region"], full_image(event)["no"]) for _, event in run.rows(shop.COMPOSITE)]
    assert sorted(found) == [
        ("DELETE", "", "5"), ("DELETE", "y", "1"), ("INSERT", "", "6"), ("INSERT", "y", "2"),
        ("UPDATE", "x", "2"), ("UPDATE", "x1", "1"),
    ]  # fmt: skip


def test_rows_without_a_key_are_counted(run: Run) -> None:
    """There is no UPDATE of what nothing identifies; equal rows are as many events."""
    found = Counter((event.op, *full_image(event).values()) for _, event in run.rows(shop.KEYLESS))
    assert found == {
        ("INSERT", "1", "x"): 2, ("INSERT", "2", None): 1, ("DELETE", None, None): 1, ("DELETE", "3", "gone"): 1,
        ("INSERT", "4", "new"): 1,
    }  # fmt: skip


@pytest.mark.parametrize("table", shop.PARTITIONED, ids=lambda table: str(table.name[1]))
def test_open_protocol_names_the_partition_of_the_table(run: Run, table: Table) -> None:
    """By its physical id, which rises with its place; Canal-JSON says nothing of it."""
    found = {(shop.PLACE[table.name[1]](full_image(event)), event.ptn) for _, event in run.rows(table)}
    if "open-protocol" in run.uri:
        places, ids = zip(*sorted(found), strict=True)
        assert places == (0, 1, 2)
        assert [ptn - ids[0] for ptn in ids] == [0, 1, 2]
    else:
        assert {ptn for _, ptn in found} == {None}


def test_watermarks_rise_everywhere_alike_and_no_row_comes_at_or_below_one(run: Run) -> None:
    lanes = run.lanes
    marks = {place: [event.ts for event in lane if isinstance(event, Watermark)] for place, lane in lanes.items()}
    if run.uri == PROTOCOLS["canal-json"]:
        assert set(map(len, marks.values())) == {0}
        return
    assert len(marks) == len(TOPICS) * PARTITIONS
    always = marks["all", 0]
    assert always == sorted(always)
    assert [place for place, found in marks.items() if found != always and place[0] not in ("of_late", "of_gone")] == []
    for lane in lanes.values():
        low = -1
        for event in lane:
            low = event.ts if isinstance(event, Watermark) else low
            assert not isinstance(event, RowEvent) or (event.commit_ts or 0) > low


@pytest.mark.parametrize("run", ["open-protocol", "canal-json with the TiDB extension"], indirect=True)
def test_a_topic_has_watermarks_while_it_has_tables(run: Run) -> None:
    """From CREATE TABLE of its first table to DROP TABLE of its last."""
    lanes = run.lanes
    topics = ("all", "of_late", "of_gone")
    always, late, gone = ([event.ts for event in lanes[topic, 3] if isinstance(event, Watermark)] for topic in topics)
    created, dropped = (
        next(event.commit_ts or 0 for event in lanes[topic, 0] if isinstance(event, DdlEvent)) for topic in topics[1:]
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
    records = list(read_records(str(run.fixtures)))
    for part in run.summary["partitions"]:
        place = part["topic"], part["partition"]
        here = [record for record in records if (record.topic, record.partition) == place]
        size = sum(len(record.key or b"") + len(record.value or b"") for record in here)
        of_rows = sum((record.topic, record.partition) == place for record, _ in rows)
        assert (part["messages"], part["bytes"], part["rows"]) == (len(here), size, of_rows)
    assert (run.summary["messages"], run.summary["rows"]) == (len(records), len(rows))
    assert [statement["query"] for statement in run.summary["statements"]][-1] == "DROP TABLE `shop`.`dropped`"


def test_a_table_without_a_key_is_refused(states: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    """As TiCDC does, unless force-replicate."""
    assert play("diff", *states, "--sink-uri", OPEN, "--console") == 2
    said = capsys.readouterr().err
    assert "shop.keyless" in said and "force-replicate" in said and "Traceback" not in said


def lines(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.jsonl")}


@pytest.mark.parametrize("run", ["open-protocol"], indirect=True)
def test_the_same_rows_in_other_formats_give_the_same_bytes(run: Run, tmp_path: Path) -> None:
    """Whatever files the rows lie in."""
    before = write(tmp_path / "before", (*shop.TABLES, shop.SECRET), BEFORE, "parquet")
    after = write(tmp_path / "after", shop.TABLES, AFTER, "sql.gz")
    (before / "bare-schema-create.sql").write_text("CREATE DATABASE `bare`;\n")
    other = run_of(run.uri, (before, after), tmp_path, "--start-ts", POS)
    assert lines(other.fixtures) == lines(run.fixtures)


def test_rows_share_a_message_up_to_the_limits_that_were_asked(tmp_path: Path) -> None:
    """The next row begins a message only where the last one was full, by TiCDC's arithmetic."""
    most, limit = 5, 1150
    states = [write(tmp_path / str(which), shop.DISPATCHED, which) for which in (BEFORE, AFTER)]
    uri = f"kafka://127.0.0.1:9092/t?protocol=open-protocol&max-batch-size={most}&max-message-bytes={limit}"
    options = ("--fixtures", tmp_path / "out", "--resolved-interval", "1m")
    assert play("diff", *states, "--sink-uri", uri, *options) == 0
    records = list(read_records(str(tmp_path / "out")))
    definitions = {table.name: table.definition for table in shop.DISPATCHED}
    before, after = (state(shop.DISPATCHED, which) for which in (BEFORE, AFTER))
    assert_leads(records, load(uri), {"t": 3}, definitions, before, after)
    full, cut = 0, 0
    for record, other in pairwise(records):
        first, then = (decode(each.key, each.value) for each in (record, other))
        if record.partition == other.partition and table_of(first) == table_of(then) is not None:
            full += len(first) == most
            cut += len(first) < most
            assert len(first) == most or size(record) + 36 + first_event(other) + 16 > limit
    assert full and cut


def table_of(events: tuple[Event, ...]) -> str | None:
    return events[0].table if isinstance(events[0], RowEvent) else None


def size(record: Record) -> int:
    return len(record.key or b"") + len(record.value or b"")


def first_event(record: Record) -> int:
    """Bytes of the JSON of the first event in an Open Protocol message."""
    assert record.key is not None and record.value is not None
    return int.from_bytes(record.key[8:16]) + int.from_bytes(record.value[:8])


ROW = st.tuples(
    st.sampled_from([-(2**63), -1, 0, 1, 255, 2**63 - 1]),
    st.sampled_from(["-10.00", "-9.50", "0.00", "0.10", "9.99"]),
    st.sampled_from(["", "\\N", "a", "A", "é😀", "'\n,"]),
    st.sampled_from([b"", b"\0", b"a", b"\xfe\xff", b"\xff"]),
    st.none() | st.text(st.sampled_from("ab\\N'\"`,;\n\0%é数😀"), max_size=4),
    st.none() | st.integers(-1, 1),
)
COLUMNS = (
    "`i` bigint NOT NULL, `m` decimal(5,2) NOT NULL, `w` varchar(9) NOT NULL, `b` varbinary(9) NOT NULL, "
    "`t` varchar(9), `n` int"
)
KEYS = {
    "PRIMARY KEY (`i`))": (0,),
    "PRIMARY KEY (`b`,`m`))": (3, 1),
    "PRIMARY KEY (`w`,`i`) NONCLUSTERED)": (2, 0),
    "UNIQUE KEY (`m`,`w`))": (1, 2),
    "PRIMARY KEY (`i`,`b`)) PARTITION BY HASH (`i`) PARTITIONS 3": (0, 3),
    "KEY (`i`))": (),
}
"""Keys of a table, and the places of the columns that identify a row."""


@st.composite
def random_tables(draw: st.DrawFn) -> list[Table]:
    """A table with each kind of key, and rows of both states."""
    tables = []
    for number, (key, places) in enumerate(KEYS.items()):
        unique = (lambda row, places=places: tuple(row[place] for place in places)) if places else None
        before, after = (draw(st.lists(ROW, max_size=12, unique_by=unique)) for _ in range(2))
        tables.append(Table(f"CREATE TABLE `t{number}` ({COLUMNS}, {key}", before, after))
    return tables


@settings(max_examples=3, phases=[Phase.generate], derandomize=True, suppress_health_check=list(HealthCheck))
@given(tables=random_tables(), uri=st.sampled_from([OPEN, PROTOCOLS["canal-json with the TiDB extension"]]))
def test_whatever_two_states_hold_the_stream_leads_from_one_to_the_other(tables: list[Table], uri: str) -> None:
    """A run is dear, so each draws rows for many tables."""
    with TemporaryDirectory() as folder:
        states = [write(Path(folder, str(which)), tables, which) for which in (BEFORE, AFTER)]
        run = run_of(uri, (states[0], states[1]), Path(folder))
        definitions = {table.name: table.definition for table in tables}
        partitions = {"all": PARTITIONS}
        before, after = (state(tables, which) for which in (BEFORE, AFTER))
        assert_leads(
            read_records(str(run.fixtures)), load(uri, shop.CHANGEFEED), partitions, definitions, before, after
        )
        events = [event for _, event in run.placed]
        assert contents_after(events, contents(tables, BEFORE), tables) == contents(tables, AFTER)
