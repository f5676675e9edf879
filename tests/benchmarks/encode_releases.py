"""Encoding of every release and option beside the default release: `python tests/benchmarks/encode_releases.py`.

A figure is the CPU time of the default release without options over that of the case, for the same rows, key, value and
framing counted: 1.0 is as fast, 0.5 half as fast. Cases take turns, so that a slow moment of the machine meets
all of them, and the best of the passes counts.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from encode import NARROW, WIDE, batch, narrow_row, wide_row

from simulator.releases import V8_5, Release, find, option_names
from simulator.ticdc.codecs import CODECS, CodecOptions, RowChanges
from simulator.ticdc.codecs.codec_options import supported_options
from simulator.tidb.ddl.definitions.from_sql import create_table

MIXED = """CREATE TABLE shop.mixed (id BIGINT PRIMARY KEY, f FLOAT, g FLOAT, d DOUBLE, t TINYINT UNSIGNED,
    b BIGINT UNSIGNED, e ENUM('new','paid','sent'), s SET('a','b','c'), bits BIT(12), y YEAR, c TIME(3), j JSON,
    v VARBINARY(16), l BLOB, n TEXT, m VARCHAR(40) NOT NULL)"""
RELEASES = (
    find("v4.0.0"),
    find("v4.0.9"),
    find("v5.4.0"),
    find("v6.1.0"),
    find("v6.5.6"),
    find("v7.5.0"),
    V8_5,
    find("v8.5.4", "new"),
    find("v8.5.7", "new"),
)
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "only-output-updated-columns": {"only_output_updated_columns": True},
    "content-compatible": {"content_compatible": True},
    "delete-only-output-handle-key-columns": {"delete_only_output_handle_key_columns": True},
    "enable-tidb-extension": {"enable_tidb_extension": True},
    "output-old-value=false": {"output_old_value": False},
    "enable-old-value=false": {"enable_old_value": False},
    "lz4": {"large_message_handle_compression": "lz4"},
    "snappy": {"large_message_handle_compression": "snappy"},
    "handle-key-only, 1 % of rows": {
        "large_message_handle_option": "handle-key-only",
        "enable_tidb_extension": True,
        "max_message_bytes": 0,
    },
    "claim-check, 1 % of rows": {
        "large_message_handle_option": "claim-check",
        "enable_tidb_extension": True,
        "max_message_bytes": 0,
    },
}
CONCERN = {
    "only_output_updated_columns": ("UPDATE",),
    "content_compatible": ("UPDATE",),
    "output_old_value": ("UPDATE",),
    "delete_only_output_handle_key_columns": ("DELETE",),
    "enable_old_value": ("UPDATE", "DELETE"),
}
"""Operations that an option makes a difference to; all where it is not here."""


LONG = 100
"""One row in so many has a long text."""


class Case(NamedTuple):
    """What is measured: rows of one table and operation, through a release with options."""

    release: Release
    option: str
    options: CodecOptions

    @property
    def name(self) -> str:
        return f"{self.release.name} {self.release.architecture}, {self.option}"


def cases(protocol: str, operation: str) -> Iterator[Case]:
    """The default first; then what each release has of the options, where the operation has to do with them."""
    plain = CodecOptions(protocol)
    yield Case(V8_5, "plain", plain)
    for release in RELEASES:
        for option, settings in OPTIONS.items():
            chosen = replace(plain, **settings)
            if protocol == "open-protocol":
                chosen = replace(chosen, enable_tidb_extension=False)
            concerned = all(operation in CONCERN.get(name, (operation,)) for name in settings)
            new = chosen != plain if settings else release is not V8_5
            if new and concerned and has(release, chosen):
                yield Case(release, option, chosen)


def has(release: Release, options: CodecOptions) -> bool:
    """Whether the release has the protocol, and all that is set."""
    canal, large = options.protocol == "canal-json", options.large_message_handle_option
    return (
        supported_options(options, release) == options
        and (not canal or "canal-json" in release.protocols)
        and (canal or not options.content_compatible)
        and (not canal or options.output_old_value)
        and NEEDED.get(large, frozenset()) <= release.options
        and (options.enable_old_value or "enable-old-value" in release.options)
        and (release.tidb_extension or not options.enable_tidb_extension)
    )


NEEDED = {"handle-key-only": option_names.LARGE_MESSAGES, "claim-check": option_names.CLAIM_CHECK}


def half_row(row: int, change: int) -> list[str]:
    """A wide row of which a change leaves half of the columns, other ones in each row."""
    both = wide_row(row, 0), wide_row(row, change)
    return [both[(row + place) % 2][place] for place in range(len(both[0]))]


def mixed_row(row: int, change: int) -> list[str]:
    """Values of MIXED that take some work, every hundredth a long one."""
    number = row * 31 + change
    long = 60 if row % LONG == 0 else 1
    return [
        str(10**12 + row),
        f"{number % 1000}.{number % 9 + 1}",
        f"{number % 97}e-3",
        f"{number}.5e-7",
        str(number % 256),
        str(2**63 + number),
        ("new", "paid", "sent")[number % 3],
        ("a", "b,c", "")[row % 3],
        str(number % 4096),
        str(1990 + number % 60),
        f"12:{row % 60:02d}:00.{number % 1000:03d}",
        f'{{"a": "{number % 99}"}}',
        "\x7f\xe9ab" + str(number % 99),
        "ÿ\x00\x01" + str(row),
        '<long> "text"\n' * long,
        f"a 'quoted' & \\escaped {number % 10_000}",
    ]


TABLES = {
    "narrow": (NARROW, narrow_row),
    "wide": (WIDE, wide_row),
    "half-changed": (WIDE, half_row),
    "mixed": (MIXED, mixed_row),
}


def limit(case: Case, changes: RowChanges) -> CodecOptions:
    """The options with a largest message that only the long rows exceed."""
    if case.options.max_message_bytes:
        return case.options
    codec, whole = CODECS[case.options.protocol], replace(case.options, max_message_bytes=10485760)
    made = codec.encode(changes, whole, case.release)
    sizes = np.sort([len(value) for value in made.values.to_pylist()])
    return replace(case.options, max_message_bytes=int(sizes[-1] + sizes[len(sizes) * 9 // 10]) // 2)


def ratios(changes: RowChanges, chosen: Sequence[Case], passes: int) -> Iterator[tuple[str, float]]:
    """Each case's name, and the default's best time over its best time."""
    codec, group = CODECS[chosen[0].options.protocol], np.zeros(len(changes.after), np.int64)
    options = [limit(case, changes) for case in chosen]
    best = [float("inf")] * len(chosen)
    for _ in range(passes):
        for place, case in enumerate(chosen):
            start = time.process_time()
            encoded = codec.encode(changes, options[place], case.release)
            codec.frame(encoded, group, options[place], case.release)
            best[place] = min(best[place], time.process_time() - start)
    return ((case.name, best[0] / seconds) for case, seconds in zip(chosen, best, strict=True))


def measured(protocol: str, rows: int, passes: int) -> dict[str, list[tuple[float, str]]]:
    """Case → its ratios, each with the rows that it was taken from."""
    found: dict[str, list[tuple[float, str]]] = {}
    for kind, (statement, made) in TABLES.items():
        table = create_table(statement)
        for operation in ("UPDATE",) if kind == "half-changed" else ("INSERT", "UPDATE", "DELETE"):
            chosen = [case for case in cases(protocol, operation) if kind == "mixed" or "1 %" not in case.option]
            for name, ratio in ratios(batch(table, made, operation, rows), chosen, passes):
                found.setdefault(name, []).append((ratio, f"{operation} of {kind} rows"))
    return found


def report(protocols: Sequence[str], rows: int, passes: int) -> None:
    """Prints a line per release and option: the median of its ratios, and the worst with its rows."""
    for protocol in protocols:
        print(f"{protocol:62} {'median':>6} {'worst':>6}")
        for name, found in measured(protocol, rows, passes).items():
            worst, where = min(found)
            median = statistics.median(ratio for ratio, _ in found)
            print(f"{name:62} {median:6.2f} {worst:6.2f}  {where}", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=8192, help="rows in a batch")
    parser.add_argument("--passes", type=int, default=5, help="passes over each case, of which the best counts")
    parser.add_argument("--protocol", choices=CODECS, action="append", help="one protocol, not both")
    pa.set_cpu_count(1)
    said = parser.parse_args()
    report(said.protocol or tuple(CODECS), said.rows, said.passes)
