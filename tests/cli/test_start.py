"""What a command imports: it answers at once where it does not wait for libraries that it has no use for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest

from simulator.cli.command_line import commands

SLOW = {"duckdb", "fsspec", "kafka", "numpy", "pandas", "pyarrow", "pyspark", "rich", "sqlglot"}
"""Libraries that take longer than Python itself."""

IMPORTED = """
import contextlib, io, sys
from simulator.cli import run
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    for line in sys.stdin.read().splitlines():
        assert run(line.split("\\t")) == 0, line
        sys.__stderr__.write(f"{line.split()}: {sorted(SLOW & sys.modules.keys())}\\n")
""".replace("SLOW", repr(SLOW))


def imported(*lines: tuple[str, ...]) -> list[set[str]]:
    """The slow libraries that are there after each of those commands, all run by one new process."""
    text = "\n".join("\t".join(line) for line in lines)
    done = subprocess.run(
        [sys.executable, "-c", IMPORTED], input=text, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    found = [line.rpartition(": ")[2] for line in done.stderr.splitlines()]
    return [{name for name in SLOW if f"'{name}'" in line} for line in found]


def every(command: click.Command, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The names that lead to a command and to each one below it."""
    below = command.commands.items() if isinstance(command, click.Group) else ()
    return [path, *(deep for name, inner in below for deep in every(inner, (*path, name)))]


@pytest.mark.slow
def test_help_imports_no_library_but_the_one_that_prints_it() -> None:
    asked = [(*path, "--help") for path in every(commands)]
    assert len(asked) > 12
    assert imported(*asked) == [set()] * len(asked)


@pytest.mark.slow
def test_a_table_of_releases_needs_nothing_to_compute_with() -> None:
    assert imported(("releases", "v8.5.3", "--json"), ("releases", "v6.5.6", "v8.5.3", "--json")) == [{"rich"}] * 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [("ddl", "ALTER TABLE item ADD price INT"), ("table", "item"), ("row", '{"after": {"id": 1, "name": "a"}}')],
    ids=lambda asked: str(asked[0]),
)
def test_what_is_explained_is_computed_by_arrow_alone(asked: tuple[str, ...], tmp_path: Path) -> None:
    """Without pandas, which pyarrow would import by itself, and without what sends and shows."""
    schema = tmp_path / "item.sql"
    schema.write_text("CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(20))")
    [found] = imported(("explain", *asked, "--schema", str(schema), "--json"))
    assert found == {"numpy", "pyarrow", "sqlglot"}


@pytest.mark.slow
def test_a_run_in_process_needs_no_spark(tmp_path: Path) -> None:
    """Nor does one that takes place there as its snapshots are small. And neither needs pandas, or what only other
    outputs, other places and expressions ask for."""
    for name in ("before", "after"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "shop.item-schema.sql").write_text("CREATE TABLE item (id INT PRIMARY KEY)")
        (tmp_path / name / "shop.item.csv").write_text("1\n2\n" if name == "after" else "1\n")
    uri = "kafka://127.0.0.1:9092/shop?protocol=open-protocol"
    exports = (str(tmp_path / "before"), str(tmp_path / "after"))
    run = ("diff", *exports, "--sink-uri", uri, "--fixtures")
    named, chosen = imported((*run, str(tmp_path / "one"), "--master", "none"), (*run, str(tmp_path / "two")))
    assert named == chosen == {"numpy", "pyarrow", "rich", "sqlglot"}


@pytest.mark.slow
def test_a_stream_is_read_without_pandas(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "0.jsonl").write_text("")
    [found] = imported(("inspect", str(tmp_path)))
    assert found <= {"numpy", "pyarrow"}


@pytest.mark.slow
def test_who_asks_for_pandas_still_gets_it() -> None:
    """Also from pyarrow, which looked for it in vain before."""
    text = (
        "from simulator.columns.without_pandas import without_pandas; without_pandas(); import sys, pyarrow as pa; "
        "assert 'pandas' not in sys.modules; print(pa.table({'a': [1, 2]}).to_pandas()['a'].sum())"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "3\n"
