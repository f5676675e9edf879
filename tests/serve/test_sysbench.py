"""sysbench, a program of others, works with a served database, and the stream leads to its rows."""

from __future__ import annotations

import csv
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.processes import started

SYSBENCH = shutil.which("sysbench")
TABLES = ("sbtest1", "sbtest2")


def sysbench(port: int, command: str) -> str:
    """Return what sysbench prints. Deadlocks and conflicts are no failures."""
    options = {"host": "127.0.0.1", "port": port, "user": "root", "db": "test", "ignore-errors": "1213,1205,9007"}
    mysql = [f"--mysql-{name}={value}" for name, value in options.items()]
    size = [f"--tables={len(TABLES)}", "--table-size=200", "--threads=4", "--time=10", "--rand-seed=44"]
    done = subprocess.run(
        [str(SYSBENCH), "oltp_read_write", "--db-driver=mysql", *mysql, *size, command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def export(client: Any, directory: Path) -> None:
    """Write the tables as Dumpling does."""
    directory.mkdir()
    for table in TABLES:
        ((_, definition),) = client.run(f"SHOW CREATE TABLE {table}")
        (directory / f"test.{table}-schema.sql").write_text(f"{definition};\n")
        with (directory / f"test.{table}.000000000.csv").open("w", newline="") as file:
            rows = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
            rows.writerow(("id", "k", "c", "pad"))
            rows.writerows(client.run(f"SELECT * FROM {table}"))


@pytest.mark.slow
@pytest.mark.skipif(SYSBENCH is None, reason="sysbench is not installed (Debian's package sysbench)")
def test_sysbench_reads_and_writes(tmp_path: Path, start: Callable[..., Any], connect: Callable[..., Any]) -> None:
    server, port = start("--fixtures", str(tmp_path / "out"))
    sysbench(port, "prepare")
    told = sysbench(port, "run")
    export(connect(port), tmp_path / "after")
    server.terminate()
    assert server.wait(30) == 0

    transactions = re.search(r"transactions: +(\d+)", told)
    assert transactions is not None and int(transactions[1]) > 20, told
    with started("verify", tmp_path / "out", "--after", tmp_path / "after") as verification:
        said, _ = verification.communicate()
    assert said.startswith("RIGHT: "), said
