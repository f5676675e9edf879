"""`ticdc-sim diff` of snapshots whose tables are defined differently: the statements between them stand in the stream,
rows before them in the old definition and rows behind them in the new one.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.playing import assert_contract, play

from simulator.reader.decode import DdlEvent, RowEvent, decode
from simulator.reader.records import read_records
from simulator.ticdc.changefeed import load

if TYPE_CHECKING:
    pass

OPEN = "kafka://127.0.0.1:9092/shop?protocol=open-protocol&partition-num=3"
CANAL = "kafka://127.0.0.1:9092/shop?protocol=canal-json&enable-tidb-extension=true&partition-num=3"
PLACES = {"start": CANAL, "middle": OPEN, "end": CANAL}
BY_KEY = 'force-replicate = true\n[sink]\ndispatchers = [{matcher = ["*.*"], partition = "index-value"}]\n'


Cells = tuple[Any, ...]
Change = tuple[str, str, Callable[[int], Cells], Callable[[Cells, int], Cells], tuple[str, ...]]
"""Columns of a table before and after, how a row of the first becomes a row of the second, and the statements."""


RANGES = "(id int primary key, v int) partition by range (id) ({})"
LOW, MIDDLE, HIGH = (f"partition p{place} values less than ({end})" for place, end in enumerate((20, 1000, 2000)))
CHANGES: dict[str, Change] = {
    "added": (
        "(id int primary key, name varchar(20))",
        "(id int primary key, name varchar(20), grade int not null default 7)",
        lambda n: (n, f"name {n}"),
        lambda row, n: (*row, 7 if n % 3 else n),
        ("ADD COLUMN `grade` INT NOT NULL DEFAULT 7",),
    ),
    "added_first": (
        "(id int primary key, name varchar(20))",
        "(kind enum('a','b') not null, id int primary key, name varchar(20))",
        lambda n: (n, f"name {n}"),
        lambda row, n: ("ab"[n % 5 == 0], *row),
        ("ADD COLUMN `kind` ENUM('a','b') NOT NULL FIRST",),
    ),
    "dropped": (
        "(id int primary key, name varchar(20), grade int)",
        "(id int primary key, grade int)",
        lambda n: (n, f"name {n}", n % 4),
        lambda row, n: (row[0], row[2] if n % 3 else n),
        ("DROP COLUMN `name`",),
    ),
    "widened": (
        "(id int primary key, amount decimal(6,2), small tinyint)",
        "(id int primary key, amount decimal(10,4) not null, small bigint unsigned)",
        lambda n: (n, f"{n}.25", n % 100),
        lambda row, n: (row[0], f"{row[1]}{'00' if n % 3 else '17'}", row[2] * 3),
        ("MODIFY COLUMN `amount` DECIMAL(10,4) NOT NULL", "MODIFY COLUMN `small` BIGINT UNSIGNED"),
    ),
    "narrowed": (
        "(id int primary key, n bigint, s varchar(40))",
        "(id int primary key, n smallint, s varchar(10))",
        lambda n: (n, n * 3, f"text {n}"),
        lambda row, n: (row[0], row[1] + n % 2, row[2]),
        ("MODIFY COLUMN `n` SMALLINT", "MODIFY COLUMN `s` VARCHAR(10)"),
    ),
    "retyped": (
        "(id int primary key, n int, d date)",
        "(id int primary key, n varchar(12), d datetime(3))",
        lambda n: (n, n * 7, "2024-02-29"),
        lambda row, n: (row[0], str(row[1]), f"2024-02-29 0{n % 2}:00:00.000"),
        ("MODIFY COLUMN `n` VARCHAR(12)", "MODIFY COLUMN `d` DATETIME(3)"),
    ),
    "moved": (
        "(id int primary key, a int, b int, c int)",
        "(id int primary key, c int, a int, b int)",
        lambda n: (n, n + 1, n + 2, n + 3),
        lambda row, n: (row[0], row[3], row[1] * (1 + n % 2), row[2]),
        ("MODIFY COLUMN `c` INT AFTER `id`",),
    ),
    "keyed": (
        "(id int primary key, a int not null, b int, key k (b))",
        "(id int primary key, a int not null, b int, unique key u (a), key k2 (b, a))",
        lambda n: (n, n, n % 4),
        lambda row, n: (row[0], row[1], row[2] + n % 2),
        ("DROP INDEX `k`", "ADD UNIQUE `u`(`a`)", "ADD INDEX `k2`(`b`, `a`)"),
    ),
    "commented": (
        "(id int primary key, a int)",
        "(id int primary key, a int comment 'it''s') comment 'x'",
        lambda n: (n, n),
        lambda row, n: (row[0], row[1] + n % 2),
        ("MODIFY COLUMN `a` INT COMMENT 'it''s'", "COMMENT = 'x'"),
    ),
    "composite": (
        "(a int, b varchar(9), v int, primary key (a, b))",
        "(a int, b varchar(9), w json, v int, primary key (a, b))",
        lambda n: (n, f"k{n}", n),
        lambda row, n: (row[0], row[1], None if n % 2 else '{"n": 1}', row[2] + 1),
        ("ADD COLUMN `w` JSON AFTER `b`",),
    ),
    "parted": (
        RANGES.format(f"{LOW}, {MIDDLE}"),
        RANGES.format(f"{MIDDLE}, {HIGH}"),
        lambda n: (n + 15, n),
        lambda row, n: (row[0] if row[0] >= 20 else row[0] + 500, n % 4),
        ("DROP PARTITION `p0`", "ADD PARTITION (PARTITION `p2` VALUES LESS THAN (2000))"),
    ),
    "generated": (
        "(id int primary key, a int, g int as (a + 1) stored)",
        "(id int primary key, a int, b int default 3, g int as (a + 1) stored)",
        lambda n: (n, n, n + 1),
        lambda row, n: (row[0], row[1], 3 if n % 2 else 4, row[2]),
        ("ADD COLUMN `b` INT DEFAULT 3 AFTER `a`",),
    ),
    "without_key": (
        "(a int, b varchar(9))",
        "(a int, b varchar(9), c int not null default 5)",
        lambda n: (n % 7, f"b{n % 3}"),
        lambda row, n: (*row, 5 if n % 3 else n),
        ("ADD COLUMN `c` INT NOT NULL DEFAULT 5",),
    ),
    "same": (
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
    for name, (before, after, row, becomes, _) in CHANGES.items():
        old = {n: row(n) for n in range(1, 21)}
        new = [becomes(old.get(n, row(n)), n if chance.random() < 0.7 else n + 1) for n in range(4, 27)]
        write(folder / "before", name, before, list(old.values()))
        write(folder / "after", name, after, new)
    return folder / "before", folder / "after"


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_stream_and_statements_lead_to_the_other_state(shops: tuple[Path, Path], place: str, tmp_path: Path) -> None:
    """Rows before the statements have the old columns and those behind them the new ones; as many come before as the old
    definition can tell and the place asks for."""
    (tmp_path / "changefeed.toml").write_text(BY_KEY)
    options = ("--sink-uri", PLACES[place], "--config", tmp_path / "changefeed.toml", "--ddl-at", place)
    assert play("diff", *shops, *options, "--fixtures", tmp_path / "out", "--master", "none") == 0
    records = list(read_records(str(tmp_path / "out")))
    assert_contract(records, load(PLACES[place], BY_KEY), {"shop": 3}, *shops)

    events = [event for record in records for event in decode(record.key, record.value)]
    ddl = [event for event in events if isinstance(event, DdlEvent)]
    for name, (*_, statements) in CHANGES.items():
        said = dict.fromkeys(event.query for event in ddl if event.table == name)
        assert list(said) == [f"ALTER TABLE `shop`.`{name}` {statement}" for statement in statements]
    statement_ts = {event.table: event.commit_ts or 0 for event in ddl}
    rows = [event for event in events if isinstance(event, RowEvent) and event.table in statement_ts]
    early = [event for event in rows if (event.commit_ts or 0) < statement_ts[event.table]]
    for event in (event for event in rows if event.table == "added"):
        late = (event.commit_ts or 0) > statement_ts["added"]
        assert ("grade" in (event.after or event.before or {})) == late
    share = len(early) / len(rows)
    assert {"start": share == 0, "middle": 0.2 < share < 0.6, "end": 0.5 < share < 0.95}[place]
