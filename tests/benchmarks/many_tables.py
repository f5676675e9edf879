"""Two exports of a database of many tables, three rows each, of which one row in all is changed.

    python tests/benchmarks/many_tables.py --tables 2000 --directory DIRECTORY [--format csv] [--topics] [--altered]

makes DIRECTORY/before and DIRECTORY/after, and measures what a run of them does on the driver beside Spark: schema files
are loaded, and a catalog made of them; filters, event filters and dispatchers decide on every table; then the plan, and
the summary of every table. With `--topics` each table has a topic of its own; with `--altered` every tenth one has a
column more in the second export.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pyarrow as pa
from measuring import options, planned, told
from snapshots import METADATA, write

from simulator import releases
from simulator.cli.run_report import Display, Summary
from simulator.run import outputs
from simulator.run.execute import RunResult
from simulator.run.plan import Plan
from simulator.sinks.records import DeliveryReport
from simulator.sources import snapshots
from simulator.ticdc import dispatch
from simulator.ticdc.changefeed import Changefeed, load
from simulator.ticdc.filters.event_filters import event_filters, rule_ignoring_row
from simulator.ticdc.rules import replication
from simulator.tidb.ddl.catalog import build_catalog
from simulator.tidb.model.table import Table

URI = "kafka://127.0.0.1:9092/all?protocol=open-protocol&partition-num=4"
FILTERS = """
[filter]
rules = ["db*.*", "!db1.t?"]
event-filters = [{matcher = ["db2.*"], ignore-event = ["delete"]}]
"""
TOPICS = """
[sink]
dispatchers = [{matcher = ["*.*"], topic = "{schema}-{table}", partition = "index-value"}]
"""
DATABASES = 10

CREATE_TABLE = """\
/*!40014 SET FOREIGN_KEY_CHECKS=0*/;
/*!40101 SET NAMES binary*/;
CREATE TABLE `{name}` (
  `id` bigint(20) NOT NULL AUTO_INCREMENT,
  `user_id` bigint(20) NOT NULL,
  `state` enum('new','paid') NOT NULL DEFAULT 'new',
  `total` decimal(12,2) NOT NULL DEFAULT '0.00',
  `changed` datetime NOT NULL DEFAULT CURRENT_TIMESTAMP,
  `note` varchar(200) DEFAULT NULL,{more}
  PRIMARY KEY (`id`) /*T![clustered_index] CLUSTERED */,
  KEY `by_user` (`user_id`,`state`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
"""


def make(directory: Path, tables: int, format: str, altered: bool) -> tuple[Path, Path]:
    """Both exports, as Dumpling names their files; those of one count and format are always the same."""
    before, after = directory / "before", directory / "after"
    for number, export in enumerate((before, after)):
        export.mkdir(parents=True, exist_ok=True)
        (export / "metadata").write_text(
            METADATA.replace("463267587686400000", str(463267587686400000 + (number << 30)))
        )
        for database in range(min(DATABASES, tables)):
            (export / f"db{database}-schema-create.sql").write_text(f"CREATE DATABASE `db{database}`;\n")
    for table in range(tables):
        stem, name = f"db{table % DATABASES}.t{table:05}", f"t{table:05}"
        for export in (before, after):
            more = "\n  `more` int DEFAULT 1," if altered and export is after and table % 10 == 0 else ""
            (export / f"{stem}-schema.sql").write_text(CREATE_TABLE.format(name=name, more=more))
            changed = export is after and table == tables // 2
            if not altered:
                write(rows(table, changed), export / f"{stem}.000000000.{format}", name)
    return before, after


def rows(table: int, changed: bool) -> pa.Table:
    """Three rows of a table; the second one may have another state."""
    count = range(3)
    return pa.table(
        {
            "id": [number + 1 for number in count],
            "user_id": [7 * table for _ in count],
            "state": ["new", "paid" if changed else "new", "paid"],
            "total": [f"{table}.{number + 1:02}" for number in count],
            "changed": ["2026-01-01 00:00:00" for _ in count],
            "note": [None, 'a "note"', 'a "note"'],
        }
    )


def decided(tables: Sequence[Table], changefeed: Changefeed) -> None:
    """Filters, event filters and dispatchers decide on each."""
    kept = replication(changefeed.rules)
    events = event_filters(changefeed.event_filters, releases.V8_5)
    router = dispatch.router(changefeed)
    for table in tables:
        kept.table(table.schema, table.name)
        rule_ignoring_row(events, table.schema, table.name, "delete")
        dispatch.route(router, table)


def summed_up(drawn: Plan, changefeed: Changefeed) -> None:
    """The summary of a run that changed rows of every table."""
    output = outputs.Output(changefeed).for_plan(drawn)
    to = output.destinations
    delivered = tuple(DeliveryReport(*to.where(place), 1, 100, 0, 1) for place in range(to.total))
    rows = {(table, op, table % to.total): 1 for table in range(len(drawn.tables)) for op in range(3)}
    summary = Summary(drawn, output, RunResult(delivered, rows, 1, 1.0), 1.0)
    with tempfile.TemporaryDirectory() as folder, redirect_stdout(StringIO()):
        summary.write(Path(folder) / "summary.json")
        Display().finish(summary, stderr=False)


def main() -> None:
    asked = options(
        __doc__,
        {"format": ("csv", "sql", "parquet")},
        tables=2000,
        directory=Path,
        format="csv",
        topics=False,
        altered=False,  # and without rows
    )
    config = (FILTERS if asked.altered else "") + (TOPICS if asked.topics or asked.altered else "")
    changefeed = load(URI, config)
    with tempfile.TemporaryDirectory() as scratch:
        with told(f"{asked.tables:,} tables of three rows written, twice"):
            before, after = make(asked.directory or Path(scratch), asked.tables, asked.format, asked.altered)
        with told("loaded"):
            tables = [entry.table for entry in snapshots.open(before).tables]
        with told("a catalog of them"):
            build_catalog(tables)
        with told("filters, event filters and dispatchers decide"):
            decided(tables, changefeed)
        with told("planned"):
            drawn = planned(before, after, changefeed)
        with told(f"summed up, {len(drawn.statements):,} statements, {len(drawn.topics):,} topics"):
            summed_up(drawn, changefeed)


if __name__ == "__main__":
    main()
