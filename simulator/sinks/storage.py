"""The storage sink: the rows of each table wait in this process until a flush, then become files.

A flush comes at DDL and at each checkpoint, when `drain` is called, and for one table when its rows reach
`file-size`. The index of a directory is written before the file that it names, or after it, as the release does it
(tiflow v8.0.0: cdc/sink/dmlsink/cloudstorage/dml_worker.go; ticdc v8.5.7:
downstreamadapter/sink/cloudstorage/writer.go).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from simulator import tso
from simulator.columns.cells import stored_buffers
from simulator.columns.change_frame import Ints, by_table, picked_values
from simulator.releases import Release
from simulator.sinks.external_storage import ExternalStorage, reason
from simulator.sinks.records import (
    CUT_SHORT,
    INDEX_ONLY,
    CountedSink,
    Records,
    WaitListener,
    ignore_waiting,
    positions_by_partition,
)
from simulator.ticdc.changefeed import Storage
from simulator.ticdc.cloud_storage import (
    METADATA,
    SCHEMA_FILE,
    StoredTable,
    data_directory,
    data_name,
    data_number,
    date_text,
    index_path,
)

Directory = tuple[str, int, int | None]
"""The directory of a table, version and partition."""

NO_TABLE = -1


@dataclass(frozen=True)
class StorageSettings:
    """The storage, its layout, and the tables of the run."""

    storage: Storage
    release: Release
    extension: str
    """`.csv` or `.json`."""

    tables: Sequence[StoredTable]
    """Parallel to the run's physical tables; a changefeed that stays open appends to it."""

    since: int = 0
    """The checkpoint from which the changefeed goes on after a restart; 0 if it is new."""


class StorageSink(CountedSink):
    """Writes rows, schema files and checkpoints to a storage; what is in flight waits for its file."""

    def __init__(
        self, settings: StorageSettings, topics: Sequence[str] = (), waiting: WaitListener = ignore_waiting
    ) -> None:
        super().__init__()
        self._settings, self._layout, self._release = settings, settings.storage, settings.release
        self._files = ExternalStorage(settings.storage.uri, "sink-uri")
        self._waiting: dict[int, WaitingRows] = {}
        self._versions: dict[int, int] = {}
        """The version in the path of each table's rows: that of the schema file in use."""

        self._numbers: dict[Directory, tuple[str, int]] = {}
        """The date and the number of the last file."""

        self._partitions: dict[int, tuple[int, int]] = {}
        """Topic and partition of each table."""

        self._late: dict[int, tuple[str, list[RowsFile]]] = {}
        """The path of each table's file whose index alone is written, and its rows with those of later files."""

        self._earlier: dict[str, frozenset[str]] = {}
        """The names of files that were in a directory before this sink wrote to it."""

    def use(self, settings: StorageSettings) -> None:
        """Use the tables of other settings from now on, after `drain`."""
        if settings is not self._settings:
            self._settings = settings
            self._waiting.clear()
            self._versions.clear()
            self._numbers.clear()

    @property
    def in_flight(self) -> int:
        return sum(waiting.size for waiting in self._waiting.values())

    def write(self, records: Records) -> None:
        """Keep the rows, write schema files and checkpoints."""
        for topic, partition, places in positions_by_partition(records):
            counter = self._counters[topic, partition]
            if not self.failed:
                try:
                    self._take(records, places, (topic, partition))
                except OSError as error:
                    counter.error = str(error)
                    continue
                counter.delivered(0, 0, None, records.commit_ts[int(places[-1])].as_py())

    def drain(self) -> None:
        """Write the files of all rows."""
        for table, waiting in self._waiting.items():
            counter = self._counters[self._partitions[table]]
            if waiting.size and not self.failed:
                try:
                    self._store(table, waiting.take())
                except OSError as error:
                    counter.error = str(error)

    def _take(self, records: Records, places: np.ndarray, partition: tuple[int, int]) -> None:
        """Handle the records of one partition, in order: what is no row comes after the rows before it."""
        assert records.table is not None
        table = np.asarray(records.table, np.int64)[places]
        commit_ts = np.asarray(records.commit_ts, np.int64)[places]
        controls = np.flatnonzero(table == NO_TABLE)
        start = 0
        for end in (*controls.tolist(), len(places)):
            for physical, at in by_table(table[start:end]):
                number, rows = self._file_owner(physical), places[start + at]
                self._partitions[number] = partition
                waiting = self._waiting.setdefault(number, WaitingRows(self._file_size))
                if records.file_fault is not None:
                    waiting.fault = int(np.asarray(records.file_fault)[rows].max())
                for file in waiting.add(picked_values(records.value, rows), commit_ts[start + at]):
                    self._store(number, file)
                if waiting.fault == INDEX_ONLY and number not in self._late:
                    self._store(number, waiting.take())
            if end < len(places):
                self._write_control(records, int(places[end]), partition[1])
            start = end + 1

    def _file_owner(self, number: int) -> int:
        """Return the physical table in whose files the rows of one are: its own, or the first of its partitions."""
        if not self._release.storage_one_partition:
            return number
        return self._settings.tables.index(self._settings.tables[number])

    def _write_control(self, records: Records, place: int, partition: int) -> None:
        """Write a schema file or the checkpoint, after all rows of this task; other tasks wait at barriers."""
        self.drain()
        self._store_late()
        if self.failed:
            return
        path = records.key[place].as_py().decode("utf-8", "surrogateescape")
        if path != METADATA or partition == 0:
            self._write(path, [records.value[place].as_buffer()])

    def _store_late(self) -> None:
        """Write the files that are late."""
        late, self._late = self._late, {}
        for number, (path, (first, *others)) in late.items():
            self._write_rows(number, path, first)
            for file in others:
                self._store(number, replace(file, fault=0))

    def _store(self, number: int, file: RowsFile) -> None:
        """Write the rows of a table as its next file, unless it is late."""
        if number in self._late:
            self._late[number][1].append(file)
            return
        path, index = self._next_paths(number, file)
        if self._release.storage_index in ("beside", "first"):
            self._write_index(index, path)
        if file.fault == INDEX_ONLY:
            self._late[number] = path, [file]
            return
        self._write_rows(number, path, file)
        if self._release.storage_index == "last":
            self._write_index(index, path)

    @property
    def _file_size(self) -> int:
        """The bytes from which on a file is complete."""
        return self._layout.file_size + self._release.storage_exceeds_size

    def _next_paths(self, number: int, file: RowsFile) -> tuple[str, str]:
        """Return the paths of a table's next file and of its index; write its schema file first if there is none."""
        table = self._settings.tables[number]
        if number not in self._versions:
            self._versions[number] = self._schema_version(table)
        date = date_text(self._layout.date_separator, tso.physical(file.last_commit_ts))
        version = self._versions[number]
        directory = data_directory(table, version, date)
        place = table.table_directory, version, table.partition_id
        name = self._next_name(place, directory, date, table.dispatcher)
        return f"{directory}/{name}", index_path(directory, self._release, table.dispatcher)

    def _write_index(self, index: str, path: str) -> None:
        """Write the index that names the file at a path."""
        self._write(index, [f"{path.rpartition('/')[2]}\n".encode()])

    def _write_rows(self, number: int, path: str, file: RowsFile) -> None:
        file = file.cut_short() if file.fault == CUT_SHORT else file
        header = self._settings.tables[number].header
        self._write(path, [header, *file.parts] if header else file.parts)
        self._counters[self._partitions[number]].delivered(1, file.size, None, file.last_commit_ts)

    def _schema_version(self, table: StoredTable) -> int:
        """Return the version of the schema file of a table's rows: its own, or the last one with the same columns.

        If there is none, it is written (tiflow: CheckOrWriteSchema).
        """
        directory, _, name = table.schema_path.rpartition("/")
        with self._named(directory, "listed"):
            names = self._files.names(directory)
        if name in names:
            return table.version
        versions = () if table.keeps_version else map(SCHEMA_FILE.fullmatch, names)
        same = [match for match in versions if match and match[0].endswith(table.checksum)]
        if same:
            return max(int(match[1]) for match in same)
        self._write(table.schema_path, [table.schema_text])
        return table.version

    def _next_name(self, place: Directory, directory: str, date: str, dispatcher: str) -> str:
        """Return the name of the next file; numbers begin anew at a new date, and go on after files of earlier runs."""
        last_date, last = self._numbers.get(place) or (date, self._last_number(directory, dispatcher))
        number = (last if last_date == date else 0) + 1
        while (name := self._name(number, dispatcher)) in self._taken(directory):
            if self._release.storage_next_number == "hangs":
                raise OSError(
                    f"TiCDC {self._release.name} hangs: {directory} has {name}, which its index does not name "
                    "(pkg/sink/cloudstorage/path.go GenerateDataFilePath)"
                )
            number += 1
        self._numbers[place] = date, number
        return name

    def _name(self, number: int, dispatcher: str) -> str:
        return data_name(number, self._layout.file_index_width, self._settings.extension, dispatcher)

    def _taken(self, directory: str) -> frozenset[str]:
        """Return the names of files that were there before this sink, in a release that heeds them."""
        if self._release.storage_next_number in ("named", "index"):
            return frozenset()
        if directory not in self._earlier:
            with self._named(directory, "listed"):
                self._earlier[directory] = self._files.names(directory)
        return self._earlier[directory]

    def _last_number(self, directory: str, dispatcher: str) -> int:
        """Return the number of the last file of a directory, by its index; 0 without any."""
        path = index_path(directory, self._release, dispatcher)
        with self._named(path, "read"):
            index = None if self._release.storage_index == "none" else self._files.read(path)
        if index is None:
            return 0
        name = index.decode("utf-8", "replace").removesuffix("\n")
        try:
            number = data_number(name, self._settings.extension)
        except ValueError as error:
            raise OSError(f"{path}: {error}") from error
        if self._release.storage_next_number != "named":
            return number
        with self._named(name, "read"):
            return number if self._files.read(f"{directory}/{name}", 1) else number - 1

    def _write(self, path: str, parts: Sequence[bytes | memoryview | pa.Buffer]) -> None:
        with self._named(path, "written"):
            self._files.write(path, parts)

    @contextmanager
    def _named(self, path: str, done: str) -> Iterator[None]:
        """Name the storage and the file in an error."""
        try:
            yield
        except Exception as error:  # each driver has errors of its own
            raise OSError(f"sink-uri {self._files.shown}: {path} cannot be {done}: {reason(error)}") from error


@dataclass(frozen=True)
class RowsFile:
    parts: Sequence[memoryview]
    last_commit_ts: int
    fault: int = 0
    """What happens to it (`simulator.sinks.records`); 0 for nothing."""

    @property
    def size(self) -> int:
        return sum(len(part) for part in self.parts)

    def cut_short(self) -> RowsFile:
        """Return the file without the second half of its last line."""
        content = b"".join(self.parts)
        last_line = content.rfind(b"\n", 0, len(content) - 1) + 1
        return replace(self, parts=[memoryview(content)[: (last_line + len(content)) // 2]])


@dataclass
class WaitingRows:
    """Encoded rows in order, as long as they are not in a file."""

    limit: int
    """The bytes from which on a file is complete, at the end of a transaction."""

    parts: list[memoryview] = field(default_factory=list)
    size: int = 0
    last_commit_ts: int = 0
    fault: int = 0
    """What happens to the next file."""

    def add(self, values: pa.Array, commit_ts: Ints) -> Iterator[RowsFile]:
        """Append rows, and yield the files that are complete."""
        data, offsets = stored_buffers(values)
        start = 0
        for end in self._transaction_ends(offsets, commit_ts):
            if self.size + int(offsets[end] - offsets[start]) >= self.limit:
                self._append(data[offsets[start] : offsets[end]], int(commit_ts[end - 1]) if end else 0)
                yield self.take()
                start = end
        self._append(data[offsets[start] :], int(commit_ts[-1]))

    def take(self) -> RowsFile:
        """Return all rows as a file, and forget them."""
        taken = RowsFile(self.parts, self.last_commit_ts, self.fault)
        self.parts, self.size, self.fault = [], 0, 0
        return taken

    def _transaction_ends(self, offsets: np.ndarray, commit_ts: Ints) -> list[int]:
        """Return after how many of the rows a transaction ends and a file may be complete."""
        if self.size + int(offsets[-1]) < self.limit:
            return []
        ends = np.flatnonzero(np.diff(commit_ts)) + 1
        begins_new = self.size > 0 and self.last_commit_ts != commit_ts[0]
        return [*([0] if begins_new else []), *ends.tolist()]

    def _append(self, data: np.ndarray, commit_ts: int) -> None:
        if len(data):
            self.parts.append(data.data)
            self.size += len(data)
        self.last_commit_ts = commit_ts or self.last_commit_ts
