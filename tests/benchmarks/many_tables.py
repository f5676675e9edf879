"""Two exports of a database of many tables, three rows each, of which one row in all is changed.

    python -m tests.benchmarks.many_tables 2000 DIRECTORY [--format csv|sql|parquet] [--plan]

makes DIRECTORY/before and DIRECTORY/after. With `--plan` it measures what a run of them does on the driver beside
Spark: the plan, and the summary of its one row.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

DATABASES = 10
Row = tuple[int, int, str, str, str, str | None]

NAMES = ("id", "user_id", "state", "total", "changed", "note")
CREATE_TABLE = """\
/*!40014 SET FOREIGN_KEY_CHECKS=0*/;
/*!40101 SET NAMES binary*/;
CREATE TABLE `{name}` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `user_id` bigint(20) NOT NULL,
  `state` enum('new','paid') NOT NULL DEFAULT 'new',
  `total` decimal(12,2) NOT NULL DEFAULT '0.00',
  `changed` datetime NOT NULL DEFAULT CURRENT_TIMESTAMP,
  `note` varchar(200) DEFAULT NULL,
  PRIMARY KEY (`id`) /*T![clustered_index] CLUSTERED */,
  KEY `by_user` (`user_id`,`state`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
"""
METADATA = "Started dump at: 2026-01-01 00:00:00\nSHOW MASTER STATUS:\n\tLog: tidb-binlog\n\tPos: {pos}\n\tGTID:\n"


def make(directory: Path, tables: int, format: str) -> tuple[Path, Path]:
    """Both exports, as Dumpling names their files; those of one count and format are always the same."""
    before, after = directory / "before", directory / "after"
    for number, export in enumerate((before, after)):
        export.mkdir(parents=True, exist_ok=True)
        (export / "metadata").write_text(METADATA.format(pos=463267587686400000 + (number << 30)))
        for database in range(min(DATABASES, tables)):
            (export / f"db{database}-schema-create.sql").write_text(f"CREATE DATABASE `db{database}`;\n")
    for table in range(tables):
        stem, name = f"db{table % DATABASES}.t{table:05}", f"t{table:05}"
        for export in (before, after):
            (export / f"{stem}-schema.sql").write_text(CREATE_TABLE.format(name=name))
            changed = export is after and table == tables // 2
            WRITERS[format](export / f"{stem}.000000000.{format}", name, rows(table, changed))
    return before, after


def rows(table: int, changed: bool) -> list[Row]:
    """Three rows of a table; the second one may have another state."""
    states = ("new", "paid" if changed else "new", "paid")
    return [
        (number + 1, table * 7 + number, state, f"{table}.{number:02}", "2026-01-01 00:00:00", None if number else "it's")
        for number, state in enumerate(states)
    ]


def write_csv(path: Path, _: str, found: Sequence[Row]) -> None:
    lines = (",".join(_cell(value, '"', r"\N") for value in row) for row in found)
    path.write_text("\r\n".join([",".join(f'"{name}"' for name in NAMES), *lines, ""]))


def write_sql(path: Path, name: str, found: Sequence[Row]) -> None:
    lines = ",\n".join(f"({','.join(_cell(value, chr(39), 'NULL') for value in row)})" for row in found)
    path.write_text(f"/*!40101 SET NAMES binary*/;\nINSERT INTO `{name}` VALUES\n{lines};\n")


def write_parquet(path: Path, _: str, found: Sequence[Row]) -> None:
    pq.write_table(pa.table(dict(zip(NAMES, map(list, zip(*found, strict=True)), strict=True))), path)


WRITERS: dict[str, Callable[[Path, str, Sequence[Row]], None]] = {
    "csv": write_csv, "sql": write_sql, "parquet": write_parquet,
}


def _cell(value: int | str | None, quote: str, null: str) -> str:
    if value is None:
        return null
    return f"{quote}{value.replace(quote, quote * 2)}{quote}" if isinstance(value, str) else str(value)
