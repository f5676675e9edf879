"""`ticdc-sim diff` of snapshots whose tables are defined differently: the statements between them stand in the stream,
rows before them in the old definition and rows behind them in the new one.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.playing import assert_contract, play

from simulator.consumer.decode import DdlEvent, Event, RowEvent, decode
from simulator.consumer.records import read_records
from simulator.ticdc.changefeed import load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow  # the runs compare snapshots on Spark

OPEN = "kafka://127.0.0.1:9092/shop?protocol=open-protocol&partition-num=3"
CANAL = "kafka://127.0.0.1:9092/shop?protocol=canal-json&enable-tidb-extension=true&partition-num=3"
PLACES = {"start": CANAL, "middle": OPEN, "end": CANAL}
BY_KEY = '[sink]\ndispatchers = [{matcher = ["*.*"], partition = "index-value"}]\n'


@dataclass(frozen=True)
class Change:
    """A table that is defined differently in two snapshots, and how rows of the first become rows of the second."""

    before: str
    after: str
    row: Callable[[int], tuple[Any, ...]]
    new: Callable[[tuple[Any, ...], int], tuple[Any, ...]]
    statements: tuple[str, ...]


CHANGES = {
    "added": Change(
        "(id int primary key, name varchar(20))",
        "(id int primary key, name varchar(20), grade int not null default 7)",
        lambda n: (n, f"name {n}"),
        lambda row, n: (*row, 7 if n % 3 else n),
        ("ALTER TABLE `shop`.`added` ADD COLUMN `grade` INT NOT NULL DEFAULT 7",),
    ),
    "added_first": Change(
        "(id int primary key, name varchar(20))",
        "(kind enum('a','b') not null, id int primary key, name varchar(20))",
        lambda n: (n, f"name {n}"),
        lambda row, n: ("ab"[n % 5 == 0], *row),
        ("ALTER TABLE `shop`.`added_first` ADD COLUMN `kind` ENUM('a','b') NOT NULL FIRST",),
    ),
    "dropped": Change(
        "(id int primary key, name varchar(20), grade int)",
        "(id int primary key, grade int)",
        lambda n: (n, f"name {n}", n % 4),
        lambda row, n: (row[0], row[2] if n % 3 else n),
        ("ALTER TABLE `shop`.`dropped` DROP COLUMN `name`",),
    ),
    "widened": Change(
        "(id int primary key, amount decimal(6,2), small tinyint)",
        "(id int primary key, amount decimal(10,4) not null, small bigint unsigned)",
        lambda n: (n, f"{n}.25", n % 100),
        lambda row, n: (row[0], f"{row[1]}{'00' if n % 3 else '17'}", row[2] * 3),
        (
            "ALTER TABLE `shop`.`widened` MODIFY COLUMN `amount` DECIMAL(10,4) NOT NULL",
            "ALTER TABLE `shop`.`widened` MODIFY COLUMN `small` BIGINT UNSIGNED",
        ),
    ),
    "narrowed": Change(
        "(id int primary key, n bigint, s varchar(40))",
        "(id int primary key, n smallint, s varchar(10))",
        lambda n: (n, n * 3, f"text {n}"),
        lambda row, n: (row[0], row[1] + n % 2, row[2]),
        (
            "ALTER TABLE `shop`.`narrowed` MODIFY COLUMN `n` SMALLINT",
            "ALTER TABLE `shop`.`narrowed` MODIFY COLUMN `s` VARCHAR(10)",
        ),
    ),
    "retyped": Change(
        "(id int primary key, n int, d date)",
        "(id int primary key, n varchar(12), d datetime(3))",
        lambda n: (n, n * 7, "2024-02-29"),
        lambda row, n: (row[0], str(row[1]), f"2024-02-29 0{n % 2}:00:00.000"),
        (
            "ALTER TABLE `shop`.`retyped` MODIFY COLUMN `n` VARCHAR(12)",
            "ALTER TABLE `shop`.`retyped` MODIFY COLUMN `d` DATETIME(3)",
        ),
    ),
    "moved": Change(
        "(id int primary key, a int, b int, c int)",
        "(id int primary key, c int, a int, b int)",
        lambda n: (n, n + 1, n + 2, n + 3),
        lambda row, n: (row[0], row[3], row[1] * (1 + n % 2), row[2]),
        ("ALTER TABLE `shop`.`moved` MODIFY COLUMN `c` INT AFTER `id`",),
    ),
    "keyed": Change(
        "(id int primary key, a int not null, b int, key k (b))",
        "(id int primary key, a int not null, b int, unique key u (a), key k2 (b, a))",
        lambda n: (n, n, n % 4),
        lambda row, n: (row[0], row[1], row[2] + n % 2),
        (
            "ALTER TABLE `shop`.`keyed` DROP INDEX `k`",
            "ALTER TABLE `shop`.`keyed` ADD UNIQUE `u`(`a`)",
            "ALTER TABLE `shop`.`keyed` ADD INDEX `k2`(`b`, `a`)",
        ),
    ),
    "commented": Change(
        "(id int primary key, a int)",
        "(id int primary key, a int comment 'it''s') comment 'x'",
        lambda n: (n, n),
        lambda row, n: (row[0], row[1] + n % 2),
        (
            "ALTER TABLE `shop`.`commented` MODIFY COLUMN `a` INT COMMENT 'it''s'",
            "ALTER TABLE `shop`.`commented` COMMENT = 'x'",
        ),
    ),
    "composite": Change(
        "(a int, b varchar(9), v int, primary key (a, b))",
        "(a int, b varchar(9), w json, v int, primary key (a, b))",
        lambda n: (n, f"k{n}", n),
        lambda row, n: (row[0], row[1], None if n % 2 else '{"n": 1}', row[2] + 1),
        ("ALTER TABLE `shop`.`composite` ADD COLUMN `w` JSON AFTER `b`",),
    ),
    "parted": Change(
        "(id int primary key, v int) partition by range (id) "
        "(partition p0 values less than (20), partition p1 values less than (1000))",
        "(id int primary key, v int) partition by range (id) "
        "(partition p1 values less than (1000), partition p2 values less than (2000))",
        lambda n: (n + 15, n),
        lambda row, n: (row[0] if row[0] >= 20 else row[0] + 500, n % 4),
        (
            "ALTER TABLE `shop`.`parted` DROP PARTITION `p0`",
            "ALTER TABLE `shop`.`parted` ADD PARTITION (PARTITION `p2` VALUES LESS THAN (2000))",
        ),
    ),
    "generated": Change(
        "(id int primary key, a int, g int as (a + 1) stored)",
        "(id int primary key, a int, b int default 3, g int as (a + 1) stored)",
        lambda n: (n, n, n + 1),
        lambda row, n: (row[0], row[1], 3 if n % 2 else 4, row[2]),
        ("ALTER TABLE `shop`.`generated` ADD COLUMN `b` INT DEFAULT 3 AFTER `a`",),
    ),
    "same": Change(
        "(id int primary key, a int)",
        "(id int primary key, a int)",
        lambda n: (n, n),
        lambda row, n: (row[0], n + 1),
        (),
    ),
}


def write(directory: Path, name: str, definition: str, rows: list[tuple[Any, ...]]) -> None:
    directory.mkdir(exist_ok=True)
    (directory / f"shop.{name}-schema.sql").write_text(f"CREATE TABLE `{name}` {definition};\n")
    lines = (",".join(map(cell_text, row)) for row in rows)
    (directory / f"shop.{name}.000000000.csv").write_text("".join(f"{line}\n" for line in lines))


def cell_text(cell: object) -> str:
    return "\\N" if cell is None else '"' + str(cell).replace('"', '\\"') + '"'


@pytest.fixture(scope="module")
def shops(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Both snapshots: rows that stay, change, go and come, some only as the new definition can say them."""
    folder, chance = tmp_path_factory.mktemp("shops"), random.Random(1)
    for name, change in CHANGES.items():
        old = {n: change.row(n) for n in range(1, 31)}
        kept = list(range(4, 41))
        new = [change.new(old.get(n, change.row(n)), n if chance.random() < 0.7 else n + 1) for n in kept]
        write(folder / "before", name, change.before, list(old.values()))
        write(folder / "after", name, change.after, new)
    return folder / "before", folder / "after"


def events(directory: Path) -> list[Event]:
    return [event for record in read_records(str(directory)) for event in decode(record.key, record.value)]


@pytest.fixture(scope="module", params=PLACES)
def place(request: pytest.FixtureRequest) -> str:
    """Where the statements run; each place with another protocol or dispatcher."""
    return str(request.param)


@pytest.fixture(scope="module")
def stream(place: str, shops: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Fixtures of a run whose statements run there."""
    folder = tmp_path_factory.mktemp("stream")
    (folder / "changefeed.toml").write_text(BY_KEY)
    options = ("--sink-uri", PLACES[place], "--config", folder / "changefeed.toml", "--ddl-at", place)
    assert play("diff", *shops, *options, "--fixtures", folder / "out") == 0
    return folder / "out"


def test_the_stream_with_its_statements_leads_from_the_one_state_to_the_other(
    spark: SparkSession, shops: tuple[Path, Path], stream: Path, place: str
) -> None:
    assert_contract(read_records(str(stream)), load(PLACES[place], BY_KEY), {"shop": 3}, *shops)


@pytest.mark.parametrize("name", CHANGES)
def test_each_change_is_told_in_the_statements_that_make_it(stream: Path, name: str) -> None:
    said = [event.query for event in events(stream) if isinstance(event, DdlEvent) and event.table == name]
    assert list(dict.fromkeys(said)) == list(CHANGES[name].statements)


def test_rows_before_the_statements_have_the_old_columns_and_rows_behind_them_the_new(stream: Path) -> None:
    statement_ts = {event.table: event.commit_ts or 0 for event in events(stream) if isinstance(event, DdlEvent)}
    rows = [event for event in events(stream) if isinstance(event, RowEvent) and event.table == "added"]
    grades = {
        ("grade" in (event.after or event.before or {})) == ((event.commit_ts or 0) > statement_ts["added"])
        for event in rows
    }
    assert grades == {True}


def test_what_the_old_definition_can_tell_comes_before_the_statements_as_far_as_the_place_asks(
    stream: Path, place: str
) -> None:
    statement_ts = {event.table: event.commit_ts or 0 for event in events(stream) if isinstance(event, DdlEvent)}
    rows = [event for event in events(stream) if isinstance(event, RowEvent) and event.table in statement_ts]
    early = [event for event in rows if (event.commit_ts or 0) < statement_ts[event.table]]
    share = len(early) / len(rows)
    assert {"start": share == 0, "middle": 0.2 < share < 0.6, "end": 0.5 < share < 0.95}[place]
