"""The time zone of TiCDC's servers (`cdc server --tz`), in which rows have their TIMESTAMPs, and instants back from these.

TiDB stores UTC. Two instants have one local time where a clock is put back; of these it is the one that Go's time.Date
returns (tiflow: cdc/entry/codec.go unflatten; ticdc: pkg/common/event/codec.go; Go: time/time.go Date). Zero dates, and
what is no date, stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.releases import Release
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.model.types import ColumnType

MOMENT = "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01]) "
KIND = pa.timestamp("us")


def zone_of_rows(time_zone: str, release: Release) -> str:
    """Return the zone of TIMESTAMPs in rows, given that of the servers; empty for UTC."""
    return time_zone if release.rows_in_server_zone else ""


def images_in_zone(images: pa.Array, table: Table, zone: str) -> pa.Array:
    """Return row images (binary, null for no row) with TIMESTAMPs of UTC in the local time of a zone."""
    columns = visible_columns(table)
    places = [place for place, column in enumerate(columns) if has_zone(column.type)] if zone else []

    def change(cells: list[pa.Array]) -> list[pa.Array]:
        for place in places:
            cells[place] = to_local(cells[place], zone)
        return cells

    return row_image.with_columns(images, len(columns), change) if places else images


def has_zone(type: ColumnType) -> bool:
    """Return whether values of a type depend on the time zone."""
    return type.name == "timestamp"


def to_local(cells: pa.Array, zone: str) -> pa.Array:
    """Return TIMESTAMP cells (binary) of UTC in the local time of a zone; an empty one is UTC."""
    return _shifted(cells, lambda moments: _local(moments, zone)) if zone else cells


def to_instants(cells: pa.Array, zone: str) -> pa.Array:
    """Return TIMESTAMP cells (binary) in the local time of a zone as they are in UTC."""
    return _shifted(cells, lambda moments: _instants(moments, zone)) if zone else cells


def _local(moments: pa.Array, zone: str) -> pa.Array:
    return pc.local_timestamp(pc.assume_timezone(moments, "UTC").cast(pa.timestamp("us", zone)))


def _instants(local: pa.Array, zone: str) -> pa.Array:
    at_that_time_in_utc = pc.subtract(_local(local, zone), local)
    guess = pc.subtract(local, at_that_time_in_utc)
    offset = pc.subtract(_local(guess, zone), guess)
    # Go looks a second time only where the first offset is not 0
    no_offset = pc.equal(at_that_time_in_utc.cast(pa.int64()), 0)
    return pc.if_else(no_offset, local, pc.subtract(local, offset))


def _shifted(cells: pa.Array, shift: Callable[[pa.Array], pa.Array]) -> pa.Array:
    cells = cells.cast(pa.binary())
    readable = pc.fill_null(pc.match_substring_regex(cells, MOMENT), False)
    text = pc.if_else(readable, cells, pa.scalar(None, pa.binary())).cast(pa.string())
    shifted = shift(text.cast(KIND)).cast(pa.string())
    width = pc.max(pc.utf8_length(text)).as_py() or 0  # cells of a column have the same number of decimals
    return pc.if_else(readable, pc.utf8_slice_codeunits(shifted, 0, width).cast(pa.binary()), cells)
