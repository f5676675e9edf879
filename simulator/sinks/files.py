"""Fixtures: a directory with one file for each Kafka partition, `DIR/<topic>/<partition>.jsonl` or `.parquet`.

Lines of JSON have key and value in base64, or null. Offsets start at 0. A timestamp is the physical time of the record's
last TSO. `DIR/schemas.json` has the schemas that messages name, if they name any:
`{"1": {"subject": …, "schema": …}, …}`.

Files are written in a hidden directory beside DIR and moved at the end, so that DIR never has incomplete files.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator import tso
from simulator.errors import UserError
from simulator.files import directory_entries, disk_errors, disk_refusal
from simulator.sinks import staging
from simulator.sinks.memory import SynchronousSink
from simulator.sinks.records import (
    DeliveryReport,
    PartitionCounter,
    PartitionRecords,
    Records,
    WaitListener,
    ignore_waiting,
)
from simulator.ticdc.codecs import Schema
from simulator.ticdc.codecs.wire_text import base64

if TYPE_CHECKING:
    import pyarrow.parquet as pq

SCHEMAS = "schemas.json"

FORMATS = ("jsonl", "parquet")


@dataclass(frozen=True)
class FileSettings:
    """The final directory of fixtures, and the staging directory in which they are written."""

    directory: str
    staging: str
    format: str
    """jsonl or parquet"""

    shared: bool = False
    """Whether other writers append to the files between two writes of a sink; offsets then continue from the file."""

    def path(self, topic: str, partition: int) -> Path:
        """Return the path of a partition's file in the staging directory."""
        return Path(self.staging) / topic / f"{partition}.{self.format}"

    def refusal(self, topic: str, partition: int, error: OSError) -> str:
        """Return the error of the file system for a partition's file, with its final path."""
        return disk_refusal(Path(self.directory) / topic / f"{partition}.{self.format}", error)


def begin(directory: str | Path, format: str, shared: bool = False) -> FileSettings:
    """Create the hidden directory; raise UserError if DIR contains anything but fixtures, which will be replaced."""
    if format not in FORMATS:
        raise UserError(f"unknown fixtures format {format!r}: {' or '.join(FORMATS)}")
    final = Path(directory).absolute()
    _refuse_foreign(final)
    with disk_errors(final):
        staging_directory = staging.make(final)
    return FileSettings(str(final), str(staging_directory), format, shared)


def commit(settings: FileSettings, topics: Mapping[str, int]) -> None:
    """Add an empty file for each partition without records, and move everything to DIR; raise DeliveryError."""
    final = Path(settings.directory)
    with disk_errors(final):
        for topic, count in topics.items():
            for partition in range(count):
                path = settings.path(topic, partition)
                path.parent.mkdir(exist_ok=True)
                if not path.exists():
                    write_empty(path)
        _refuse_foreign(final)
        staging.put_in_place(final, Path(settings.staging))


def write_schemas(settings: FileSettings, schemas: Mapping[int, Schema]) -> None:
    """Write the schemas beside the messages, if there are any; raise DeliveryError."""
    if schemas:
        members = {str(id): {"subject": schemas[id].subject, "schema": schemas[id].text} for id in sorted(schemas)}
        with disk_errors(Path(settings.directory) / SCHEMAS):
            text = json.dumps(members, ensure_ascii=False, indent=1)
            (Path(settings.staging) / SCHEMAS).write_text(text, encoding="utf-8")


def discard(settings: FileSettings) -> None:
    """Remove what has been written; DIR stays as it was. Tasks that still write find their directory missing."""
    staging.discard(Path(settings.staging))


def empty(settings: FileSettings) -> None:
    """Remove the files that were written; no task may be writing. Raise DeliveryError."""
    for path in sizes(settings):
        with disk_errors(path):
            path.unlink()


def sizes(settings: FileSettings) -> dict[Path, int]:
    """Return the bytes of every file so far; raise DeliveryError."""
    with disk_errors(Path(settings.directory)):
        return {path: path.stat().st_size for path in Path(settings.staging).glob(f"*/*.{settings.format}")}


def truncate_to(settings: FileSettings, to: Mapping[Path, int]) -> None:
    """Truncate the files to these sizes; no task may be writing. Raise DeliveryError."""
    with disk_errors(Path(settings.directory)):
        for path, size in sizes(settings).items():
            if size > to.get(path, 0):
                os.truncate(path, to.get(path, 0))


def _refuse_foreign(final: Path) -> None:
    if not final.exists():
        return
    if not final.is_dir():
        raise UserError(f"the fixtures directory {final} is a file: give a new or empty directory")
    foreign = next((path for path in _content(final) if not _is_ours(path.relative_to(final), path)), None)
    if foreign is not None:
        raise UserError(
            f"the fixtures directory {final} holds something else ({foreign.relative_to(final)}): "
            "give a new or empty directory, or one with fixtures, which are replaced"
        )


def _content(final: Path) -> Iterator[Path]:
    """Yield what the directory and its topics hold, and nothing below."""
    for path in directory_entries(final):
        yield path
        if path.is_dir():
            yield from directory_entries(path)


OURS = re.compile(r"[A-Za-z0-9._-]+/\d+\.(jsonl|parquet)")


def _is_ours(relative: Path, path: Path) -> bool:
    """Return whether a file or directory looks like a fixture, by its path and its first bytes."""
    if path.is_dir():
        return len(relative.parts) == 1 and any(path.iterdir())
    if relative.as_posix() == SCHEMAS:
        return True
    if not OURS.fullmatch(relative.as_posix()):
        return False
    with path.open("rb") as file:
        start = file.read(len(JSONL_START))
    return start in (b"", JSONL_START) if path.suffix == ".jsonl" else start.startswith(b"PAR1")


JSONL_START = b'{"offset": 0, "timestamp": '


class PartitionFiles(SynchronousSink):
    """Base of the file formats."""

    _settings: FileSettings

    def _path(self, run: PartitionRecords) -> Path:
        """Return the path of the partition's file, creating its directory; raise OSError."""
        path = self._settings.path(self._topics[run.topic], run.partition)
        path.parent.mkdir(exist_ok=True)
        return path

    def _refusal(self, topic: int, partition: int, error: OSError) -> str:
        return self._settings.refusal(self._topics[topic], partition, error)


class JsonLines(PartitionFiles):
    """Appends to one file for each partition; keeps none of them open."""

    def __init__(self, settings: FileSettings, topics: Sequence[str], waiting: WaitListener = ignore_waiting) -> None:
        super().__init__(settings, topics)
        self._written_sizes: dict[Path, int] = {}
        """How many bytes files had when they were last written to."""

    def _deliver(self, run: PartitionRecords, offset: int) -> None:
        path = self._path(run)
        with path.open("ab") as file:
            file.write(lines(run.records, offset))
            self._written_sizes[path] = file.tell()

    def _offset(self, run: PartitionRecords, tally: PartitionCounter) -> int:
        path = self._path(run)
        if not self._settings.shared or self._size(path) == self._written_sizes.get(path, 0):
            return super()._offset(run, tally)
        return next_offset(path)

    def _size(self, path: Path) -> int:
        return path.stat().st_size if path.exists() else 0


OFFSET = re.compile(rb'\{"offset": (\d+), ')

TAIL = 1 << 16


def next_offset(path: Path) -> int:
    """Return the offset after the last line of a file; raise OSError."""
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        length = min(size, TAIL)
        while length:
            file.seek(size - length)
            tail = file.read(length)
            start = tail.rfind(b"\n", 0, -1) + 1
            if start or length == size:
                break
            length = min(size, 4 * length)
    if not length:
        return 0
    last = OFFSET.match(tail, start)
    if last is None:
        raise OSError("its last line is not one of a fixture")
    return int(last[1]) + 1


def lines(records: Records, offset: int) -> memoryview:
    """Return the lines of one partition's records, the first of which has that offset."""
    number = pa.array(np.arange(offset, offset + len(records.value)))
    events = records.events if records.events is not None else pa.scalar("[]", pa.large_string())
    fields = [
        '{"offset": ', number, ', "timestamp": ', pc.shift_right(records.commit_ts, tso.LOGICAL_BITS),
        ', "key": ', _quoted(records.key), ', "value": ', _quoted(records.value),
        ', "events": ', events, "}\n",
    ]  # fmt: skip
    return _bytes(pc.binary_join_element_wise(*(_text(field) for field in fields), _text("")))


def _quoted(column: pa.Array) -> pa.Array:
    quoted = pc.binary_join_element_wise(_text('"'), _text(base64(column)), _text('"'), _text(""))
    return quoted.fill_null("null") if column.null_count else quoted


def _text(field: str | pa.Array | pa.Scalar) -> pa.Array | pa.Scalar:
    return pa.scalar(field, pa.large_string()) if isinstance(field, str) else field.cast(pa.large_string())


def _bytes(column: pa.Array) -> memoryview:
    offsets = np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column) + 1]
    return memoryview(column.buffers()[2])[int(offsets[0]) : int(offsets[-1])]


SCHEMA = pa.schema(
    [
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.timestamp("us", tz="UTC")),
        ("timestampType", pa.int32()),
    ]
)
"""docs.spark.apache.org, Structured Streaming + Kafka; timestampType 0 is CreateTime."""


class ParquetFiles(PartitionFiles):
    """Keeps one open file for each partition."""

    def __init__(self, settings: FileSettings, topics: Sequence[str], waiting: WaitListener = ignore_waiting) -> None:
        super().__init__(settings, topics)
        self._writers: dict[tuple[int, int], pq.ParquetWriter] = {}

    def close(self) -> list[DeliveryReport]:
        """Complete the files."""
        for place, writer in self._writers.items():
            try:
                writer.close()
            except OSError as error:
                self._counters[place].error = self._refusal(*place, error)
        self._writers.clear()
        return super().close()

    def _deliver(self, run: PartitionRecords, offset: int) -> None:
        import pyarrow.parquet as pq  # it takes long, and few runs write it

        place = run.topic, run.partition
        if place not in self._writers:
            self._writers[place] = pq.ParquetWriter(self._path(run), SCHEMA, compression="lz4", use_dictionary=False)
        self._writers[place].write_table(table(run.records, self._topics[run.topic], run.partition, offset))


def table(records: Records, topic: str, partition: int, offset: int) -> pa.Table:
    """Return one partition's records, the first of which has that offset, in the form of Spark's Kafka source."""
    count = len(records.value)
    columns = [
        records.key,
        records.value,
        pa.repeat(topic, count),
        records.partition,
        pa.array(np.arange(offset, offset + count)),
        pc.multiply(pc.shift_right(records.commit_ts, tso.LOGICAL_BITS), 1000).cast(SCHEMA.field("timestamp").type),
        pa.array(np.zeros(count, np.int32)),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def write_empty(path: Path) -> None:
    """Write the file of a partition without records."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        pq.write_table(SCHEMA.empty_table(), path)
    else:
        path.touch()
