#!/usr/bin/env python3
"""Makes the airports data: two releases of the package airportsdata as two Dumpling exports of one TiDB table.

    pip download --no-deps airportsdata==20250224
    pip download --no-deps airportsdata==20260905
    python make_airports.py airportsdata-20250224-*.whl airportsdata-20260905-*.whl

The first becomes SQL files, the second CSV files, in Dumpling's default dialects. The same wheels give the same bytes.
"""

from __future__ import annotations

import argparse
import csv
import io
import zipfile
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

COUNTRIES = {"BE", "CZ", "ES", "IS", "JP", "NO", "NZ", "PG", "PL", "PT", "TR"}
"""These, and the states of the US below, keep the shares of inserted, deleted and updated rows of the whole."""

STATES = {"Alaska", "Hawaii", "New York"}

CREATE_DATABASE = "CREATE DATABASE `airports` /*!40100 DEFAULT CHARACTER SET utf8mb4 */;\n"

CREATE_TABLE = """\
CREATE TABLE `airport` (
  `icao` char(4) NOT NULL,
  `iata` char(3) DEFAULT NULL,
  `name` varchar(80) NOT NULL,
  `city` varchar(64) NOT NULL DEFAULT '',
  `subd` varchar(64) NOT NULL DEFAULT '' COMMENT 'state or province',
  `country` char(2) NOT NULL,
  `elevation` decimal(7,2) NOT NULL COMMENT 'feet',
  `lat` double NOT NULL,
  `lon` double NOT NULL,
  `tz` varchar(40) NOT NULL,
  `lid` varchar(8) DEFAULT NULL COMMENT 'local code',
  PRIMARY KEY (`icao`) /*T![clustered_index] CLUSTERED */,
  UNIQUE KEY `iata` (`iata`),
  KEY `country` (`country`,`subd`)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;
"""

COLUMNS = ("icao", "iata", "name", "city", "subd", "country", "elevation", "lat", "lon", "tz", "lid")
NUMBERS = {"elevation", "lat", "lon"}
NULLABLE = {"iata", "lid"}

PREAMBLE = "/*!40014 SET FOREIGN_KEY_CHECKS=0*/;\n/*!40101 SET NAMES binary*/;\n"
"""What Dumpling writes at the head of SQL files from TiDB (tidb dumpling/export/ir_impl.go)."""

METADATA = """\
Started dump at: {started:%Y-%m-%d %H:%M:%S}
SHOW MASTER STATUS:
\tLog: tidb-binlog
\tPos: {tso}
\tGTID:

Finished dump at: {finished:%Y-%m-%d %H:%M:%S}
"""

SQL_ESCAPES = str.maketrans({"\0": r"\0", "\n": r"\n", "\r": r"\r", "\\": r"\\", "'": r"\'", '"': r"\"", "\x1a": r"\Z"})
CSV_ESCAPES = str.maketrans({"\0": r"\0", "\n": r"\n", "\r": r"\r", "\\": r"\\", '"': r"\""})

Row = dict[str, str | None]
Airports = dict[str, Row]


def main() -> None:
    """Write both exports and say how they differ."""
    options = arguments()
    (before, before_time), (after, after_time) = read(options.before), read(options.after)
    if not options.whole:
        keys = {key for key, row in (*before.items(), *after.items()) if chosen(row)}
        before, after = only(before, keys), only(after, keys)
    dump(before, options.to / directory_name(options.before), before_time, options.rows, "sql")
    dump(after, options.to / directory_name(options.after), after_time, options.rows, "csv")
    common = before.keys() & after.keys()
    print(
        f"before {len(before)}, after {len(after)}: {len(after.keys() - before.keys())} inserted, "
        f"{len(before.keys() - after.keys())} deleted, {sum(before[key] != after[key] for key in common)} updated"
    )


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description="two wheels of airportsdata -> two Dumpling exports")
    parser.add_argument("before", type=Path, help="wheel of the older release")
    parser.add_argument("after", type=Path, help="wheel of the newer release")
    parser.add_argument("--to", type=Path, default=Path(__file__).parent, help="where to (default: beside this script)")
    parser.add_argument("--rows", type=int, default=1000, help="rows in a data file (default: 1000)")
    parser.add_argument("--whole", action="store_true", help="all countries, not only those that are shipped")
    return parser.parse_args()


def read(wheel: Path) -> tuple[Airports, datetime]:
    """The airports of a release by ICAO code, and when its file was written."""
    with zipfile.ZipFile(wheel) as archive:
        written = datetime(*archive.getinfo("airportsdata/airports.csv").date_time, tzinfo=UTC)
        lines = io.StringIO(archive.read("airportsdata/airports.csv").decode(), newline="")
    rows = ({name: tidb_text(name, row[name]) for name in COLUMNS} for row in csv.DictReader(lines))
    return {str(row["icao"]): row for row in sorted(rows, key=lambda row: str(row["icao"]).encode())}, written


def tidb_text(column: str, text: str) -> str | None:
    """A field as TiDB prints it: a code that is not there is NULL, `44.0` as a double is `44`."""
    if column in NULLABLE and not text:
        return None
    if column == "elevation":
        return f"{float(text):.2f}"
    return repr(float(text)).removesuffix(".0") if column in NUMBERS else text


def chosen(row: Row) -> bool:
    """Whether an airport is in the part that is shipped."""
    return row["country"] in COUNTRIES or (row["country"] == "US" and row["subd"] in STATES)


def only(airports: Airports, keys: set[str]) -> Airports:
    """Those with these keys."""
    return {key: row for key, row in airports.items() if key in keys}


def directory_name(wheel: Path) -> str:
    """`airports-20250224` of `airportsdata-20250224-py3-none-any.whl`."""
    return f"airports-{wheel.name.split('-')[1]}"


def dump(airports: Airports, directory: Path, started: datetime, rows: int, filetype: str) -> None:
    """One export: schema files, data files of so many rows, metadata with the TSO of the moment it shows."""
    directory.mkdir(parents=True, exist_ok=True)
    save(directory / "airports-schema-create.sql", PREAMBLE + CREATE_DATABASE)
    save(directory / "airports.airport-schema.sql", PREAMBLE + CREATE_TABLE)
    everything = list(airports.values())
    for chunk, start in enumerate(range(0, len(everything), rows)):
        part = everything[start : start + rows]
        save(directory / f"airports.airport.{chunk:09d}.{filetype}", FILE_TYPES[filetype](part))
    tso = int(started.timestamp()) * 1000 << 18
    save(directory / "metadata", METADATA.format(started=started, tso=tso, finished=started + timedelta(seconds=1)))


def save(path: Path, text: str) -> None:
    """UTF-8, with the line ends that the text has."""
    path.write_bytes(text.encode())


def sql_file(rows: Iterable[Row]) -> str:
    """One INSERT statement."""
    tuples = (f"({','.join(fields(row, sql_string, 'NULL'))})" for row in rows)
    return PREAMBLE + "INSERT INTO `airport` VALUES\n" + ",\n".join(tuples) + ";\n"


def csv_file(rows: Iterable[Row]) -> str:
    """Header and rows; only numbers and NULL stand without quotes."""
    lines = [",".join(map(csv_string, COLUMNS)), *(",".join(fields(row, csv_string, r"\N")) for row in rows)]
    return "".join(f"{line}\r\n" for line in lines)


FILE_TYPES = {"sql": sql_file, "csv": csv_file}


def fields(row: Row, string: Callable[[str], str], null: str) -> Iterator[str]:
    """The fields of a row in table order, strings by way of `string`."""
    for name, value in row.items():
        yield null if value is None else value if name in NUMBERS else string(value)


def sql_string(text: str) -> str:
    """A quoted SQL literal."""
    return f"'{text.translate(SQL_ESCAPES)}'"


def csv_string(text: str) -> str:
    """A quoted CSV field."""
    return f'"{text.translate(CSV_ESCAPES)}"'


if __name__ == "__main__":
    main()
