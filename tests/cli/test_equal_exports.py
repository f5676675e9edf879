"""`diff` of two exports between which nothing happened."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.cli import run

SAID = "nothing differs: the snapshots have the same tables and rows"


def export(directory: Path, rows: str = "1,pen\n2,cup\n", more: str = "") -> str:
    """An export of shop.item, and perhaps of an empty table."""
    directory.mkdir()
    (directory / "shop.item-schema.sql").write_text("CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(20));")
    (directory / "shop.item.csv").write_text(rows)
    if more:
        (directory / f"shop.{more}-schema.sql").write_text(f"CREATE TABLE {more} (id INT PRIMARY KEY);")
    return str(directory)


@pytest.mark.parametrize("protocol", ["open-protocol", "canal-json", "debezium"])
@pytest.mark.parametrize(
    ("rows", "more", "says"),
    [
        ("1,pen\n2,cup\n", "", True),
        ("2,cup\n1,pen\n", "", True),
        ("1,pen\n", "", False),
        ("1,pen\n2,cup\n", "box", False),
    ],
)
def test_one_line_says_that_nothing_differs(
    rows: str, more: str, says: bool, protocol: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With exit code 0; not where a row or a table differs, whether its statement is sent or not."""
    before, after = export(tmp_path / "before"), export(tmp_path / "after", rows, more)
    uri = f"kafka://127.0.0.1:9092/shop?protocol={protocol}"

    assert run(["diff", before, after, "--sink-uri", uri, "--fixtures", str(tmp_path / "out")]) == 0
    assert (SAID in capsys.readouterr().out.splitlines()) == says


def test_what_the_changefeed_leaves_out_is_not_said_to_be_equal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rows that an event filter drops differ, and are no rows of the stream."""
    before, after = export(tmp_path / "before"), export(tmp_path / "after", "1,pen\n")
    config = tmp_path / "changefeed.toml"
    config.write_text("[[filter.event-filters]]\nmatcher = ['*.*']\nignore-event = ['delete']\n")

    arguments = ["diff", before, after, "--config", str(config), "--fixtures", str(tmp_path / "out")]
    assert run(arguments) == 0
    assert f"{SAID}, as far as the changefeed takes them" in capsys.readouterr().out.splitlines()


def test_sql_that_changes_no_row_is_no_comparison(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    story = tmp_path / "story.sql"
    story.write_text("SELECT 1;")

    assert run(["run", str(story), "--fixtures", str(tmp_path / "out")]) == 0
    assert "nothing differs" not in capsys.readouterr().out
