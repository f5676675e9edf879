"""What holds of a stream whatever release wrote it.

Where nobody tells the release, the default one is assumed. A stream is wrong only if it breaks what every release that
has its protocol would keep. Old values of rows that are older than a column may be others than those that the rows have
(`ticdc.older_rows`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns import row_image
from simulator.reader.contract.message_writer import MessageWriter
from simulator.reader.contract.stream_spec import UNBOUNDED, StreamSpec
from simulator.reader.decode.row_images import row_images
from simulator.reader.events import UNKNOWN_CELL, Layout
from simulator.reader.verify.origin import StreamOrigin
from simulator.reader.verify.verification import NotChecked, Verification
from simulator.releases import RELEASES, Release
from simulator.ticdc.codecs import CODECS
from simulator.ticdc.codecs.codec import Fidelity
from simulator.ticdc.mounter import old_cells
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


UNKNOWN_RELEASE = "which release wrote it is not known: --release or --truth tells"


@dataclass(frozen=True)
class LikeNullOfAny:
    """What messages of one of several releases do not distinguish from NULL, as `replay.normalize.LikeNull` does."""

    writers: tuple[MessageWriter, ...]

    def __call__(self, table: Table) -> Mapping[str, str]:
        likes: dict[str, dict[str, None]] = {}
        for writer in self.writers:
            for name, pattern in writer.like_null(table).items():
                likes.setdefault(name, {})[pattern] = None
        return {name: "|".join(patterns) for name, patterns in likes.items()}


def possible_releases(origin: StreamOrigin) -> Sequence[Release]:
    """Return the releases that may have written a stream."""
    protocol = CODECS[origin.protocol].protocol
    every = (release for releases in RELEASES.values() for release in releases.values())
    return [release for release in every if protocol.exists(release)]


def spec_of_any(spec: StreamSpec, origin: StreamOrigin) -> StreamSpec:
    """Return what a stream must keep whatever release wrote it."""
    codec, options, releases = CODECS[origin.protocol], origin.changefeed.codec, possible_releases(origin)
    every_partition = {codec.broadcasts_ddl(release) for release in releases}
    watermarks = {codec.has_watermarks(options, release) for release in releases}
    return replace(
        spec,
        writer=None,
        destination=UNKNOWN_RELEASE,
        by_layout=UNKNOWN_RELEASE,
        max_message_bytes=UNBOUNDED,
        max_batch_size=UNBOUNDED,
        orders=lambda table: "hash",
        stages=None,
        ddl_in_every_partition=every_partition.pop() if len(every_partition) == 1 else None,
        watermarks=spec.watermarks if spec.files or len(watermarks) == 1 else None,
        bare_deletes=any(map(codec.has_bare_deletes, releases)) and not _all_have_primary_keys(spec.all_tables),
        fidelity=loosest(*_fidelities(origin)),
    )


def _all_have_primary_keys(tables: Sequence[Table]) -> bool:
    return bool(tables) and all(table.primary_key for table in tables)


def like_null_of_any(writer: MessageWriter, origin: StreamOrigin) -> LikeNullOfAny:
    return LikeNullOfAny(tuple(replace(writer, release=release) for release in _fidelities(origin).values()))


def _fidelities(origin: StreamOrigin) -> dict[Fidelity, Release]:
    """Return which values messages lose, each with a release that loses them."""
    codec, options = CODECS[origin.protocol], origin.changefeed.codec
    return {codec.fidelity(options, release): release for release in possible_releases(origin)}


def loosest(*fidelities: Fidelity) -> Fidelity:
    """Return the fidelity of messages that may lose what any of these lose."""
    return replace(
        fidelities[0],
        old_values=all(each.old_values for each in fidelities),
        hides_unchanged_updates=any(each.hides_unchanged_updates for each in fidelities),
        names_operations=all(each.names_operations for each in fidelities),
        nulls=frozenset().union(*(each.nulls for each in fidelities)),
        old_nulls=frozenset().union(*(each.old_nulls for each in fidelities)),
        null_is_default=any(each.null_is_default for each in fidelities),
        whole_seconds=any(each.whole_seconds for each in fidelities),
    )


def unproved(assumed: Verification, of_any: Verification) -> Iterator[NotChecked]:
    """Yield what is wrong if the assumed release wrote a stream, and may be right if another one did."""
    wrong = {(failure.check, table) for failure in of_any.failures for table in failure.tables}
    release = next(setting.value for setting in assumed.settings if setting.name == "release")
    for failure in assumed.failures:
        tables = {table: count for table, count in failure.tables.items() if (failure.check, table) not in wrong}
        if tables:
            of = f" of {', '.join(tables)}" if any(tables) else ""
            first = next((each.what for each in failure.examples if each.table in tables), failure.says)
            what = f"{failure.check} ({sum(tables.values()):,}){of}, if {release} wrote it: {first}"
            yield NotChecked(what, UNKNOWN_RELEASE)
