"""Old values of rows that are older than a column: in some releases not those that the rows have (`ticdc.older_rows`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.reader.decode.row_images import row_images
from simulator.reader.frame import UNKNOWN_CELL, Layout
from simulator.releases import Release
from simulator.ticdc.codecs.codec import Fidelity
from simulator.ticdc.older_rows import old_cells
from simulator.tidb.model.table import Table, visible_columns
from simulator.tidb.model.types import family, is_binary


@dataclass(frozen=True)
class ImagesOfReleases:
    """Converts rows to images as `row_images` does, where one of some releases wrote them: an old value that may be of an
    older row is unknown."""

    releases: tuple[Release, ...]
    zone: str
    """Of TIMESTAMPs in rows; empty for UTC."""

    @classmethod
    def of(cls, releases: Iterable[Release], zone: str) -> ImagesOfReleases:
        """Return the images of rows of any of the releases."""
        alike = {(release.older_rows, release.older_timestamps_in_utc): release for release in releases}
        return cls(tuple(alike.values()), zone)

    def __call__(
        self, rows: pa.RecordBatch, layout: Layout, table: Table, fidelity: Fidelity
    ) -> tuple[pa.Array, pa.Array]:
        before, after = row_images(rows, layout, table, fidelity)
        for release in self.releases:
            before = _with_unknown_cells(before, table, release, self.zone)
        return before, after


def _with_unknown_cells(images: pa.Array, table: Table, release: Release, zone: str) -> pa.Array:
    """Return old images in which a cell is unknown if it is what the release has of an older row."""
    fillers = old_cells(table, release, zone)
    columns = visible_columns(table)

    def change(cells: list[pa.Array]) -> list[pa.Array]:
        for place, column in enumerate(columns):
            if column.name in fillers:
                doubtful = _may_be(cells[place], fillers[column.name])
                if column.not_null:
                    doubtful = pc.or_(doubtful, cells[place].is_null())  # a JSON
                if family(column.type) == "bit" or is_binary(column.type):
                    doubtful = pa.repeat(pa.scalar(True), len(cells[place]))  # bytes that are no UTF-8 may be lost
                cells[place] = pc.if_else(doubtful, pa.scalar(UNKNOWN_CELL), cells[place])
        return cells

    return row_image.with_columns(images, len(columns), change) if fillers else images


def _may_be(cells: pa.Array, text: bytes | None) -> pa.Array:
    return cells.is_null() if text is None else pc.fill_null(pc.equal(cells, text), False)
