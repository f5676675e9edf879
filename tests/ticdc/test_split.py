"""UPDATEs of unique keys as DELETE and INSERT beside the vectors (facts.update_split), which hold each release's order of
events: what a transaction becomes, and that the pipeline does the same."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from support import databases
from support.contract_checks import find_violations
from support.playing import assert_contract, play
from support.transaction import Row, RowEvent, net, sent
from support.vectors.split import may_split

from simulator.columns.cells import columns
from simulator.columns.change_frame import DELETE, INSERT, UPDATE
from simulator.reader.contract.stream_spec import StreamSpec, stages_of
from simulator.reader.decode import DdlEvent, Event, before_image, decode
from simulator.reader.decode import RowEvent as Sent
from simulator.reader.records import Record, read_records
from simulator.releases import find
from simulator.ticdc.changefeed import load
from simulator.ticdc.split import (
    SplitRule,
    add_ranks,
    key_columns,
    keys_changed,
    shares_transaction,
    split_rule,
    split_updates,
)
from simulator.tidb.ddl.table_definitions import create_table

CLASSIC, NEW = find("v8.5.3"), find("v8.5.7", "new")
TABLE = create_table("CREATE TABLE t (id INT PRIMARY KEY, uk INT UNIQUE, s VARCHAR(9), v INT, UNIQUE (s, v))", "test")
RULES = {
    "sorted": split_rule(CLASSIC),
    "interleaved": split_rule(NEW),
    "of several rows": split_rule(find("v6.5.4")),
    "kept whole": split_rule(CLASSIC, raw=True),
    "before there was a split": split_rule(find("v5.4.0")),
}
Cells = Mapping[int, tuple[int | None, str | None, int]]
"""uk, s and v by id."""


def unique(rows: Cells) -> Cells:
    left: dict[int, tuple[int | None, str | None, int]] = {}
    for key, (uk, s, v) in rows.items():
        others = left.values()
        if (uk is None or all(uk != other[0] for other in others)) and (
            s is None or all((s, v) != other[1:] for other in others)
        ):
            left[key] = uk, s, v
    return left


def row(cells: Cells, key: int) -> Row | None:
    if key not in cells:
        return None
    named = zip(("id", "uk", "s", "v"), (key, *cells[key]), strict=True)
    return {name: None if value is None else str(value) for name, value in named}


def transaction(before: Cells, after: Cells) -> list[RowEvent]:
    """What TiDB writes on the way from one to the other, where rows that stay are changed and changed back."""
    return net(TABLE, [(row(before, key), row(after, key)) for key in sorted({*before, *after})])


def ops(rule: SplitRule, *events: RowEvent) -> str:
    """The events as letters, with the id of each row."""
    return " ".join(f"{'DUI'[event.op]}{key_of(event)}" for event in sent(TABLE, events, rule))


def key_of(event: RowEvent) -> str:
    return str((event.after or event.before or {})["id"])


def test_updates_and_inserts_went_by_row_key_once() -> None:
    """TiKV's DELETE and PUT were all that the sorters told apart."""
    row = {"id": "2", "uk": "9", "s": "x", "v": "1"}
    events = RowEvent(INSERT, None, {**row, "id": "1", "uk": "1"}), RowEvent(UPDATE, row, {**row, "v": "2"})

    assert ops(split_rule(find("v6.1.5")), *events) == "I1 U2"
    assert ops(split_rule(find("v6.1.6")), *events) == "U2 I1"


def test_without_old_value_only_the_handle_key_splits_and_old_rows_go() -> None:
    """The halves stay after each other from 4.0.15 on."""
    table = create_table("CREATE TABLE t (id INT, v INT, PRIMARY KEY (id) NONCLUSTERED)", "test")
    moved = RowEvent(UPDATE, {"id": "1", "v": "1"}, {"id": "9", "v": "1"})
    other = RowEvent(UPDATE, {"id": "2", "v": "2"}, {"id": "2", "v": "3"})

    def events_of(tag: str) -> list[tuple[int, Row | None, Row | None]]:
        rule = split_rule(find(tag), old_value=False)
        return [(event.op, event.before, event.after) for event in sent(table, [other, moved], rule)]

    whole, gone, come = (UPDATE, None, other.after), (DELETE, {"id": "1"}, None), (INSERT, None, moved.after)
    assert events_of("v5.4.0") == events_of("v6.5.4") == [whole, gone, come]
    assert events_of("v4.0.14") == [gone, whole, come]
    assert events_of("v7.1.2") == [(DELETE, moved.before, None), (UPDATE, other.before, other.after), come]


def test_every_column_of_a_unique_key_decides_and_no_other() -> None:
    assert key_columns(TABLE, RULES["sorted"]) == key_columns(TABLE, RULES["interleaved"]) == ("id", "uk", "s", "v")
    other = create_table("CREATE TABLE t (id INT PRIMARY KEY, k INT, KEY (k), c INT UNIQUE, d INT)", "test")
    assert key_columns(other, RULES["sorted"]) == ("id", "c")


def order_found_wrong(tag: str, architecture: str, ops: str, config: str = "", protocol: str = "canal-json") -> bool:
    """Whether changes of those kinds, at one commit-ts and in this order, break the order of the release."""
    release = find(tag, architecture)
    changefeed = load(f"kafka://127.0.0.1:9092/shop?protocol={protocol}", config)
    stages = stages_of(changefeed, release)
    tables = {("test", "t"): TABLE}
    spec = StreamSpec("canal-json", {"shop": 1}, tables, "not asked", stages=stages, finished=False)
    kinds = {"D": "DELETE", "U": "UPDATE", "I": "INSERT"}
    records = [Record("shop", 0, offset, 0, None, canal_change(kinds[op], offset)) for offset, op in enumerate(ops)]
    return "operation-order" in {violation.check for violation in find_violations(records, spec)}


def canal_change(kind: str, key: int) -> bytes:
    row = [{"id": str(key)}]
    message = {
        **{"id": 0, "database": "test", "table": "t", "pkNames": ["id"], "isDdl": False, "type": kind, "es": 0},
        **{"ts": 0, "sqlType": {"id": 4}, "mysqlType": {"id": "int"}, "_tidb": {"commitTs": 7}},
        **{"data": row, "old": row if kind == "UPDATE" else None},
    }
    return json.dumps(message).encode()


@pytest.mark.parametrize(
    ("tag", "architecture", "right", "wrong"),
    [
        ("v8.5.3", "classic", "DDUUII", "DUD"),
        ("v8.5.3", "classic", "DUI", "DIU"),
        ("v8.5.7", "new", "DUDUII", "DUID"),
        ("v6.1.5", "classic", "DUIUI", "UD"),
        ("v6.1.6", "classic", "DUI", "UIU"),
    ],
)
def test_a_stream_in_another_order_breaks_the_contract(tag: str, architecture: str, right: str, wrong: str) -> None:
    assert not order_found_wrong(tag, architecture, right)
    assert order_found_wrong(tag, architecture, wrong)


def test_rows_of_several_partition_keys_have_no_order() -> None:
    """From 7.4 on each key is a group of its own."""
    by_key = '[sink]\ndispatchers = [{matcher = ["*.*"], partition = "index-value"}]\n'

    assert not order_found_wrong("v7.5.0", "classic", "DIU", by_key)
    assert order_found_wrong("v7.1.2", "classic", "DIU", by_key)


# -- in batches ---------------------------------------------------------------------------------------------------


def batch(transactions: Sequence[Sequence[RowEvent]]) -> tuple[pa.RecordBatch, list[RowEvent]]:
    """Row changes as a diff gives them, whose images are places of the events; commit-ts number the transactions."""
    events = [(number, event) for number, events in enumerate(transactions) for event in events]

    def images(rows: Iterable[Row | None]) -> pa.Array:
        return pa.array([None if row is None else b"%d" % place for place, row in enumerate(rows)], pa.binary())

    return pa.record_batch(
        {
            "commit_ts": pa.array([number for number, _ in events], pa.int64()),
            "table": pa.array([0 for _ in events], pa.int32()),
            "handle": pa.array([key_of(event).encode() for _, event in events], pa.binary()),
            "before": images(event.before for _, event in events),
            "after": images(event.after for _, event in events),
        }
    ), [event for _, event in events]


@pytest.mark.parametrize("name", RULES)
def test_batches_are_split_and_sorted_as_single_transactions_are(name: str) -> None:
    chance, rule = random.Random(5), RULES[name]
    transactions = [transaction(some(chance), some(chance)) for _ in range(150)]
    transactions += [[event] for events in transactions for event in events if event.op == UPDATE][:50]
    changes, events = batch(transactions)
    nothing: Row = dict.fromkeys(column.name for column in TABLE.columns)
    before, after = (
        columns([row or nothing for row in rows])
        for rows in ([event.before for event in events], [event.after for event in events])
    )

    is_split = keys_changed(TABLE, before, after, rule)
    made = split_updates(changes, is_split & shares_transaction(changes) if rule.several else is_split, rule)

    order = [(column, "ascending") for column in ("commit_ts", "rank", "table", "handle", "op")]
    found: dict[int, list[RowEvent]] = {}
    for change in pa.Table.from_batches([made]).sort_by(order).to_pylist():
        old = None if change["before"] is None else events[int(change["before"])].before
        new = None if change["after"] is None else events[int(change["after"])].after
        found.setdefault(change["commit_ts"], []).append(RowEvent(change["op"], old, new))
    assert found == {
        number: [replace(event, half=False) for event in sent(TABLE, events, rule)]
        for number, events in enumerate(transactions)
        if events
    }


def test_a_run_that_splits_nothing_gives_changes_their_operations_and_ranks() -> None:
    changes, events = batch([transaction({1: (1, "a", 0), 2: (2, "b", 0)}, {2: (3, "b", 0), 3: (1, "a", 0)})])

    made = add_ranks(changes, RULES["kept whole"])

    assert made["op"].to_pylist() == [event.op for event in events]
    assert made["rank"].to_pylist() == [RULES["kept whole"].ranks[event.op] for event in events]
    assert [made[name] for name in changes.schema.names] == changes.columns


COLLATED = {
    name: create_table(f"CREATE TABLE t (k {kind}, v INT, PRIMARY KEY ({key}) CLUSTERED)", "test")
    for name, kind, key in (
        ("bin", "VARCHAR(9)", "k"),
        ("ci", "VARCHAR(9) COLLATE utf8mb4_general_ci", "k"),
        ("prefix", "VARCHAR(9)", "k(2)"),
        ("bytes", "VARBINARY(9)", "k"),
        ("number", "INT", "k"),
    )
}


@pytest.mark.parametrize(("name", "old", "new"), [("bin", "a", "a "), ("ci", "a", "Á "), ("prefix", "abc", "abd")])
def test_a_key_that_tidb_takes_for_the_old_one_is_one_update_and_split(name: str, old: str, new: str) -> None:
    """TiDB finds the row under the same key and writes one UPDATE; TiCDC compares bytes, and splits it."""
    table, rule = COLLATED[name], RULES["sorted"]
    before, after = {"k": old, "v": "1"}, {"k": new, "v": "1"}

    written = net(table, [(before, after)])

    assert written == [RowEvent(UPDATE, before, after)]
    assert [event.op for event in sent(table, written, rule)] == [DELETE, INSERT]
    assert sent(table, written, RULES["kept whole"]) == written
    assert may_split(table, rule) and not may_split(table, RULES["kept whole"])
    assert keys_changed(table, columns([before, before]), columns([after, before]), rule).tolist() == [True, False]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [("bin", "a", "b"), ("ci", "a", "b"), ("prefix", "abc", "acc"), ("bytes", "a", "a "), ("number", "1", "2")],
)
def test_another_key_is_another_row(name: str, old: str, new: str) -> None:
    """Under a clustered key TiDB itself writes DELETE and INSERT."""
    before, after = {"k": old, "v": "1"}, {"k": new, "v": "1"}

    assert net(COLLATED[name], [(before, after)]) == [RowEvent(DELETE, before, None), RowEvent(INSERT, None, after)]
    assert may_split(COLLATED[name], RULES["sorted"]) == (name in ("bin", "ci", "prefix"))


def some(chance: random.Random) -> Cells:
    return unique(
        {
            key: (chance.choice([None, *range(6)]), chance.choice([None, "null", "a", "b"]), chance.randrange(3))
            for key in chance.sample(range(1, 9), chance.randrange(8))
        }
    )


URI = "kafka://127.0.0.1:9092/shop?protocol=open-protocol&partition-num=2"
BY_UK = """[sink]
dispatchers = [{matcher = ["shop.spread"], partition = "columns", columns = ["uk"]}]
"""
COLUMNS = "id INT PRIMARY KEY, uk INT UNIQUE, s VARCHAR(9), v INT"


def tables() -> list[databases.Table]:
    """One that stays in its partition, one whose rows are spread by their unique key, and one that gets a column."""
    old = [(key, key, f"s{key}", 0) for key in range(1, 61)]
    new = [(key, key if key % 3 == 0 else (key + 3) % 90, "s", 1) for key in range(5, 71)]
    return [databases.Table(f"CREATE TABLE {name} ({COLUMNS})", old, new) for name in ("stays", "spread")]


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The tables in both states; `turned` has another definition in the second."""
    folder, both = tmp_path_factory.mktemp("split"), tables()
    before, after = (
        [*both, databases.Table(f"CREATE TABLE turned ({COLUMNS}{more})", *rows)]
        for more, rows in (
            ("", (both[0].before, None)),
            (", w INT DEFAULT 7", (None, [(*row, 7) for row in both[0].after or ()])),
        )
    )
    return databases.write(folder / "a", before, 0), databases.write(folder / "b", after, 1)


def run_events(states: tuple[Path, Path], folder: Path) -> list[Event]:
    """The events of a run over twenty transactions."""
    config = folder / "changefeed.toml"
    if not config.exists():
        config.write_text(BY_UK)
    out = folder / "out"
    times = ("--over", "20ms", "--ddl-at", "middle")
    assert play("diff", *states, "--sink-uri", URI, "--config", config, *times, "--fixtures", out) == 0
    return [event for record in read_records(str(out)) for event in decode(record.key, record.value)]


def pairs(events: Iterable[Event], name: str) -> dict[int, list[tuple[str, str]]]:
    """Kind and id of each row change of a table, by commit-ts."""
    found: dict[int, list[tuple[str, str]]] = {}
    for event in events:
        if isinstance(event, Sent) and event.table == name:
            image = event.after or event.before or {}
            found.setdefault(event.commit_ts or 0, []).append((event.op, str(image["id"])))
    return found


@pytest.mark.slow
def test_a_run_sends_split_updates_in_order_and_keeps_the_contract(states: tuple[Path, Path], tmp_path: Path) -> None:
    """Those of a table whose definition changes, too; each half lies where its own row belongs."""
    events = run_events(states, tmp_path)

    assert_contract(read_records(str(tmp_path / "out")), load(URI, BY_UK), {"shop": 2}, *states)
    stays = tables()[0]
    names = ("id", "uk", "s", "v")
    old, new = (
        {str(row[0]): dict(zip(names, map(str, row), strict=True)) for row in rows or ()}
        for rows in (stays.before, stays.after)
    )
    for ts, changes in pairs(events, "stays").items():
        keys = dict.fromkeys(key for _, key in changes)
        written = net(stays.definition, [(old.get(key), new.get(key)) for key in keys])
        expected = sent(stays.definition, written, RULES["sorted"])
        assert changes == [(("DELETE", "UPDATE", "INSERT")[event.op], key_of(event)) for event in expected], ts
    statement_ts = [event.commit_ts or 0 for event in events if isinstance(event, DdlEvent)][0]
    turned = {split_at(changes) and ts > statement_ts for ts, changes in pairs(events, "turned").items()}
    assert turned == {None, False, True}
    assert not any(changes_uk(event) for event in events)


def split_at(changes: Sequence[tuple[str, str]]) -> bool | None:
    """True where a row is deleted and inserted in one transaction, None where none is."""
    return True if any(("INSERT", key) in changes for op, key in changes if op == "DELETE") else None


def changes_uk(event: Event) -> bool:
    """Whether an UPDATE changes the unique key."""
    old = before_image(event) if isinstance(event, Sent) and event.op == "UPDATE" else None
    return isinstance(event, Sent) and old is not None and event.after is not None and old["uk"] != event.after["uk"]


def test_raw_change_events_stay_updates(states: tuple[Path, Path], tmp_path: Path) -> None:
    """And the rows after are the same; a table spread by the key has the new row's partition."""
    text = BY_UK + "[sink.kafka-config]\noutput-raw-change-event = true\n"
    (tmp_path / "changefeed.toml").write_text(text)
    events = run_events(states, tmp_path)

    assert any(changes_uk(event) for event in events)
    assert all(split_at(changes) is None for changes in pairs(events, "stays").values())
