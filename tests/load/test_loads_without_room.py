"""Statements of one's own at a time of a load, and keys that its rows exhaust: what is refused before it begins."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.playing import play, said

from simulator.reader.decode import DdlEvent, RowEvent, decode
from simulator.reader.records import read_records

URI = "kafka://127.0.0.1:9/fair?protocol={}&partition-num=2"
CANAL, OPEN = "canal-json&enable-tidb-extension=true", "open-protocol"
PLAN = """\
rate = 50

[[table]]
definition = "CREATE TABLE fair.visitor (id BIGINT PRIMARY KEY, name VARCHAR(80), points INT, email CHAR(40) UNIQUE)"
rows = 20
mix = {inserts = 2, updates = 6, deletes = 2}
[table.columns]
email = "email"

[[table]]
definition = "CREATE TABLE fair.visit (id INT PRIMARY KEY, visitor_id BIGINT, note VARCHAR(9))"
rows = 5
mix = {inserts = 1}
[table.columns]
visitor_id = {reference = "fair.visitor.id"}
note = {choice = ["a", "b"], null = 0.3}
"""


def planned(directory: Path, *statements: tuple[str, str], more: str = "") -> Path:
    entries = "".join(f'\n[[ddl]]\nat = "{at}"\nsql = """{sql}"""\n' for at, sql in statements)
    (directory / "plan.toml").write_text(PLAN + entries + more)
    return directory / "plan.toml"


@pytest.mark.slow
@pytest.mark.parametrize("protocol", [CANAL, OPEN])
def test_rows_follow_the_schema_of_statements_at_their_times(protocol: str, tmp_path: Path) -> None:
    """Among them are renames, a new database, a changed type, TRUNCATE, and statements at intervals beside them."""
    move = "CREATE DATABASE hall; RENAME TABLE fair.visit TO hall.guest"
    plan = planned(
        tmp_path,
        ("7s", "TRUNCATE TABLE hall.guest"),
        ("2s", "ALTER TABLE fair.visitor ADD COLUMN seat INT NOT NULL DEFAULT 7 AFTER id, ADD INDEX (name)"),
        ("4s", f"ALTER TABLE fair.visitor CHANGE points score BIGINT; {move}"),
        ("5s", "ALTER TABLE fair.visitor DROP COLUMN name; CREATE TABLE hall.extra (a INT PRIMARY KEY)"),
        more='\n[[ddl]]\nevery = "900ms"\nkinds = ["add-column", "drop-index", "drop-column"]\n',
    )
    stream, truth = tmp_path / "out", tmp_path / "truth"
    to = ("--master", "none", "--sink-uri", URI.format(protocol), "--fixtures", stream, "--truth", truth)
    assert play("load", plan, *to, "--duration", "8s") == 0
    assert play("verify", stream, "--truth", truth, "--master", "none") == 0

    events = [event for record in read_records(str(stream)) for event in decode(record.key, record.value)]
    texts = [event.query for event in events if isinstance(event, DdlEvent)]
    assert [any(word in text for text in texts) for word in ("`seat`", "`score`", "hall", "TRUNCATE")] == [True] * 4
    rows = [event for event in events if isinstance(event, RowEvent) and event.table == "visitor" and event.after]
    seats = {str(row.after["seat"]) for row in rows if row.after and "seat" in row.after}
    assert len(seats) > 5 and "7" not in {min(seats), max(seats)}, "new rows have values of the type"
    assert "score" in (rows[-1].after or {}) and "name" not in (rows[-1].after or {})
    assert {event.table for event in events if isinstance(event, RowEvent)} == {"visitor", "visit", "guest"}


ALTER = "ALTER TABLE visitor "
REFUSED = {
    "DROP TABLE visit": "it drops fair.visit, which the load fills",
    "DROP DATABASE fair": "it drops fair.visitor, which the load fills",
    "ALTER TABLE nobody ADD COLUMN a INT": "Table 'fair.nobody' doesn't exist",
    "ALTER TABLE fair.visitr ADD COLUMN a INT": "Table 'fair.visitr' doesn't exist",
    ALTER + "DROP COLUMN id": "Unsupported drop integer primary key",
    ALTER + "DROP COLUMN nothing": "nothing",
    ALTER + "ADD UNIQUE KEY (name)": "unique key name: generated rows may be equal in name",
    ALTER + "ADD UNIQUE KEY (email(2))": "generated rows may be equal in email",
    ALTER + "MODIFY name VARCHAR(2)": "column 'name': varchar does not take",
    ALTER + "MODIFY points TINYINT": "column 'points': tinyint does not take",
    ALTER + "MODIFY email CHAR(3)": "column 'email': char does not take",
    "ALTER TABLE visit PARTITION BY RANGE (id) (PARTITION a VALUES LESS THAN (10))": "no partition takes",
    ALTER + "ADD FOREIGN KEY (points) REFERENCES visit (id)": "",
    "ALTER TABLE visit MODIFY note VARCHAR(9) NOT NULL": "column 'note': NOT NULL, and generated rows have NULL",
    "TRUNCATE visitor": "rows of fair.visit refer to those of fair.visitor",
    "RENAME TABLE visit TO aside.visit": "Database `aside` doesn't exist",
    "INSERT INTO visit VALUES (1, 1, 'a')": "INSERT is not DDL",
    "ALTER TABEL visit": "",
    "": "expected a",
}


def refusal(plan: Path, *options: object) -> str:
    """The line with which a load is refused."""
    found = said("load", plan, "--master", "none", *options)
    assert found.code == 2
    (line,) = found.err
    return line


@pytest.mark.parametrize("sql", REFUSED)
def test_what_leaves_no_room_for_rows_is_refused(sql: str, tmp_path: Path) -> None:
    plan = planned(tmp_path, ("3s", sql))
    found = refusal(plan, "--fixtures", tmp_path / "out", "--duration", "6s")
    assert "ddl 1: " in found and REFUSED[sql] in found
    assert not (tmp_path / "out").exists()


def test_a_statement_without_room_is_refused_without_an_end(tmp_path: Path) -> None:
    plan = planned(tmp_path, ("3s", ALTER + "MODIFY points TINYINT"))
    assert "column 'points': tinyint does not take" in refusal(plan, "--console")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ('at = "3s"', "ddl 1: sql is expected beside at = '3s'"),
        ('sql = "TRUNCATE visit"', "ddl 1: at is expected beside sql"),
        ('at = "0s"\nsql = "TRUNCATE visit"', "at: bad duration '0s': expected at least 1ms"),
        ('at = "3"\nsql = "TRUNCATE visit"', "at: bad duration '3'"),
        ('at = "3s"\nsql = "TRUNCATE visit"\nevery = "5s"', "every: a statement at a time has at and sql alone"),
        ("random = true", "every is expected, such as every = '5m', or at = '7s' with sql"),
    ],
)
def test_a_mistaken_entry_is_a_line(entry: str, words: str, tmp_path: Path) -> None:
    assert words in refusal(planned(tmp_path, more=f"\n[[ddl]]\n{entry}\n"), "--console")


# -- keys that the rows of a load exhaust -----------------------------------------------------------------------------


def counted(directory: Path, definition: str, more: str = "") -> Path:
    """A plan of one table into which rows are inserted alone."""
    plan = directory / "plan.toml"
    plan.write_text(f'[[table]]\ndefinition = "CREATE TABLE fair.visit ({definition})"\nmix = {{inserts = 1}}\n{more}')
    return plan


ROW_128 = "and row 128 is beyond them; the load"
MANY, GROWING = "rows = 1000", "rows = 5"
"""A load of more rows than the key holds at the beginning, and one that comes to them."""

BOUNDED = "c VARCHAR(40) UNIQUE", f"{GROWING}\n[table.columns]\nc = {{min = 1, max = 500}}"
NAMED = "c VARCHAR(7)", f'{GROWING}\n[table.columns]\nc = {{template = "row-{{id}}"}}'
FULL = {
    ("TINYINT", MANY): "'id': tinyint counts from 1 to 127, which is 127 rows, and",
    ("INT", "c CHAR(1) UNIQUE", MANY): "'c': char counts from 1 to 9, which is 9 rows",
    ("INT", "d DECIMAL(3,1) UNIQUE", MANY): "'d': decimal counts from 1 to 99, which is 99 rows",
    ("INT", "b BIT(4), UNIQUE (b)", MANY): "'b': bit counts from 1 to 15, which is 15",
    ("INT", "t TEXT, UNIQUE (t(2))", MANY): "'t': text counts from 1 to 99, which is 99",
    ("BIGINT AUTO_RANDOM(15, 32)", "rows = 200000"): "",
    ("TINYINT", GROWING): f"{ROW_128} comes to 1,005 rows, to that one after 1.3s",
    ("INT", "c CHAR(2) UNIQUE", GROWING): "'c': char counts from 1 to 99, which is 99 rows",
    (
        "INT",
        *BOUNDED,
    ): "'c': varchar counts from 1 to 500, which is 500 rows, and row 501 is beyond them; the load comes to 1,005 rows",
    ("INT", *NAMED): "'c': varchar does not take 'row-1000'",
}
"""The type of the primary key, other columns, and what more the plan says of its table."""


@pytest.mark.parametrize("of", FULL)
def test_rows_beyond_keys_are_refused(of: tuple[str, ...], tmp_path: Path) -> None:
    type, *columns, more = of
    lasts = ("--rate", "100", "--duration", "10s") if GROWING in more else ("--duration", "1s")
    plan = counted(tmp_path, ", ".join((f"id {type} PRIMARY KEY", *columns)), f"{more}\n")
    assert FULL[of] in refusal(plan, "--fixtures", tmp_path / "out", *lasts)


@pytest.mark.slow
def test_truncate_in_time_makes_room(tmp_path: Path) -> None:
    load = ("--rate", "100", "--duration")
    for entry, duration in (('every = "1s"\nkinds = ["truncate"]', "4s"), ('at = "1s"\nsql = "TRUNCATE visit"', "2s")):
        plan = counted(tmp_path, "id TINYINT PRIMARY KEY", f"rows = 5\n[[ddl]]\n{entry}\n")
        to = ("--master", "none", "--fixtures", tmp_path / duration)
        assert play("load", plan, *to, *load, duration) == 0
    assert "tinyint counts from 1 to 127" in refusal(plan, "--fixtures", tmp_path / "out", *load, "9s")


@pytest.mark.slow
def test_a_load_without_end_says_how_long_it_lasts(tmp_path: Path) -> None:
    plan = counted(tmp_path, "id TINYINT PRIMARY KEY", "rows = 5\n")
    found = said("load", plan, "--master", "none", "--console", "--rate", "100")
    assert found.code == 2
    warning = f"which is 127 rows, {ROW_128} lasts 1.3s of simulated time until then"
    assert warning in " ".join(found.err)
