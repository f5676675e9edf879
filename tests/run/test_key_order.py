"""A diff passes through states that a database can hold: unique keys and foreign keys hold after each transaction."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.databases import AIRPORTS
from support.playing import error_of, play

from simulator.reader.records import read_records
from simulator.sources import precedence
from simulator.sources.precedence import Edges, Precedence, ahead, following

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

URI = "kafka://127.0.0.1:9092/shop?protocol=canal-json&enable-tidb-extension=true"
Row = dict[str, str | None]
Rows = list[Row]
Change = tuple[int, str, str, Row, Row | None]
"""commit-ts, type, table, row, and the old row of an UPDATE."""


def snapshot(directory: Path, tables: Mapping[str, tuple[str, Rows]]) -> Path:
    """A snapshot of tables, each with its definition and rows."""
    directory.mkdir(parents=True)
    for name, (definition, rows) in tables.items():
        (directory / f"shop.{name}-schema.sql").write_text(f"CREATE TABLE {name} ({definition});\n")
        lines = (",".join("\\N" if value is None else f'"{value}"' for value in row.values()) for row in rows)
        (directory / f"shop.{name}.csv").write_text("\n".join([",".join(rows[0]) if rows else "", *lines, ""]))
    return directory


def changes(out: Path) -> Iterator[list[Change]]:
    """The row changes of each transaction."""
    messages = (json.loads(record.value) for record in read_records(str(out)) if record.value)
    rows = (message for message in messages if message["type"] in ("INSERT", "UPDATE", "DELETE"))
    found = [
        (row["_tidb"]["commitTs"], row["type"], row["table"], row["data"][0], (row["old"] or [None])[0]) for row in rows
    ]
    for _, transaction in groupby(sorted(found, key=lambda change: change[0]), key=lambda change: change[0]):
        yield list(transaction)


Key = Callable[[Row], object]
"""The value of a key in a row; None for none."""


def by(*columns: str) -> Key:
    return lambda row: None if None in (values := [row[column] for column in columns]) else tuple(values)


def passes(
    before: Mapping[str, Rows],
    out: Path,
    keys: Mapping[str, Sequence[Key]],
    names: Sequence[tuple[str, str, str, str]] = (),
) -> dict[str, Rows]:
    """Apply the transactions of a diff, assert that all keys hold after each one, and return the rows in the end.

    The first key of a table identifies its rows. `names` are the columns that name rows, by a column of the parent.
    """
    state = {table: {keys[table][0](row): row for row in rows} for table, rows in before.items()}
    for transaction in changes(out):
        for _, kind, table, row, old in transaction:
            if kind != "INSERT":
                del state[table][keys[table][0](old or row)]
        for _, kind, table, row, _ in transaction:
            if kind != "DELETE":
                assert keys[table][0](row) not in state[table]
                state[table][keys[table][0](row)] = row
        for table, key in ((change[2], key) for change in transaction for key in keys[change[2]]):
            values = [value for value in map(key, state[table].values()) if value is not None]
            assert len(values) == len(set(values)), transaction
        for table, column, parent, named in names:
            there = {row[named] for row in state[parent].values()} | {None}
            assert {row[column] for row in state[table].values()} <= there, (transaction, table, column)
    return {table: sorted(rows.values(), key=str) for table, rows in state.items()}


PEOPLE = """id INT PRIMARY KEY, code VARCHAR(9) NOT NULL, mail VARCHAR(9), boss INT,
    UNIQUE KEY (code), UNIQUE KEY (mail), FOREIGN KEY (boss) REFERENCES people (id)"""
ORDERS = "id INT PRIMARY KEY, who VARCHAR(9), tag INT, UNIQUE KEY (tag), FOREIGN KEY (who) REFERENCES people (code)"
KEYS = {"people": [by("id"), by("code"), by("mail")], "orders": [by("id"), by("tag")]}
NAMES = [("people", "boss", "people", "id"), ("orders", "who", "people", "code")]


def people_and_orders(seed: int, count: int) -> dict[str, Rows]:
    """As many people out of half as many more, some their own bosses, and twice as many orders."""
    draw = random.Random(seed)
    ids, codes, mails = (draw.sample(range(count * 3 // 2), count) for _ in range(3))
    people: Rows = []
    for number, code, mail in zip(ids, codes, mails):
        boss = draw.choice([None, f"{number}", *(row["id"] for row in people[-3:])])
        has_mail = draw.random() < 0.7
        people.append({"id": f"{number}", "code": f"c{code}", "mail": f"m{mail}" if has_mail else None, "boss": boss})
    tags = draw.sample(range(count * 4), count * 2)
    orders: Rows = [
        {"id": f"{number}", "who": draw.choice([None, *(row["code"] for row in people)]), "tag": f"{tag}"}
        for number, tag in zip(draw.sample(range(count * 4), count * 2), tags)
    ]
    return {"people": people, "orders": orders}


def diff(
    directory: Path,
    before: Mapping[str, Rows],
    after: Mapping[str, Rows],
    definitions: Mapping[str, str],
    *options: str,
) -> Path:
    """The fixtures of a diff of two states."""
    sides = [
        snapshot(directory / side, {table: (definitions[table], rows) for table, rows in state.items()})
        for side, state in (("before", before), ("after", after))
    ]
    (directory / "feed.toml").write_text("force-replicate = true\n")
    options = ("--config", f"{directory / 'feed.toml'}", *options)
    assert play("diff", *sides, "--sink-uri", URI, "--fixtures", directory / "out", *options) == 0
    return directory / "out"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "count", "over"), [(1, 4, "60s"), (2, 4, "2ms"), (3, 40, "60s"), (4, 40, "1s"), (5, 40, "5ms")]
)
def test_keys_hold_after_each_transaction(tmp_path: Path, seed: int, count: int, over: str) -> None:
    before, after = people_and_orders(seed, count), people_and_orders(100 + seed, count)
    out = diff(tmp_path, before, after, {"people": PEOPLE, "orders": ORDERS}, "--master", "none", "--over", over)
    assert passes(before, out, KEYS, NAMES) == {table: sorted(rows, key=str) for table, rows in after.items()}


def test_spark_finds_the_same_times(spark: SparkSession, tmp_path: Path) -> None:
    """And has the zone of TiCDC's servers."""
    before, after = people_and_orders(6, 40), people_and_orders(7, 40)
    before["visits"] = [{"at": f"2024-07-01 20:30:{number:02}"} for number in range(40)]
    after["visits"] = before["visits"][20:]
    definitions = {"people": PEOPLE, "orders": ORDERS, "visits": "at TIMESTAMP NOT NULL UNIQUE"}
    files = []
    for master in ("none", "local[2]"):
        options = "--master", master, "--tz", "Asia/Shanghai"
        out = diff(tmp_path / master, before, after, definitions, *options)
        files.append({path.name: path.read_bytes() for path in out.rglob("*.jsonl")})
        assert (
            sum(
                (row["at"] or "").startswith("2024-07-02 04")
                for each in changes(out)
                for *_, row, _ in each
                if "at" in row
            )
            == 20
        )
    assert files[0] == files[1]


@pytest.mark.slow
@pytest.mark.parametrize("master", ["none", "local[2]"])
def test_more_rows_than_memory_holds_are_one_line(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, master: str
) -> None:
    monkeypatch.setattr(precedence, "MOST", 20)
    sides = [
        snapshot(tmp_path / f"{seed}", {"people": (PEOPLE, people_and_orders(seed, 40)["people"])}) for seed in (1, 2)
    ]
    assert "more than 20 times between two snapshots" in error_of(
        "diff", *sides, "--sink-uri", URI, "--fixtures", tmp_path / "out", "--master", master
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_what_does_not_fit_into_memory_is_on_disk_and_the_same(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = people_and_orders(8, 150), people_and_orders(9, 150)
    from simulator.engines.spark import key_order

    files = []
    for held in (key_order.HELD, 100):
        monkeypatch.setattr(key_order, "HELD", held)
        out = diff(tmp_path / f"{held}", before, after, {"people": PEOPLE, "orders": ORDERS}, "--master", "local[2]")
        assert passes(before, out, KEYS, NAMES) == {table: sorted(rows, key=str) for table, rows in after.items()}
        files.append({path.name: path.read_bytes() for path in out.rglob("*.jsonl")})
    assert files[0] == files[1]


def test_a_row_that_is_its_own_parent_changes_when_its_hash_says(tmp_path: Path) -> None:
    """Nothing waits for it, so that its time is that of the row without a key."""
    before: Rows = [{"id": "1", "code": "a", "mail": None, "boss": "1"}]
    times = []
    for definition in (PEOPLE, "id INT PRIMARY KEY, code VARCHAR(9), mail VARCHAR(9), boss INT"):
        out = diff(tmp_path / f"{len(definition)}", {"people": before}, {"people": []}, {"people": definition})
        times.append([change[0] for transaction in changes(out) for change in transaction])
    assert times[0] == times[1] != []


def whole(row: Row) -> str:
    return str(row)


@pytest.mark.parametrize(
    ("definition", "keys", "before", "after"),
    [
        (
            "id INT PRIMARY KEY, code VARCHAR(9), UNIQUE KEY (code)",
            [by("id"), by("code")],
            "1AA 2BB 3CC",
            "1BB 2AA 4CC",
        ),
        ("id INT, code VARCHAR(9), UNIQUE KEY (code)", [whole, by("code")], "1AA 2BB 3CC", "3AA 4BB 5CC"),
        (
            "id INT PRIMARY KEY, code VARCHAR(9), UNIQUE KEY (code(1))",
            [by("id"), lambda row: (row["code"] or "")[:1]],
            "1AA 2BB",
            "3AX 4BX",
        ),
        (
            "id INT PRIMARY KEY, code VARCHAR(9) COLLATE utf8mb4_general_ci, UNIQUE KEY (code)",
            [by("id"), lambda row: row["code"] and row["code"].lower()],
            "1AA 2BB 5",
            "3aa 4bb 6",
        ),
        (
            "id INT PRIMARY KEY, code VARCHAR(9), v CHAR AS (LOWER(LEFT(code, 1))), UNIQUE KEY (v)",
            [by("id"), lambda row: (row["code"] or "")[:1].lower()],
            "1AA 2BB",
            "3aX 4bX",
        ),
        (
            "id INT PRIMARY KEY, code VARCHAR(9), UNIQUE KEY ((LOWER(code)))",
            [by("id"), lambda row: (row["code"] or "").lower()],
            "1AA 2BB",
            "3aa 4bb",
        ),
    ],
    ids=["a circle", "no handle key", "a prefix", "a collation and NULL", "a virtual column", "an expression"],
)
@pytest.mark.parametrize("seed", range(3))
def test_a_value_is_taken_after_it_was_left(
    tmp_path: Path, definition: str, keys: Sequence[Key], before: str, after: str, seed: int
) -> None:
    first, last = ({"t": [Row(id=text[0], code=text[1:] or None) for text in rows.split()]} for rows in (before, after))
    out = diff(tmp_path, first, last, {"t": definition}, "--master", "none", "--seed", f"{seed}")
    assert passes(first, out, {"t": keys}) == last


@pytest.mark.parametrize("given", [True, False], ids=["the rows before", "the truth alone"])
def test_rows_that_swap_values_are_right_without_commit_ts(tmp_path: Path, given: bool) -> None:
    """Canal-JSON without its extension has one millisecond for the DELETE and the INSERT of a row."""
    columns, truth = "id INT PRIMARY KEY, code VARCHAR(9), UNIQUE KEY (code)", tmp_path / "truth"
    before, after = (
        snapshot(tmp_path / text, {"t": (columns, [{"id": each[0], "code": each[1:]} for each in text.split()])})
        for text in ("1A 2B", "1B 2A")
    )
    uri = URI.replace("&enable-tidb-extension=true", "")
    assert play("diff", before, after, "--sink-uri", uri, "--fixtures", tmp_path / "out", "--truth", truth) == 0
    assert play("verify", tmp_path / "out", "--truth", truth, *(("--before", before) if given else ())) == 0


def unique_and_not(directory: Path) -> tuple[Path, Path]:
    """A snapshot with a unique key, and one without, in which rows have each other's values."""
    own: Rows = [{"id": f"{number}", "code": f"c{number}", "n": "0"} for number in range(20)]
    shared: Rows = [{"id": f"{number}", "code": f"c{number // 4}", "n": f"{number % 2}"} for number in range(1, 25)]
    columns = "id INT PRIMARY KEY, code VARCHAR(9), n INT"
    return (
        snapshot(directory / "unique", {"t": (f"{columns}, UNIQUE KEY (code)", own)}),
        snapshot(directory / "not", {"t": (columns, shared)}),
    )


@pytest.mark.parametrize("at", ["start", "middle", "end"])
@pytest.mark.parametrize("seed", range(3))
def test_a_unique_key_holds_until_it_is_dropped(tmp_path: Path, at: str, seed: int) -> None:
    """Rows take values that others have, changed or not, once nothing forbids it."""
    first, last = unique_and_not(tmp_path)
    out, truth = tmp_path / "out", tmp_path / "truth"
    options = "--ddl-at", at, "--seed", seed, "--fixtures", out, "--truth", truth
    assert play("diff", first, last, "--sink-uri", URI, *options) == 0
    assert play("verify", out, "--truth", truth, "--before", first) == 0


@pytest.mark.parametrize("at", ["middle", "end"])
@pytest.mark.parametrize("seed", range(3))
def test_a_unique_key_holds_when_it_is_added(tmp_path: Path, at: str, seed: int) -> None:
    last, first = unique_and_not(tmp_path)
    options = "--ddl-at", at, "--seed", seed, "--fixtures", tmp_path / "out"
    assert play("diff", first, last, "--sink-uri", URI, *options) == 0
    messages = [json.loads(record.value) for record in read_records(str(tmp_path / "out")) if record.value]
    (added,) = (message["_tidb"]["commitTs"] for message in messages if message["isDdl"])
    codes = {f"{number}": f"c{number // 4}" for number in range(1, 25)}
    for transaction in changes(tmp_path / "out"):
        for ts, kind, _, row, _ in transaction:
            codes = {id: code for id, code in codes.items() if id != row["id"] or ts > added}
            if ts < added and kind != "DELETE":
                codes[row["id"] or ""] = row["code"] or ""
    assert len(set(codes.values())) == len(codes) > 4


def test_the_shipped_airports_keep_their_codes_unique(tmp_path: Path) -> None:
    """Airports hand on their IATA codes: K4K5 is closed, and KOZ has PAAE's."""
    assert play("diff", *AIRPORTS, "--sink-uri", URI, "--fixtures", tmp_path, "--master", "none") == 0
    held: dict[str | None, str | None] = {}
    for transaction in changes(tmp_path):
        for _, kind, _, row, old in transaction:
            if kind != "INSERT":
                held.pop((old or row)["iata"], None)
        for _, kind, _, row, _ in transaction:
            if kind != "DELETE":
                assert held.setdefault(row["iata"], row["icao"]) == row["icao"] or row["iata"] is None


# -- the order alone


def times(own: Sequence[int], *order: tuple[int, int], last: int = 99) -> list[int]:
    """Times of changes of which the first of each pair precedes the second."""
    first, then = (np.array(side, np.int64) for side in zip(*order))
    edges = Precedence(Edges(first, np.arange(len(first))), Edges(then, np.arange(len(first))), len(first))
    return list(following(np.array(own, np.int64), edges, np.full(len(own), last)))


def test_a_change_moves_behind_those_it_follows_and_no_further() -> None:
    assert times([5, 3], (0, 1)) == [5, 6]
    assert times([5, 7], (0, 1)) == [5, 7]
    assert times([5, 3, 1], (0, 1), (1, 2)) == [5, 6, 7]
    assert times([98, 3, 1], (0, 1), (1, 2)) == [98, 99, 99]
    assert times([5, 3, 9, 1], (0, 1), (1, 0), (1, 3)) == [5, 5, 9, 5]


def test_a_long_chain_and_long_circles_end() -> None:
    count = 5_000
    own = np.arange(count)[::-1].copy()
    chain = Precedence(
        Edges(np.arange(count - 1), np.arange(count - 1)), Edges(np.arange(1, count), np.arange(count - 1)), count - 1
    )
    moved = following(own, chain, np.full(count, count))
    assert (np.diff(moved) >= 0).all() and len(np.unique(moved)) > 1
    assert (np.diff(ahead(own, chain, np.zeros(count, np.int64))) >= 0).all()


def test_a_table_with_a_unique_multi_valued_index_is_compared(tmp_path: Path) -> None:
    """Its values are no key that changes are ordered by."""
    definition = "id INT PRIMARY KEY, b JSON, UNIQUE KEY k ((CAST(b AS SIGNED ARRAY)))"
    before = snapshot(tmp_path / "before", {"t": (definition, [{"id": "1", "b": "[1]"}, {"id": "2", "b": "[2]"}])})
    after = snapshot(tmp_path / "after", {"t": (definition, [{"id": "1", "b": "[1]"}, {"id": "2", "b": "[3]"}])})
    assert play("diff", before, after, "--sink-uri", URI, "--fixtures", tmp_path / "out") == 0
    assert [[change[1:] for change in transaction] for transaction in changes(tmp_path / "out")] == [
        [("UPDATE", "t", {"id": "2", "b": "[3]"}, {"id": "2", "b": "[2]"})]
    ]
