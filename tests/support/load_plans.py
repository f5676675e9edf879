"""Load plans written by hand, and their epochs."""

from __future__ import annotations

from collections.abc import Sequence

from simulator.load.epochs.epoch import SchemaEpoch
from simulator.load.epochs.epochs import PreparedLoad, prepare_load, schema_epochs
from simulator.load.plan.load_plan import DdlSchedule, LoadPlan
from simulator.releases import V8_5, Release
from simulator.run import outputs
from simulator.run.outputs import Output
from simulator.sources.generate.changes.timetable import Segment
from simulator.sources.generate.model import Mix, Model, TableModel
from simulator.sources.generate.values.generators import ColumnGenerator, Reference, TableGenerators
from simulator.ticdc.changefeed import Changefeed, load
from simulator.tidb.ddl.catalog import build_catalog
from simulator.tidb.ddl.definitions.from_sql import create_table

CUSTOMER = "CREATE TABLE shop.customer (id BIGINT PRIMARY KEY, name VARCHAR(200), score DOUBLE, since TIMESTAMP)"
ORDERS = (
    "CREATE TABLE shop.orders (id BIGINT PRIMARY KEY, customer_id BIGINT NOT NULL, note TEXT, paid DECIMAL(9,2), "
    "FOREIGN KEY (customer_id) REFERENCES shop.customer (id))"
)
AUDIT = (
    "CREATE TABLE log.audit (region INT, name VARCHAR(20), data VARBINARY(9), state ENUM('a','b'), "
    "PRIMARY KEY (region, name)) PARTITION BY HASH (region) PARTITIONS 3"
)
DEFINITIONS = (CUSTOMER, ORDERS, AUDIT)
REFERENCE = TableGenerators({"customer_id": ColumnGenerator(Reference("shop", "customer", "id"))})

URI = "kafka://127.0.0.1:9/load?protocol=canal-json&enable-tidb-extension=true&partition-num=3"
OPEN = "kafka://127.0.0.1:9/load?protocol=open-protocol&partition-num=3"


def load_plan(
    *statements: DdlSchedule,
    definitions: Sequence[str] = DEFINITIONS,
    rows: int = 40,
    present: bool = False,
    seed: int = 7,
    mix: Mix = Mix(30, 50, 20),
) -> LoadPlan:
    """A small one."""
    tables = [create_table(definition) for definition in definitions]
    models = tuple(
        TableModel(table.schema, table.name, rows, mix=mix, kept=table.name == "customer") for table in tables
    )
    wanted = tuple(REFERENCE if table.foreign_keys else TableGenerators() for table in tables)
    return LoadPlan(
        "shop",
        Model(seed, models, (1, 9), 2, present),
        tuple(definitions),
        wanted,
        build_catalog(tables),
        statements,
        text='name = "shop"\n',
    )


def opened(
    plan: LoadPlan, changefeed: Changefeed | None = None, release: Release = V8_5, per_second: float = 1000
) -> tuple[PreparedLoad, Output]:
    """The plan at so many rows a second, its records going nowhere."""
    changefeed = changefeed or load(URI, release=release)
    found = prepare_load(plan, (Segment(0, per_second, per_second),), changefeed, release)
    return found, outputs.to_nowhere(found.plan, changefeed)


def at(prepared: PreparedLoad, output: Output, ms: int) -> SchemaEpoch:
    """The epoch of a millisecond."""
    return next(schema_epochs(prepared, output, ms))
