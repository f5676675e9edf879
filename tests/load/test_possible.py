"""A load whose keys overflow says so before it starts; one without end says how long it lasts."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.playing import play

URI = "kafka://127.0.0.1:9/fair?protocol=open-protocol&partition-num=1"


def planned(directory: Path, definition: str, more: str = "") -> Path:
    plan = directory / "plan.toml"
    plan.write_text(f'[[table]]\ndefinition = "CREATE TABLE fair.visit ({definition})"\nmix = {{inserts = 1}}\n{more}')
    return plan


def refusal(plan: Path, capfd: pytest.CaptureFixture[str], *options: object) -> str:
    """The line with which a load is refused."""
    out = plan.parent / "out"
    assert play("load", plan, "--master", "none", "--sink-uri", URI, "--fixtures", out, *options) == 2
    (said,) = (line for line in capfd.readouterr().err.splitlines() if not line.endswith("…"))
    assert not out.exists()
    return said


ROW_128 = "and row 128 is beyond them; the load"
MANY, GROWING = "rows = 1000", "rows = 5"
"""A load of more rows than the key holds at the beginning, and one that comes to them."""

BOUNDED = "c VARCHAR(40) UNIQUE", f"{GROWING}\n[table.columns]\nc = {{min = 1, max = 500}}"
NAMED = "c VARCHAR(7)", f'{GROWING}\n[table.columns]\nc = {{template = "row-{{id}}"}}'
REFUSED = {
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


@pytest.mark.parametrize("of", REFUSED)
def test_a_load_with_more_rows_than_a_key_holds_is_refused(
    of: tuple[str, ...], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    type, *columns, more = of
    lasts = ("--rate", "100", "--duration", "10s") if GROWING in more else ("--duration", "1s")
    plan = planned(tmp_path, ", ".join((f"id {type} PRIMARY KEY", *columns)), f"{more}\n")
    assert REFUSED[of] in refusal(plan, capfd, *lasts)


@pytest.mark.slow
def test_truncate_in_time_makes_room(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    load = ("--rate", "100", "--duration")
    for entry, duration in (('every = "1s"\nkinds = ["truncate"]', "4s"), ('at = "1s"\nsql = "TRUNCATE visit"', "2s")):
        plan = planned(tmp_path, "id TINYINT PRIMARY KEY", f"rows = 5\n[[ddl]]\n{entry}\n")
        to = ("--master", "none", "--sink-uri", URI, "--fixtures", tmp_path / duration)
        assert play("load", plan, *to, *load, duration) == 0
    assert "tinyint counts from 1 to 127" in refusal(plan, capfd, *load, "9s")


@pytest.mark.slow
def test_a_load_without_end_says_how_long_it_lasts(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    plan = planned(tmp_path, "id TINYINT PRIMARY KEY", "rows = 5\n")
    assert play("load", plan, "--master", "none", "--console", "--sink-uri", URI, "--rate", "100") == 2
    warning = f"which is 127 rows, {ROW_128} lasts 1.3s of simulated time until then"
    assert warning in capfd.readouterr().err
