"""What a command imports: it answers at once where it does not wait for libraries that it has no use for. And a signal
ends it quietly from its first import on. Each needs a process that has imported nothing yet."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest

from simulator.cli.command_line import commands

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("here")]

SLOW = {
    "fsspec",
    "kafka",
    "numpy",
    "pandas",
    "prompt_toolkit",
    "pyarrow",
    "pyspark",
    "rich",
    "simulator.reader",
    "sqlglot",
    "starlette",
    "uvicorn",
}
"""Libraries, and a package of this project, that take longer than Python itself."""

IMPORTED = """
import contextlib, io, sys
from simulator.cli import run
for line in sys.argv[1:]:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        assert run(line.split("\\t")) == 0, line
    print(*SLOW & sys.modules.keys())
""".replace("SLOW", repr(SLOW))


def imported(*lines: tuple[str, ...]) -> list[set[str]]:
    """The slow libraries that are there after each of those commands, all run by one new process."""
    command = [sys.executable, "-c", IMPORTED, *map("\t".join, lines)]
    done = subprocess.run(command, input="SELECT 1;", capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return [set(line.split()) for line in done.stdout.splitlines()]


def every(command: click.Command, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The names that lead to a command and to each one below it."""
    below = command.commands.items() if isinstance(command, click.Group) else ()
    return [path, *(deep for name, inner in below for deep in every(inner, (*path, name)))]


def test_help_and_releases_import_no_library_but_the_one_that_prints() -> None:
    asked = [(*path, "--help") for path in every(commands)]
    assert len(asked) > 12
    releases = [("releases", "v8.5.3", "--json"), ("releases", "v6.5.6", "v8.5.3", "--json")]
    assert imported(*asked, *releases) == [set()] * len(asked) + [{"rich"}] * 2


def test_small_things_are_computed_by_arrow_alone() -> None:
    """A stream is read, a row, a table and a statement are explained, and small snapshots are compared without pandas,
    which pyarrow would import by itself, without Spark, and without what only other outputs, other places and
    expressions ask for."""
    Path("stream/shop").mkdir(parents=True)
    Path("stream/shop/0.jsonl").write_text("")
    for name, rows in (("before", "1\n"), ("after", "1\n2\n")):
        Path(name).mkdir()
        Path(name, "shop.item-schema.sql").write_text("CREATE TABLE item (id INT PRIMARY KEY)")
        Path(name, "shop.item.csv").write_text(rows)
    schema = ("--schema", "before/shop.item-schema.sql", "--json")
    uri = "kafka://127.0.0.1:9092/shop?protocol=open-protocol"
    diff = ("diff", "before", "after", "--sink-uri", uri, "--fixtures")
    read, *explained = imported(
        ("inspect", "stream"),
        ("explain", "ddl", "ALTER TABLE item ADD price INT", *schema),
        ("explain", "table", "item", *schema),
        ("explain", "row", '{"after": {"id": 1}}', *schema),
    )
    assert read <= {"numpy", "pyarrow", "simulator.reader"}
    assert explained == [{"numpy", "pyarrow", "simulator.reader", "sqlglot"}] * 3
    assert imported((*diff, "one", "--master", "none"), (*diff, "two")) == [{"numpy", "pyarrow", "rich", "sqlglot"}] * 2


def test_a_shell_in_a_pipe_imports_no_prompt() -> None:
    assert {"prompt_toolkit", "pyspark", "kafka"}.isdisjoint(*imported(("shell",)))


def test_who_asks_gets_what_is_not_imported_by_itself() -> None:
    """From Python: `simulator.TiCDC`; and pandas from pyarrow, which looked for it in vain before."""
    text = (
        "import simulator, sys; assert 'pyarrow' not in sys.modules; "
        "from simulator.columns import without_pandas; without_pandas(); import pyarrow as pa; "
        "assert 'pandas' not in sys.modules; print(pa.table({'a': [1, 2]}).to_pandas()['a'].sum()); "
        "print(simulator.TiCDC.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "3\nTiCDC\n"


INTERRUPTED = """
import os, sys
module, number = sys.argv[1], int(sys.argv[2])

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), number)

sys.meta_path.insert(0, Finder())
from simulator.cli import main
sys.argv = ["ticdc-sim", "run", "bank", "--console"]
main()
"""
"""`ticdc-sim run bank --console`, which gets a signal when it imports a module."""


@pytest.mark.parametrize(
    ("module", "number"),
    [
        ("simulator.cli.command_line", signal.SIGINT),
        ("click", signal.SIGTERM),
        ("simulator.cli.tree", signal.SIGINT),
        ("simulator.run", signal.SIGINT),
        ("simulator.run", signal.SIGTERM),
    ],
)
def test_a_signal_during_imports_ends_it_without_a_traceback(module: str, number: signal.Signals) -> None:
    command = [sys.executable, "-c", INTERRUPTED, module, str(int(number))]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout) == (128 + number, "")
    assert ended.stderr in ("", "ticdc-sim: interrupted\n", "ticdc-sim: stopped by SIGTERM\n")
