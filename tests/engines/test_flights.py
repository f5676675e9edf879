"""The flights from New York in 2013, scheduled and as flown: a third of a million rows through the command line.

Every row is compared, as columns that Arrow parses from the messages; the contract's own checker, which goes message by
message, is given all watermarks and the rows of the smaller carriers.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
import pyarrow.parquet as pq
import pytest
from support import flights
from support.playing import State, assert_leads, play, state_of

from simulator.consumer.records import Record, read_records
from simulator.ticdc.changefeed import load
from simulator.tidb.ddl.definitions.from_sql import create_table

TABLE = create_table(flights.CREATE_TABLE, "nyc")
KEY = ("day", "carrier", "number", "origin")
URI = "kafka://127.0.0.1:9092/flights?protocol=canal-json&enable-tidb-extension=true&partition-num=4"
BY_CARRIER = '[sink]\ndispatchers = [{matcher = ["nyc.*"], partition = "columns", columns = ["carrier"]}]\n'
SMALLER = ("AS", "F9", "HA", "OO", "YV")
IMAGES = pa.list_(pa.struct([(column.name, pa.string()) for column in TABLE.columns]))
EXTENSION = pa.struct([("commitTs", pa.int64()), ("watermarkTs", pa.int64())])
MESSAGE = pa.schema([("type", pa.string()), ("data", IMAGES), ("old", IMAGES), ("_tidb", EXTENSION)])


@pytest.fixture(scope="module")
def flown() -> pa.Table:
    """The rows of the state after, as text."""
    return texts(flights.flown())


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The fixtures of the run."""
    folder = tmp_path_factory.mktemp("flights")
    before, after = flights.full(folder)
    (folder / "changefeed.toml").write_text(BY_CARRIER)
    options = ("--sink-uri", URI, "--config", folder / "changefeed.toml", "--over", "1h", "--resolved-interval", "1m")
    assert play("diff", before, after, *options, "--fixtures", folder / "out", "--fixtures-format", "parquet") == 0
    return folder / "out"


@pytest.fixture(scope="module")
def messages(stream: Path) -> pa.Table:
    """All messages in the order of their partitions, their JSON as columns beside `partition`."""
    parts = [pq.read_table(path) for path in sorted(stream.rglob("*.parquet"))]
    records = pa.concat_tables(parts).combine_chunks()
    text = b"\n".join(value for value in records["value"].to_pylist())
    options = pyarrow.json.ParseOptions(explicit_schema=MESSAGE, unexpected_field_behavior="ignore")
    parsed = pyarrow.json.read_json(io.BytesIO(text), pyarrow.json.ReadOptions(block_size=16 << 20), options)
    return parsed.append_column("partition", records["partition"])


def texts(table: pa.Table) -> pa.Table:
    """Every value as Canal-JSON has it."""
    columns = [
        pc.strftime(column.cast(pa.timestamp("s")), "%Y-%m-%d %H:%M:%S")
        if pa.types.is_timestamp(column.type)
        else column.cast(pa.string())
        for column in table.columns
    ]
    return pa.table(columns, table.column_names)


def rows(messages: pa.Table, member: str) -> pa.Table:
    """The rows that the messages have under `data` or `old`, by key."""
    found = pa.Table.from_struct_array(pc.list_flatten(messages[member]))
    assert len(found) == len(messages)
    return by_key(found)


def by_key(table: pa.Table) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in KEY])


@pytest.mark.registry
def test_flights_have_a_primary_key_and_known_figures() -> None:
    """Day, carrier, number and origin name a flight; those that were cancelled never change."""
    flown = flights.flown()
    key = flown.group_by(list(KEY)).aggregate([])

    assert (flights.ROWS, flights.ROWS) == (len(flown), len(key))
    assert flights.UPDATED == flights.ROWS - flown["departure"].null_count


@pytest.mark.registry
def test_every_flight_that_flew_is_updated_once_with_both_its_rows(messages: pa.Table, flown: pa.Table) -> None:
    changed = messages.filter(pc.not_equal(messages["type"], "TIDB_WATERMARK"))
    assert set(changed["type"].to_pylist()) == {"UPDATE"}
    expected = by_key(flown.filter(pc.is_valid(flown["departure"])))
    assert len(expected) == flights.UPDATED
    assert rows(changed, "data").equals(expected)
    assert rows(changed, "old").equals(scheduled(expected))


def scheduled(table: pa.Table) -> pa.Table:
    return pa.table(
        [pa.nulls(len(table), pa.string()) if name in flights.ACTUAL else table[name] for name in table.column_names],
        table.column_names,
    )


@pytest.mark.registry
def test_each_carrier_has_its_partition_and_each_partition_its_order(messages: pa.Table) -> None:
    """Rows rise, watermarks rise alike everywhere, and no row is at or below one before it."""
    extension = pc.struct_field(messages["_tidb"], "commitTs"), pc.struct_field(messages["_tidb"], "watermarkTs")
    lanes = []
    for partition in range(4):
        here = pc.equal(messages["partition"], partition)
        commit_ts, marks = (column.filter(here).combine_chunks() for column in extension)
        low = pc.cumulative_max(pc.fill_null(marks, 0))
        assert pc.all(pc.greater(commit_ts, low)).as_py()
        assert rising(commit_ts.drop_null()) and rising(marks.drop_null())
        lanes.append(marks.drop_null())
    assert len(lanes[0]) == 61 and all(lane.equals(lanes[0]) for lane in lanes)
    data = pc.list_element(messages["data"].filter(pc.is_valid(extension[0])), 0)
    places = messages["partition"].filter(pc.is_valid(extension[0]))
    carriers = (
        pa.table({"carrier": pc.struct_field(data, "carrier"), "partition": places})
        .group_by(["carrier", "partition"])
        .aggregate([])
    )
    table = zlib.crc32(b"nycflights")
    assert {row["carrier"]: row["partition"] for row in carriers.to_pylist()} == {
        name: (table ^ zlib.crc32(b"carrier" + name.encode())) % 4 for name in carriers["carrier"].to_pylist()
    }
    assert len(carriers) == 16


def rising(values: pa.Array) -> bool:
    return bool(pc.all(pc.greater_equal(values[1:], values[:-1])).as_py())


@pytest.mark.registry
def test_the_stream_of_the_smaller_carriers_keeps_the_contract(stream: Path, flown: pa.Table) -> None:
    small = flown.filter(pc.is_in(flown["carrier"], pa.array(SMALLER)))
    before, after = state(scheduled(small)), state(small)
    definitions = {("nyc", "flights"): TABLE}
    assert_leads(thinned(stream), load(URI, BY_CARRIER), {"flights": 4}, definitions, before, after)


def thinned(stream: Path) -> Iterator[Record]:
    marks = tuple(f'"carrier":"{name}"'.encode() for name in SMALLER)
    for record in read_records(str(stream)):
        value = record.value or b""
        if b"TIDB_WATERMARK" in value or any(mark in value for mark in marks):
            yield record


def state(table: pa.Table) -> State:
    names = [column.name for column in TABLE.columns]
    return state_of(
        (TABLE, b"\xff".join(b"\xfe" if row[name] is None else row[name].encode() for name in names))
        for row in table.to_pylist()
    )
