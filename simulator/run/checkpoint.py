"""`checkpoint.json` in the directory of `--checkpoint`, from which `--resume` continues a run.

Everything up to the checkpoint is acknowledged, and no watermark above it has been sent. The file is replaced
atomically, one run at a time locks its directory, and only the same run may resume it.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self, TypeVar

import pyarrow as pa

from simulator import files, tso
from simulator.errors import DeliveryError, UserError, uri_without_secrets
from simulator.files import read_text
from simulator.releases import Release, full_name
from simulator.run.plan import Plan
from simulator.sources.snapshots import CsvDialect, Snapshot
from simulator.sources.snapshots.quoting import UTF8
from simulator.ticdc.changefeed import Changefeed, Kafka
from simulator.ticdc.dispatch.destinations import Destinations

PIECE = 1 << 22
"""Bytes of a snapshot's file that are hashed at a time."""

NAME = "checkpoint.json"

HASH = re.compile("[0-9a-f]{16}")

FORMAT = 1


class StoredCheckpoint(Protocol):
    """A checkpoint of a run: a dataclass whose fields JSON can hold."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def run(self) -> Mapping[str, str]:
        """The identity of the run: its values by the names that error messages use."""

    @property
    def watermark(self) -> int:
        """The TSO up to which everything is acknowledged."""

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read the fields; raises ValueError, KeyError, TypeError or AttributeError for impossible ones."""


CheckpointT = TypeVar("CheckpointT", bound=StoredCheckpoint)


class CheckpointFile:
    """The file, in a directory that this run has locked."""

    def __init__(self, directory: Path) -> None:
        self.path = directory / NAME
        self._closed = False
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._directory = os.open(directory, os.O_RDONLY)
        except OSError as error:
            text = f"--checkpoint {directory}: {error.strerror}: give a directory that can be written"
            raise UserError(text) from error
        try:
            fcntl.flock(self._directory, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._directory)
            raise UserError(f"--checkpoint {directory} is in use by another run: give each its own") from error

    def write(self, checkpoint: StoredCheckpoint) -> None:
        """Replace the file and sync it to disk; raises DeliveryError."""
        document = {"format": FORMAT, **asdict(checkpoint), "watermark": tso.describe(checkpoint.watermark)}
        temporary = self.path.with_name(f".{NAME}.new")
        try:
            with temporary.open("w", encoding="utf-8") as file:
                file.write(json.dumps(document, indent=2) + "\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self.path)
            os.fsync(self._directory)
        except OSError as error:
            raise DeliveryError(f"cannot write {self.path}: {error.strerror}") from error

    def end(self) -> None:
        """Delete the file, and its directory if that is empty, as the run is complete."""
        with suppress(FileNotFoundError):
            self.path.unlink()
        with suppress(OSError):  # other files may be there
            self.path.parent.rmdir()

    def close(self) -> None:
        """Release the lock."""
        if not self._closed:
            os.close(self._directory)
        self._closed = True


def begin(directory: Path, first: StoredCheckpoint) -> CheckpointFile:
    """Create the file of a new run; raises UserError if there is a checkpoint of an unfinished run."""
    store = CheckpointFile(directory)
    try:
        if store.path.exists():
            raise UserError(
                f"{store.path} is of a run that did not come to its end (acknowledged up to "
                f"{tso.describe(_read(store.path, type(first)).watermark)}): --resume goes on with it, without that file a "
                "new run begins, and --checkpoint DIR gives this run a place of its own"
            )
        store.write(first)
    except BaseException:
        store.close()
        raise
    return store


def resume(directory: Path, run: Mapping[str, str], kind: type[CheckpointT]) -> tuple[CheckpointFile, CheckpointT]:
    """Open the file of a run that ended early; raises UserError if there is none, or it is of another run."""
    if not (directory / NAME).exists():
        raise UserError(f"nothing to --resume: there is no {directory / NAME}; without --resume a new run begins")
    store = CheckpointFile(directory)
    try:
        checkpoint = _read(store.path, kind)
        before = checkpoint.run
        names = dict.fromkeys(name for name in (*run, *before) if run.get(name) != before.get(name))
        if names:
            differences = ", ".join(_difference(name, before.get(name), run.get(name)) for name in names)
            raise UserError(f"{store.path} is of another run: {differences}; --resume takes what that run was given")
    except BaseException:
        store.close()
        raise
    return store, checkpoint


def _difference(name: str, before: str | None, now: str | None) -> str:
    """Describe a difference of two identities, without hashes."""
    if before is None or now is None or HASH.fullmatch(before) or HASH.fullmatch(now):
        return f"{name} is another one"
    return f"{name} was {before}, now it is {now}"


def _read(path: Path, kind: type[CheckpointT]) -> CheckpointT:
    """Read a checkpoint; raises UserError for another file."""
    text = read_text(path)
    try:
        document = json.loads(text)
        if document["format"] != FORMAT:
            raise UserError(f"{path} has format {document['format']!r}: this version reads {FORMAT}")
        return kind.from_json(document)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path} is no checkpoint of such a run; without that file a new run begins") from error


def resume_hint(watermark: int) -> str:
    """Return the message of a run that ended early."""
    return f"everything up to {tso.describe(watermark)} is acknowledged; --resume goes on there"


@dataclass(frozen=True)
class RunCheckpoint:
    """The progress of a run of a scenario."""

    run: Mapping[str, str]
    start_ts: int
    commit_ts: int = 0
    """Everything up to this TSO is acknowledged; 0 at the start."""

    @property
    def watermark(self) -> int:
        return self.commit_ts or self.start_ts

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> RunCheckpoint:
        start_ts, commit_ts = int(document["start_ts"]), int(document["commit_ts"])
        if not 0 < start_ts <= tso.FOREVER or (commit_ts and not start_ts <= commit_ts <= tso.FOREVER):
            raise ValueError("nobody wrote that")
        return cls({str(name): str(value) for name, value in document["run"].items()}, start_ts, commit_ts)


class CheckpointWriter:
    """Writes the progress of a run of a scenario to its checkpoint file."""

    def __init__(self, file: CheckpointFile, checkpoint: RunCheckpoint) -> None:
        self.since = checkpoint.commit_ts
        """The TSO from which the run resumes; 0 for a new run."""

        self.file = file
        self._checkpoint = checkpoint

    @staticmethod
    def open(directory: Path, run: Mapping[str, str], plan: Plan, resumes: bool) -> CheckpointWriter:
        """Resume a run or begin one; raises UserError as `resume` and `begin` do."""
        if resumes:
            return CheckpointWriter(*resume(directory, run, RunCheckpoint))
        first = RunCheckpoint(run, tso.compose(plan.timeline.start_ms))
        return CheckpointWriter(begin(directory, first), first)

    def advance(self, commit_ts: int) -> None:
        """Store that everything up to a TSO is acknowledged; raises DeliveryError."""
        if commit_ts > self._checkpoint.commit_ts:
            checkpoint = replace(self._checkpoint, commit_ts=commit_ts)
            self.file.write(checkpoint)
            self._checkpoint = checkpoint

    @property
    def resume_hint(self) -> str:
        return resume_hint(self._checkpoint.watermark)


def identity(
    plan: Plan, seed: int, release: Release, changefeed: Changefeed, destinations: Destinations
) -> dict[str, str]:
    """Return everything that decides what a run sends, by the names that error messages use.

    Reads the files of the snapshots; raises OSError if it cannot.
    """
    line = plan.timeline
    partitions = dict(zip(destinations.topics, destinations.counts, strict=True))
    return {
        "what is played": short_hash(
            repr((plan.tables, plan.statements, plan.topics, plan.active)), _ipc_bytes(plan.rows)
        ),
        "a snapshot": short_hash(*_snapshot_content(plan)),
        "--seed": str(seed),
        "its begin": str(tso.compose(line.start_ms)),
        "its end": str(tso.compose(line.end_ms)),
        "--resolved-interval": f"{line.resolved_interval_ms}ms",
        **changefeed_identity(release, changefeed, partitions),
    }


def _ipc_bytes(rows: pa.RecordBatch | None) -> bytes:
    """Return rows as an Arrow IPC stream."""
    if rows is None:
        return b""
    out = io.BytesIO()
    with pa.ipc.new_stream(out, rows.schema) as stream:
        stream.write_batch(rows)
    return out.getvalue()


def _snapshot_content(plan: Plan) -> Iterator[str | bytes]:
    """Yield the table definitions, rows and files of all snapshots."""
    for snapshot in (snapshot for pair in plan.snapshot_pairs for snapshot in (pair.before, pair.after)):
        for table in snapshot.tables:
            yield repr(table.table)
            for batch in table.rows.to_batches() if table.rows is not None else ():
                yield _ipc_bytes(batch)
        yield from _file_content(snapshot)


def _file_content(snapshot: Snapshot) -> Iterable[str | bytes]:
    if snapshot.csv != CsvDialect():
        yield repr(snapshot.csv)
    every = (file for table in snapshot.tables for some in table.files.values() for file in some)
    for path, size, charset in dict.fromkeys((file.path, file.size, file.charset) for file in every):
        yield f"{Path(path).name} {size}{'' if charset == UTF8 else f' {charset}'}"
        with files.open_file(path) as content:
            while piece := content.read(PIECE):
                yield piece


def changefeed_identity(release: Release, changefeed: Changefeed, partitions: Mapping[str, int]) -> dict[str, str]:
    """Return the part of a run's identity that its changefeed decides; the address of Kafka does not count, and that
    of a storage does."""
    kafka = Kafka((), changefeed.kafka.partition_num)
    storage = {} if changefeed.storage is None else {"sink-uri": uri_without_secrets(changefeed.storage.uri)}
    return {
        "--release": full_name(release),
        **storage,
        "topic": changefeed.topic,
        "protocol": changefeed.codec.protocol,
        "partitions": ", ".join(f"{topic}: {count}" for topic, count in sorted(partitions.items())),
        "changefeed": short_hash(repr(replace(changefeed, scheme="", kafka=kafka, warnings=()))),
    }


def short_hash(*texts: str | bytes) -> str:
    """Return 16 hex digits of a SHA-256."""
    digest = hashlib.sha256()
    for text in texts:
        digest.update(text.encode() if isinstance(text, str) else text)
    return digest.hexdigest()[:16]
