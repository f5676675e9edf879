"""Two exports of a database of many tables, three rows each, of which one row in all is changed.

    python -m tests.benchmarks.many_tables 2000 DIRECTORY [--format csv|sql|parquet] [--topics]

makes DIRECTORY/before and DIRECTORY/after, and measures what a run of them does on the driver beside Spark: the plan,
and the summary of every table. With `--topics` each table has a topic of its own.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from simulator import releases
from simulator.cli.run_report import Display, Summary
from simulator.run import outputs, scenario
from simulator.run.execute import RunResult
from simulator.run.plan import Plan, plan
from simulator.sinks.records import DeliveryReport
from simulator.ticdc.changefeed import load

URI = "kafka://127.0.0.1:9092/all?protocol=open-protocol&partition-num=4"
TOPICS = """
[sink]
dispatchers = [{matcher = ["*.*"], topic = "{schema}-{table}", partition = "index-value"}]
"""
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
        (number, 7 * table, state, f"{table}.{number:02}", "2026-01-01 00:00:00", "it's" if number > 1 else None)
        for number, state in enumerate(states, 1)
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
    "csv": write_csv,
    "sql": write_sql,
    "parquet": write_parquet,
}


def _cell(value: int | str | None, quote: str, null: str) -> str:
    if value is None:
        return null
    return f"{quote}{value.replace(quote, quote * 2)}{quote}" if isinstance(value, str) else str(value)


@contextmanager
def timed(what: str) -> Iterator[None]:
    wall, cpu = time.monotonic(), time.process_time()
    yield
    print(f"{what:40} {time.monotonic() - wall:7.1f} s, {time.process_time() - cpu:7.1f} s of CPU", flush=True)


def summed_up(planned: Plan, config: str) -> None:
    """The summary of a run that changed rows of every table."""
    output = outputs.to_nowhere(planned, load(URI, config))
    to = output.destinations
    delivered = tuple(DeliveryReport(*to.where(place), 1, 100, 0, 1) for place in range(to.total))
    rows = {(table, op, table % to.total): 1 for table in range(len(planned.tables)) for op in range(3)}
    summary = Summary(planned, output, RunResult(delivered, rows, 1, 1.0), 1.0)
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()):
        summary.write(Path(folder) / "summary.json")
        Display().finish(summary, stderr=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", type=int)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--format", choices=list(WRITERS), default="csv")
    parser.add_argument("--topics", action="store_true")
    asked = parser.parse_args()
    config = TOPICS if asked.topics else ""
    with timed(f"{asked.tables:,} tables of three rows written, twice"):
        before, after = make(asked.directory, asked.tables, asked.format)
    with timed("planned"):
        planned = plan(scenario.diff(before, after).run_spec(), load(URI, config), releases.V8_5)
    with timed(f"summed up, {len(planned.topics):,} topics"):
        summed_up(planned, config)


if __name__ == "__main__":
    main()
