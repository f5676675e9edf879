"""Schema epochs of a load run by hand, without a plan: tables by CREATE TABLE, values by functions of key and version."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import pyarrow as pa

from simulator import tso
from simulator.columns import row_image
from simulator.engines.stages import RowRules
from simulator.engines.tasks.control_events import ControlEvents
from simulator.engines.tasks.task import TaskSpec
from simulator.engines.tasks.watermark_schedule import WatermarkSchedule
from simulator.load.epochs.epoch import EpochTable, Pace, SchemaEpoch, Window
from simulator.releases import V8_5, Release
from simulator.run import outputs
from simulator.sources.generate.changes.stream import Stream
from simulator.sources.generate.changes.timetable import Segment
from simulator.sources.generate.model import Mix, Model, TableModel, TableRows
from simulator.sources.snapshots import PlacedTable
from simulator.sources.snapshots.physical import physical_tables
from simulator.ticdc import dispatch, key_bytes
from simulator.ticdc.changefeed import load
from simulator.ticdc.dispatch import Destinations
from simulator.ticdc.rules import changefeed_rules
from simulator.ticdc.split import split_rule
from simulator.ticdc.table_info import handle_key
from simulator.tidb.ddl.definitions.from_sql import create_table
from simulator.tidb.model.table import Table, visible_columns

if TYPE_CHECKING:
    from simulator.sources.generate.values.table_values import TableValues

START_MS = tso.physical(tso.DEFAULT_START_TS)
NEVER = WatermarkSchedule(START_MS, START_MS, 1000, START_MS)

Text = Callable[[int, int], str | None]
"""A column's text, of key and version."""


@dataclass(frozen=True)
class Made:
    """In place of `TableValues`."""

    table: Table
    columns: Mapping[str, Text]

    def texts(self, names: Sequence[str], rows: TableRows) -> dict[str, pa.Array]:
        pairs = list(zip(rows.keys.tolist(), rows.versions.tolist(), strict=True))
        made = {name: [self.columns[name](*pair) for pair in pairs] for name in names}
        return {name: pa.array([text and text.encode() for text in texts], pa.binary()) for name, texts in made.items()}

    def images(self, rows: TableRows) -> pa.Array:
        return row_image.pack(list(self.texts([column.name for column in visible_columns(self.table)], rows).values()))

    def handles(self, rows: TableRows) -> pa.Array:
        return key_bytes.handle_keys(self.table, self.texts(handle_key(self.table), rows))


ORDERS = "CREATE TABLE shop.orders (id BIGINT PRIMARY KEY, status VARCHAR(9), n INT)"
CUSTOMERS = "CREATE TABLE shop.customers (id VARCHAR(20) PRIMARY KEY, note VARCHAR(40))"
LOG = "CREATE TABLE shop.log (line VARCHAR(20), n INT)"
PARTS = (
    "CREATE TABLE shop.parts (region INT, id INT, note VARCHAR(9), PRIMARY KEY (region, id)) "
    "PARTITION BY HASH (region) PARTITIONS 3"
)
MOVING = "CREATE TABLE shop.moving (region INT, note VARCHAR(9)) PARTITION BY HASH (region) PARTITIONS 3"
UNIQUES = "CREATE TABLE shop.uniques (id BIGINT PRIMARY KEY, code INT NOT NULL UNIQUE, n INT)"

COLUMNS: dict[str, dict[str, Text]] = {
    "orders": {
        "id": lambda key, version: str(key * 7 % 100_003),
        "status": lambda key, version: None if version % 10 > 7 else "abc"[version // 2 % 3],
        "n": lambda key, version: str(key + version // 2),
    },
    "customers": {
        "id": lambda key, version: f"c{key * 31 % 1009}-{key}",
        "note": lambda key, version: "n" * (version % 7),
    },
    "log": {"line": lambda key, version: f"line {key}", "n": lambda key, version: str(version)},
    "parts": {
        "region": lambda key, version: str(key % 5),
        "id": lambda key, version: str(key),
        "note": lambda key, version: str(version),
    },
    "moving": {"region": lambda key, version: str(key + version), "note": lambda key, version: None},
    "uniques": {
        "id": lambda key, version: str(key),
        "code": lambda key, version: str(2 * key + version % 2),
        "n": lambda key, version: str(version),
    },
}
"""Some versions of a row of `orders` are alike, and rows of `moving` go from one partition to the other."""


def epoch(
    *statements: str,
    options: str = "protocol=open-protocol&partition-num=4",
    toml: str = "",
    sink: str = "counting",
    settings: object = None,
    release: Release = V8_5,
    end_ms: int | None = None,
    rows: int = 30,
    per_second: float = 1000,
    seed: int = 1,
    mix: Mix = Mix(30, 50, 20),
) -> SchemaEpoch:
    """A epoch from the start of the stream, with these tables."""
    changefeed = load(f"kafka://127.0.0.1:9092/load?{options}", toml, release)
    compiled = changefeed_rules(changefeed, release)
    tables = [create_table(statement) for statement in statements]
    physical = physical_tables(tables)
    routes = tuple(dispatch.route(compiled.router, each.table) for each in physical)
    topics = tuple(dict.fromkeys(route.topic for route in routes))
    to = Destinations(topics, (changefeed.kafka.partitions,) * len(topics))
    split = split_rule(release, changefeed.output_raw_change_event, changefeed.codec.enable_old_value)
    models = tuple(TableModel(table.schema, table.name, rows, mix=mix) for table in tables)
    model = Model(seed, models, (1, 9), min(2, len(tables)))
    stream = Stream(model, (Segment(0, per_second, per_second),))
    loaded = []
    for table in tables:
        indexes = tuple(number for number, each in enumerate(physical) if each.table == table)
        values = cast("TableValues", Made(table, COLUMNS[table.name]))
        loaded.append(EpochTable(PlacedTable(table, indexes), values, 0))
    job = TaskSpec(
        physical,
        routes,
        (),
        ControlEvents((), NEVER, False, False, to),
        outputs.codec_options(changefeed),
        release,
        sink,
        settings,
        0.0,
        START_MS,
        None,
    )
    made = RowRules(physical, routes, compiled.event_filters, compiled.replication.ignored_start_ts, split, to)
    return SchemaEpoch(0, 0, end_ms, stream, tuple(loaded), made, job, ())


def window(of: SchemaEpoch, first_ms: int, end_ms: int, pace: Pace = Pace(0.0, 0.0)) -> Window:
    return Window(of, first_ms, end_ms, pace)
