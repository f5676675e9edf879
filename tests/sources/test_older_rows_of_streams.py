"""Old values of rows of diffs and loads that were last written before a column was added (`test_older_rows`), found in a
stream from what it says itself."""

from __future__ import annotations

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.codec_rows import unframed
from support.loads import CUSTOMER, OPEN, Run, shop_plan
from support.playing import play, said

from simulator.reader.records import Record, read_records
from simulator.releases import parse_release

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Rows = Mapping[int, list[int]]

SHAPES = {"t": "", "p": " PARTITION BY HASH (id) PARTITIONS 3"}
COLUMNS = ["id INT PRIMARY KEY", "v INT", "m INT NOT NULL DEFAULT 7", "k INT NOT NULL DEFAULT 9"]
DEFAULTS = [0, 7, 9]
WIDTHS = (2, 3, 3, 4, 4)
"""How many columns the tables have in each snapshot; k is added by SQL, before the fourth."""

SQL = [
    "UPDATE d.{0} SET v = v + 1 WHERE id % 4 = 0; ALTER TABLE d.{0} ADD COLUMN k INT NOT NULL DEFAULT 9; DELETE FROM d.{0} WHERE id % 5 = 0",
    "UPDATE d.{0} SET v = v + 1 WHERE id % 3 = 0; DELETE FROM d.{0} WHERE id % 3 = 1",
]


NUMBERS = (1, 2, 3, 8, 9, 13)
"""The codes of types of which a value is a number in JSON."""


def count_older(records: Iterable[Record], older: type) -> tuple[int, int]:
    """Hold the old values of numbers in added columns: those of rows that no message wrote since have the type `older`.
    Return how many of these there are, and of others."""
    messages = [
        pair
        for each in records
        if (each.value or b"")[8:]
        for pair in zip(unframed((each.key or b"")[8:]), unframed(each.value or b""), strict=True)
    ]
    added: dict[str, dict[str, int]] = defaultdict(dict)
    written: dict[tuple[str, int], int] = {}
    lacking: list[bool] = []
    for key, value in sorted((tuple(map(json.loads, pair)) for pair in messages), key=lambda pair: int(pair[0]["ts"])):
        table, ts = key["tbl"], key["ts"]
        if "q" in value:
            added[table] |= dict.fromkeys(re.findall(r"ADD COLUMN `?(\w+)", value["q"]), ts)
            continue
        row = value.get("u") or value["d"]
        last = written.get((table, row["id"]["v"]), 0)
        for name, cell in (value.get("d") or value.get("p") or {}).items():
            if name in added[table] and cell["t"] in NUMBERS and cell["v"] is not None:
                lacking.append(last < added[table][name])
                assert type(cell["v"]) is (older if lacking[-1] else int), (key, name)
        written[table, row["id"]["v"]] = ts
    return lacking.count(True), lacking.count(False)


def changed(rows: Rows, dice: random.Random) -> Rows:
    """Rows of which some are new, others have another value, and a third part is gone."""
    found = {}
    for key in range(60):
        row = rows.get(key)
        if row is None or dice.random() < 0.3:
            row = [dice.randrange(1000), *DEFAULTS[1:]] if dice.random() < 0.5 else None
        if row is not None:
            found[key] = row
    return found


def write_scenario(directory: Path, seed: int, at: str) -> Path:
    dice = random.Random(seed)
    rows: dict[str, Rows] = dict.fromkeys(SHAPES, {})
    steps = []
    for number, width in enumerate(WIDTHS):
        (directory / str(number)).mkdir(parents=True)
        for name, partitions in SHAPES.items():
            rows[name] = changed(rows[name], dice)
            definition = f"CREATE TABLE {name} ({', '.join(COLUMNS[:width])}){partitions};"
            (directory / str(number) / f"d.{name}-schema.sql").write_text(definition)
            text = "".join(f"{','.join(map(str, [key, *row][:width]))}\n" for key, row in rows[name].items())
            (directory / str(number) / f"d.{name}.csv").write_text(text)
        if number in (3, 4):
            steps += [f'sql = "{SQL[number - 3].format(name)}"' for name in SHAPES] * (number == 3)
        steps.append(f'snapshot = "{number}"' + (f'\nover = "1s"\nddl-at = "{at}"' if number else ""))
    steps += [f'sql = "{SQL[1].format(name)}"' for name in SHAPES]
    path = directory / "scenario.toml"
    path.write_text("".join(f"[[step]]\n{step}\n" for step in steps))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("at", ["start", "middle", "end"])
@pytest.mark.parametrize(("release", "older"), [("v6.5.8", str), ("v8.5.3", int)])
def test_a_row_is_older_until_a_later_step_writes_it(tmp_path: Path, release: str, older: type, at: str) -> None:
    """A diff, or SQL, whichever of the two added the column."""
    path = write_scenario(tmp_path, 1, at)
    told = ["--release", release, "--sink-uri", "kafka://h/t?protocol=open-protocol", "--master", "none"]
    assert play("run", path, *told, "--fixtures", tmp_path / "sent", "--truth", tmp_path / "truth") == 0
    assert min(count_older(read_records(str(tmp_path / "sent")), older)) > 30
    assert "RIGHT" in said("verify", tmp_path / "sent", "--truth", tmp_path / "truth").out


def played(path: Path, *options: object) -> list[tuple[bytes | None, bytes | None]]:
    """The messages of a run, but for watermarks."""
    uri, out = "kafka://h/t?protocol=open-protocol&partition-num=1&max-batch-size=1", path.parent / "sent"
    assert play("run", path, "--release", "v6.5.8", "--sink-uri", uri, "--fixtures", out, *options) == 0
    sent = ((record.key, record.value) for record in read_records(str(out)))
    return [(key, value) for key, value in sent if not (key or b"").endswith(b'"t":3}')]


@pytest.mark.slow
def test_a_row_is_as_old_where_the_steps_before_are_not_sent(tmp_path: Path) -> None:
    """A run from a step on sends what the whole run sends last."""
    path = write_scenario(tmp_path, 3, "middle")
    whole = played(path, "--master", "none")
    for first in range(2, 10):
        part = played(path, "--master", "none", "--from", first)
        assert part == whole[-len(part) :], first
    assert 30 < len(part) < 200


def test_spark_finds_the_old_values_of_a_diff_that_is_not_sent(spark: SparkSession, tmp_path: Path) -> None:
    path = write_scenario(tmp_path, 3, "middle")
    alone, on_spark = (played(path, "--master", master, "--from", 3, "--until", 3) for master in ("none", "local[2]"))
    assert alone == on_spark


def test_spark_finds_the_same_old_values(spark: SparkSession, tmp_path: Path) -> None:
    path = write_scenario(tmp_path, 2, "middle")
    told = ["--release", "v6.5.8", "--sink-uri", "kafka://h/t?protocol=open-protocol&partition-num=3"]
    for name, master in (("alone", "none"), ("spark", "local[2]")):
        assert play("run", path, *told, "--master", master, "--fixtures", tmp_path / name) == 0
    alone, on_spark = (
        {file.name: file.read_bytes() for file in sorted((tmp_path / name).rglob("*.jsonl"))}
        for name in ("alone", "spark")
    )
    assert alone == on_spark


# -- loads ------------------------------------------------------------------------------------------------------------

FLAGS = "CREATE TABLE shop.flags (id BIGINT PRIMARY KEY, state ENUM('a'), other ENUM('x','y'))"
STATEMENTS = """
[[ddl]]
every = {min = "200ms", max = "400ms"}
kinds = ["add-column", "truncate", "add-column", "drop-column", "add-index"]
[[ddl]]
every = "450ms"
kinds = ["add-column"]
table = "shop.flags"
[[ddl]]
at = "950ms"
sql = "ALTER TABLE shop.flags DROP COLUMN other"
[[ddl]]
at = "700ms"
sql = "ALTER TABLE shop.customer ADD COLUMN own INT NOT NULL DEFAULT 5"
"""


@pytest.mark.slow
@pytest.mark.parametrize(("release", "older"), [("v6.5.8", str), ("v8.5.3", int)])
@pytest.mark.parametrize("initial", ["inserted", "present"])
def test_a_row_of_a_load_is_older_until_it_changes(release: str, older: type, initial: str) -> None:
    """An UPDATE that changes nothing is not sent, and writes nothing: half of those of flags, of which each touches one
    column. One that changes a column that is dropped later writes the row."""
    text = shop_plan(STATEMENTS, 40, FLAGS, CUSTOMER, more=f'seed = 7\ninitial = "{initial}"')
    text = text.replace("mix =", "update-columns = 1\nmix =", 1)
    assert min(count_older(Run(text, OPEN, parse_release(release)).sent(0, 2_000), older)) > 50
