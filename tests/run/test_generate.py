"""The step `generate`: so many inserts, updates and deletes, from a seed."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from support.playing import error_of, play

from simulator.reader.decode import RowEvent, decode
from simulator.reader.records import read_records

TABLES = """
[[step]]
sql = '''
CREATE DATABASE shop;
USE shop;
CREATE TABLE customer (id BIGINT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(60), email VARCHAR(80) UNIQUE);
CREATE TABLE item (id INT PRIMARY KEY, customer BIGINT NOT NULL, status VARCHAR(4), price DECIMAL(8, 2),
  made DATETIME(3) DEFAULT CURRENT_TIMESTAMP(3), size INT AS (LENGTH(status)) STORED,
  FOREIGN KEY (customer) REFERENCES customer (id) ON DELETE CASCADE);
CREATE TABLE part (id INT NOT NULL, k INT NOT NULL, v VARCHAR(3), UNIQUE KEY (id, k))
  PARTITION BY HASH (k) PARTITIONS 3;
CREATE TABLE every (a BIGINT UNSIGNED, b TINYINT, c FLOAT, d DOUBLE(6, 2), e DECIMAL(65, 30), f BIT(9), g YEAR, h DATE,
  i TIME, j DATETIME, k TIMESTAMP, l CHAR(2), m BINARY(3), n TEXT, o BLOB, p ENUM('x', 'y'), q SET('x', 'y'), r JSON,
  s BIGINT PRIMARY KEY AUTO_RANDOM);
INSERT INTO item (id, customer) SELECT 1, 1 FROM DUAL WHERE 1 = 0;
'''
"""
SHOP = (
    TABLES
    + """
[[step]]
generate = "customer"
inserts = 30
columns = { name = "name", email = "email" }

[[step]]
generate = "shop.item"
inserts = 200
updates = 60
deletes = 50
over = "10s"
rows-per-transaction = 4
seed = 5
[step.columns]
status = ["new", "paid"]
price = { min = 1, max = 9 }
"""
)


def played(directory: Path, text: str, *options: object, out: str = "out") -> list[RowEvent]:
    """The rows in the order of their commit-ts."""
    path = directory / "story.toml"
    path.write_text(text)
    assert play("run", path, "--fixtures", directory / out, *options) == 0
    events = [event for record in read_records(str(directory / out)) for event in decode(record.key, record.value)]
    return sorted((event for event in events if isinstance(event, RowEvent)), key=lambda event: event.commit_ts or 0)


def of(events: list[RowEvent], table: str) -> list[RowEvent]:
    return [event for event in events if event.table == table]


@pytest.mark.slow
def test_as_many_rows_come_change_and_go_as_it_says(tmp_path: Path) -> None:
    """Each change begins with what the one before left, in transactions of so many rows, evenly in the time."""
    items = of(played(tmp_path, SHOP), "item")
    assert Counter(event.op for event in items) == {"INSERT": 200, "UPDATE": 60, "DELETE": 50}
    there: dict[str, object] = {}
    for event in items:
        key = str((event.after or event.before or {})["id"])
        assert event.before is None or {**event.before} == there.pop(key)
        if event.after is not None:
            assert there.setdefault(key, {**event.after}) == event.after
            assert event.after["status"] in ("new", "paid") and 1 <= float(str(event.after["price"])) <= 9
            assert 1 <= int(str(event.after["customer"])) <= 30
    sizes = Counter(event.commit_ts for event in items)
    assert max(sizes.values()) == 4
    times = [(ts or 0) >> 18 for ts in sizes]
    assert {later - time for time, later in zip(times, times[1:], strict=False)} <= set(range(100, 140))
    first = items[0]
    assert first.after is not None and str(first.after["made"]).endswith(f".{times[0] % 1000:03}")


@pytest.mark.slow
def test_keys_go_on_behind_those_that_are_there(tmp_path: Path) -> None:
    """A second step of the same table, in a unique column of text, too; rows of a table without a clustered key."""
    again = SHOP + '[[step]]\ngenerate = "customer"\ninserts = 20\ncolumns = {email = "email"}\n'
    again += '[[step]]\ngenerate = "part"\ninserts = 40\nupdates = 40\ndeletes = 10\n'
    events = played(tmp_path, again)
    customers = [event.after or {} for event in of(events, "customer")]
    assert [row["id"] for row in customers] == [str(number) for number in range(1, 51)]
    assert [str(row["email"]).partition("-")[0] for row in customers] == [str(number) for number in range(1, 51)]
    assert Counter(event.op for event in of(events, "part")) == {"INSERT": 40, "UPDATE": 40, "DELETE": 10}


@pytest.mark.slow
def test_rows_that_refer_to_a_deleted_one_go_in_its_transaction(tmp_path: Path) -> None:
    events = played(tmp_path, SHOP + '[[step]]\ngenerate = "customer"\ndeletes = 30\nrows-per-transaction = 7\n')
    assert {event.op for event in events[-30:]} == {"DELETE"}
    gone = {event.before["id"]: event.commit_ts for event in of(events, "customer") if event.before}
    last = [event for event in of(events, "item") if event.op == "DELETE" and event.commit_ts in gone.values()]
    assert len(gone) == 30 and len(last) == 150
    assert all(event.before and gone[event.before["customer"]] == event.commit_ts for event in last)


@pytest.mark.slow
def test_columns_have_the_generators_of_a_load_and_updates_its_skew(tmp_path: Path) -> None:
    """Weights, NULLs, texts of a length, counts, times; nine of ten updates are of a tenth of the rows."""
    events = played(
        tmp_path,
        TABLES
        + """
[[step]]
sql = "CREATE TABLE note (id INT PRIMARY KEY, s VARCHAR(9), t VARCHAR(30), n INT, made BIGINT, seen DATETIME)"

[[step]]
generate = "note"
inserts = 400

[[step]]
generate = "note"
inserts = 400
updates = 150
seed = 3
rows-per-transaction = 50
skew = { hot = 0.1, updates = 0.9 }
[step.columns]
id = { sequence = 1000, step = 2 }
s = { choice = ["new", "paid"], weights = [9, 1], null = 0.5 }
t = { text = { min = 5, max = 30 } }
made = { time = "born" }
seen = { time = "changed" }
""",
    )
    fresh = [event.after or {} for event in events[400:] if event.op == "INSERT"]
    assert sorted(int(str(row["id"])) for row in fresh) == list(range(1000, 1800, 2))
    counts = Counter(row["s"] for row in fresh)
    assert 150 < counts[None] < 250 and counts["new"] > 5 * counts["paid"] > 0
    assert {len(str(row["t"])) for row in fresh} == set(range(5, 31))
    assert {len(str(row["made"])) for row in fresh} == {10}
    changed = [event for event in events if event.op == "UPDATE"]
    assert all(event.before and event.after and event.after["made"] == event.before["made"] for event in changed)
    hot = [event for event in changed if event.before and int(str(event.before["id"])) <= 80]
    assert len(hot) > 0.6 * len(changed)


@pytest.mark.slow
def test_a_column_of_any_type_has_values_that_it_takes(tmp_path: Path) -> None:
    events = played(tmp_path, TABLES + '[[step]]\ngenerate = "every"\ninserts = 50\nupdates = 20\n')
    assert Counter(event.op for event in events) == {"INSERT": 50, "UPDATE": 20}
    assert all(value is not None for event in events for value in (event.after or {}).values())


@pytest.mark.slow
def test_equal_seeds_give_equal_bytes(tmp_path: Path) -> None:
    for out, options in {"one": (), "two": (), "other": ("--seed", "9")}.items():
        played(tmp_path, SHOP, *options, out=out)
    one, two, other = (
        {path.name: path.read_bytes() for path in (tmp_path / out).rglob("*.jsonl")} for out in ("one", "two", "other")
    )
    assert one == two != other


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ('"shop.itme"\ninserts = 1', ["line 19", "Table 'shop.itme' doesn't exist"]),
        ('"item"', ["line 19", "nothing is to be done", "inserts, updates, deletes"]),
        ('"customer"\ndeletes = 3', ["line 19", "deletes: 3 are more than the rows there are: 0 before"]),
        ('"customer"\nupdates = 3', ["line 19", "no row for 3"]),
        ('"customer"\ninserts = -1\nupdates = 1', ["line 20", "whole number"]),
        ('"customer"\ninserts = 1\ncolumns = {nam = "name"}', ["no column 'nam'. Did you mean 'name'?"]),
        ('"customer"\ninserts = 1\ncolumns = {name = "nmae"}', ["line 21", "name: Faker has no provider 'nmae'."]),
        ('"customer"\ninserts = 1\ncolumns = {name = "profile"}', ["line 21", "gives a dict"]),
        ('"part"\ninserts = 9\ncolumns = {v = ["long"]}', ["line 19", "'v': varchar does not take 'long'"]),
        ('"part"\ninserts = 9\ncolumns = {v = {template = "{id}"}}', ["line 19", "'v': a template"]),
        ('"part"\ninserts = 9\nskew = {zipf = 20}', ["line 21", "skew", "zipf"]),
        ('"item"\ninserts = 1', ["line 19", "'customer' refers to shop.customer, which has no rows"]),
        ('"item"\ninserts = 1\ncolumns = {size = 3}', ["'size' is a generated column"]),
        ('"part"\ninserts = 9\ncolumns = {k = [1], id = [1]}', ["line 19", "ERROR 1062"]),
    ],
)
def test_a_mistake_is_a_line(tmp_path: Path, step: str, words: list[str]) -> None:
    path = tmp_path / "story.toml"
    path.write_text(f"{TABLES}[[step]]\ngenerate = {step}\n".replace("INSERT INTO item (id", "\nINSERT INTO item (id"))
    message = error_of("run", path, "--fixtures", tmp_path / "out")
    assert ([word for word in words if word not in message], message) == ([], message)
    assert "\n" not in message
    assert not (tmp_path / "out").exists()
