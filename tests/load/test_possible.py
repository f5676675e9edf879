"""A load whose keys overflow says so before it starts; one without end says how long it lasts."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.playing import play

URI = "kafka://127.0.0.1:9/fair?protocol=open-protocol&partition-num=1"


def told(directory: Path, definition: str, capfd: pytest.CaptureFixture[str], *options: object, more: str = "") -> str:
    """Refuse the load of a table, and return the line."""
    plan = directory / "plan.toml"
    plan.write_text(f'[[table]]\ndefinition = "CREATE TABLE fair.visit ({definition})"\nmix = {{inserts = 1}}\n{more}')
    assert play("load", plan, "--master", "none", "--sink-uri", URI, "--fixtures", directory / "out", *options) == 2
    (said,) = (line for line in capfd.readouterr().err.splitlines() if not line.endswith("…"))
    assert not (directory / "out").exists()
    return said


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        ("id TINYINT PRIMARY KEY", "'id': tinyint counts from 1 to 127, which is 127 rows, and the table begins with"),
        ("id INT PRIMARY KEY, c CHAR(1) UNIQUE", "'c': char counts from 1 to 9, which is 9 rows"),
        ("id INT PRIMARY KEY, d DECIMAL(3,1) UNIQUE", "'d': decimal counts from 1 to 99, which is 99 rows"),
        ("id INT PRIMARY KEY, b BIT(4), UNIQUE (b)", "'b': bit counts from 1 to 15, which is 15 rows"),
        ("id INT PRIMARY KEY, t TEXT, UNIQUE (t(2))", "'t': text counts from 1 to 99, which is 99 rows"),
        ("id BIGINT AUTO_RANDOM(15, 32) PRIMARY KEY", ""),
    ],
)
def test_more_rows_at_the_beginning_than_a_key_holds(
    definition: str, words: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    said = told(tmp_path, definition, capfd, "--duration", "1s", more="rows = 1000\n" if words else "rows = 200000\n")
    assert words in said and ("1,000" in said or not words)


@pytest.mark.parametrize(
    ("definition", "more", "words"),
    [
        (
            "id TINYINT PRIMARY KEY",
            "",
            "and row 128 is beyond them; the load comes to 1,005 rows, to that one after 1.3s",
        ),
        ("id INT PRIMARY KEY, c CHAR(2) UNIQUE", "", "'c': char counts from 1 to 99, which is 99 rows"),
        (
            "id INT PRIMARY KEY, c VARCHAR(40) UNIQUE",
            "[table.columns]\nc = {min = 1, max = 500}\n",
            "'c': varchar counts from 1 to 500, which is 500 rows, and row 501 is beyond them; the load comes to 1,005 rows",
        ),
        (
            "id INT PRIMARY KEY, c VARCHAR(7)",
            '[table.columns]\nc = {template = "row-{id}"}\n',
            "'c': varchar does not take 'row-1000'",
        ),
    ],
)
def test_more_rows_until_the_end_than_a_key_holds(
    definition: str, more: str, words: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    said = told(tmp_path, definition, capfd, "--rate", "100", "--duration", "10s", more=f"rows = 5\n{more}")
    assert words in said


def test_truncate_in_time_makes_room(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    often = '[[ddl]]\nevery = "1s"\nkinds = ["truncate"]\n'
    plan = tmp_path / "plan.toml"
    table = (
        '[[table]]\ndefinition = "CREATE TABLE fair.visit (id TINYINT PRIMARY KEY)"\nrows = 5\nmix = {inserts = 1}\n'
    )
    plan.write_text(f"{table}{often}")
    to = ("--master", "none", "--sink-uri", URI, "--fixtures", tmp_path / "out")
    assert play("load", plan, *to, "--rate", "100", "--duration", "10s") == 0
    plan.write_text(f'{table}[[ddl]]\nat = "1s"\nsql = "TRUNCATE visit"\n')
    assert play("load", plan, *to, "--rate", "100", "--duration", "2s") == 0
    assert play("load", plan, *to, "--rate", "100", "--duration", "9s") == 2
    assert "tinyint counts from 1 to 127" in capfd.readouterr().err


def test_a_load_without_end_says_how_long_it_lasts(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    plan = tmp_path / "plan.toml"
    table = '[[table]]\ndefinition = "CREATE TABLE fair.visit (id {} PRIMARY KEY)"\nrows = 5\nmix = {{inserts = 1}}\n'
    plan.write_text(table.format("TINYINT"))
    assert play("load", plan, "--master", "none", "--console", "--sink-uri", URI, "--rate", "100") == 2
    warning = "which is 127 rows, and row 128 is beyond them; the load lasts 1.3s of simulated time until then"
    assert warning in capfd.readouterr().err
