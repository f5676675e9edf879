"""Many tables before any row is read: `python -m tests.benchmarks.catalog [--tables N]`.

Schema files are loaded as a snapshot's are; a statement's catalog is made of them; filters, event filters and
dispatchers decide on every table; a plan is drawn up in which every tenth table changes. No Spark is started.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from simulator import releases
from simulator.run import scenario
from simulator.run.plan import plan
from simulator.sources import snapshots
from simulator.ticdc import dispatch
from simulator.ticdc.changefeed import load
from simulator.ticdc.filters import replication
from simulator.ticdc.filters.event_filters import event_filters, rule_ignoring_row
from simulator.tidb.ddl.catalog import build_catalog

URI = "kafka://127.0.0.1:9092/all?protocol=open-protocol&partition-num=4"
CONFIG = """
[filter]
rules = ["db*.*", "!db1.t?"]
event-filters = [{matcher = ["db2.*"], ignore-event = ["delete"]}]
[sink]
dispatchers = [{matcher = ["db*.t1*"], topic = "{schema}-{table}", partition = "index-value"}]
"""
TABLE = (
    "CREATE TABLE `{name}` (`id` bigint NOT NULL AUTO_INCREMENT, `user_id` bigint NOT NULL, `state` enum('new','paid')"
    " NOT NULL DEFAULT 'new', `total` decimal(12,2) NOT NULL DEFAULT '0.00', `note` varchar(200) DEFAULT NULL,"
    " `changed` datetime(3) DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3){more}, PRIMARY KEY (`id`)"
    " /*T![clustered_index] CLUSTERED */, KEY `by_user` (`user_id`,`state`)) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"
    " COLLATE=utf8mb4_bin;\n"
)


def write(directory: Path, tables: int, changed: bool) -> Path:
    """A snapshot of that many empty tables in ten databases; every tenth may have one column more."""
    directory.mkdir()
    for number in range(tables):
        more = ", `more` int DEFAULT 1" if changed and number % 10 == 0 else ""
        text = TABLE.format(name=f"t{number}", more=more)
        (directory / f"db{number % 10}.t{number}-schema.sql").write_text(text)
    return directory


@contextmanager
def timed(what: str) -> Iterator[None]:
    wall, cpu = time.monotonic(), time.process_time()
    yield
    print(f"{what:50} {time.monotonic() - wall:7.1f} s, {time.process_time() - cpu:7.1f} s of CPU", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=10_000)
    count = parser.parse_args().tables
    with tempfile.TemporaryDirectory() as folder:
        before, after = (write(Path(folder) / name, count, name == "after") for name in ("before", "after"))
        with timed(f"{count:,} tables loaded"):
            tables = [entry.table for entry in snapshots.open(before).tables]
        with timed("a catalog of them"):
            build_catalog(tables)
        changefeed, release = load(URI, CONFIG), releases.V8_5
        with timed("filters, event filters and dispatchers decide"):
            kept = replication(changefeed.rules)
            events = event_filters(changefeed.event_filters, release)
            router = dispatch.router(changefeed)
            for table in tables:
                kept.table(table.schema, table.name)
                rule_ignoring_row(events, table.schema, table.name, "delete")
                dispatch.route(router, table)
        with timed(f"a plan in which {count // 10:,} tables change"):
            planned = plan(scenario.diff(before, after).run_spec(), changefeed, release)
    print(f"{len(planned.tables):,} versions, {len(planned.statements):,} statements, {len(planned.topics):,} topics")


if __name__ == "__main__":
    main()
