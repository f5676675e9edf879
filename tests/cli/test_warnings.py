"""What TiCDC takes and then cannot use is said by every command that reads a changefeed."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.cli import run

CONFIG = "[[filter.event-filters]]\nmatcher = ['*.*']\nignore-event = ['insert']\nignore-sql = ['(']\n"
ROW = '{"after": {"id": 1}}'
URI = "kafka://127.0.0.1:1/shop?protocol=open-protocol"


@pytest.fixture(name="paths")
def _paths(tmp_path: Path) -> dict[str, str]:
    """Files and directories by the words that stand for them."""
    (tmp_path / "config.toml").write_text(CONFIG, "utf-8")
    (tmp_path / "schema.sql").write_text("CREATE TABLE t (id INT PRIMARY KEY);", "utf-8")
    for name, rows in (("before", "1\n"), ("after", "2\n"), ("full", "3\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "shop.t-schema.sql").write_text("CREATE TABLE t (id INT PRIMARY KEY);", "utf-8")
        (tmp_path / name / "shop.t.csv").write_text(rows, "utf-8")
    return {path.stem.upper(): str(path) for path in tmp_path.iterdir()}


def warnings_of(paths: dict[str, str], capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """The lines on standard error."""
    run([paths.get(argument, argument) for argument in arguments])
    return capsys.readouterr().err.splitlines()


@pytest.mark.parametrize(
    "arguments",
    [
        ("explain", "row", ROW, "--schema", "SCHEMA"),
        ("explain", "ddl", "drop table t"),
        ("explain", "table", "t", "--schema", "SCHEMA"),
        ("diff", "BEFORE", "AFTER", "--sink-uri", URI, "--fixtures", "FULL"),
    ],
)
def test_an_event_filter_that_classic_ticdc_only_logs_is_a_warning(
    arguments: tuple[str, ...], paths: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Here `diff` then stops, for it would overwrite files."""
    lines = warnings_of(paths, capsys, *arguments, "--config", "CONFIG")
    found = [line for line in lines if line.startswith("warning: ")]
    assert len(found) == 1
    assert "filter.event-filters[1]: ignore-event and ignore-sql have no effect, TiCDC only logs: " in found[0]
