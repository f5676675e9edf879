"""Where a load run stands, in `checkpoint.json` of its `--checkpoint` directory, so that another run can go on there.

One law: a checkpoint is written when all rows below it are acknowledged, and before its watermark is sent; the file is
whole at any moment, and one run at a time has it.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from simulator import tso
from simulator.errors import DeliveryError, UserError
from simulator.releases import Release
from simulator.releases.compare import full_name
from simulator.run.load.plan import LoadPlan
from simulator.sources.generate.timetable import Segment
from simulator.ticdc.changefeed import Changefeed
from simulator.ticdc.changefeed.model import Kafka

NAME = "checkpoint.json"

HASH = re.compile("[0-9a-f]{16}")

FORMAT = 1

LAST_MS = 1 << 45
"""No run comes so far: TSOs have 46 bits for milliseconds since 1970."""

LONG = 60
"""Characters of rates from which on these are known by their hash alone."""


@dataclass(frozen=True)
class Totals:
    """What a run has sent since it began, its parts before a restart among it."""

    rows: int = 0
    messages: int = 0
    bytes: int = 0
    """Of keys and values of the rows' messages."""

    windows: int = 0

    def __add__(self, other: Totals) -> Totals:
        return Totals(
            self.rows + other.rows, self.messages + other.messages, self.bytes + other.bytes,
            self.windows + other.windows)


@dataclass(frozen=True)
class Checkpoint:
    """Where a run stands."""

    run: Mapping[str, str]
    """What it must be to go on there (`identity`)."""

    start_ms: int
    """Of the stream, in milliseconds since 1970."""

    acknowledged_ms: int = 0
    """Simulated milliseconds since the stream's start: all rows below are acknowledged."""

    statements: int = 0
    """How many of the statements that lie there have been sent."""

    totals: Totals = field(default_factory=Totals)

    @property
    def watermark(self) -> int:
        """The TSO up to which all is acknowledged."""
        return tso.compose(self.start_ms + self.acknowledged_ms)


def identity(
    load: LoadPlan, segments: Sequence[Segment], release: Release, changefeed: Changefeed, start_ms: int,
    partitions: Mapping[str, int],
) -> dict[str, str]:
    """All that decides what a run sends, by the words in which a difference is told."""
    rates = ", ".join(map(_rate, segments))
    kafka = Kafka((), changefeed.kafka.partition_num)
    sent = repr(replace(changefeed, scheme="", kafka=kafka, warnings=()))
    return {
        "plan": _hashed(load.text or repr(load)),
        "--seed": str(load.model.seed),
        "--rate": rates if len(rates) <= LONG else _hashed(rates),
        "--start-ts": str(tso.compose(start_ms)),
        "--release": full_name(release),
        "topic": changefeed.topic,
        "protocol": changefeed.codec.protocol,
        "partitions": ", ".join(f"{topic}: {count}" for topic, count in sorted(partitions.items())),
        "changefeed": _hashed(sent),
    }


def _rate(segment: Segment) -> str:
    ramp = f"..{segment.last:g}" if segment.last != segment.first else ""
    again = f" again every {segment.again_ms}ms" if segment.again_ms else ""
    return (f"{segment.from_ms}ms:" if segment.from_ms else "") + f"{segment.first:g}{ramp} rows/s{again}"


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Store:
    """The file, locked."""

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

    def write(self, checkpoint: Checkpoint) -> None:
        """Puts it in the place of the last one; it is on the disk then. Raises DeliveryError."""
        document = {"format": FORMAT, **asdict(checkpoint), "watermark": tso.describe(checkpoint.watermark)}
        growing = self.path.with_name(f".{NAME}.new")
        try:
            with growing.open("w", encoding="utf-8") as file:
                file.write(json.dumps(document, indent=2) + "\n")
                file.flush()
                os.fsync(file.fileno())
            os.replace(growing, self.path)
            os.fsync(self._directory)
        except OSError as error:
            raise DeliveryError(f"cannot write {self.path}: {error.strerror}") from error

    def end(self) -> None:
        """The run came to its end: there is nothing to go on with."""
        with suppress(FileNotFoundError):
            self.path.unlink()
        with suppress(OSError):  # somebody may have put something there
            self.path.parent.rmdir()

    def close(self) -> None:
        """Leaves it to other runs."""
        if not self._closed:
            os.close(self._directory)
        self._closed = True


def begin(directory: Path, run: Mapping[str, str], start_ms: int) -> tuple[Store, Checkpoint]:
    """A new run; raises UserError where another one may go on."""
    store, checkpoint = Store(directory), Checkpoint(run, start_ms)
    try:
        if store.path.exists():
            raise UserError(
                f"{store.path} is of a run that did not come to its end (acknowledged up to "
                f"{tso.describe(_read(store.path).watermark)}): --resume goes on with it, without that file a new run "
                "begins")
        store.write(checkpoint)
    except BaseException:
        store.close()
        raise
    return store, checkpoint


def resume(directory: Path, run: Mapping[str, str]) -> tuple[Store, Checkpoint]:
    """Where the run ended; raises UserError where there is none, or it was another one."""
    if not (directory / NAME).exists():
        raise UserError(f"nothing to --resume: there is no {directory / NAME}; without --resume a new run begins")
    store = Store(directory)
    try:
        found = _read(store.path)
        differ = [name for name in (*run, *found.run) if run.get(name) != found.run.get(name)]
        if differ:
            told = ", ".join(_difference(name, found.run.get(name), run.get(name)) for name in dict.fromkeys(differ))
            raise UserError(f"{store.path} is of another run: {told}; --resume takes what that run was given")
    except BaseException:
        store.close()
        raise
    return store, found


def _difference(name: str, then: str | None, now: str | None) -> str:
    """In words; hashes say nothing to anybody."""
    if then is None or now is None or HASH.fullmatch(then) or HASH.fullmatch(now):
        return f"{name} is another one"
    return f"{name} was {then}, now it is {now}"


def _read(path: Path) -> Checkpoint:
    """Raises UserError for what is no checkpoint."""
    try:
        found = json.loads(path.read_text("utf-8"))
        if found["format"] != FORMAT:
            raise UserError(f"{path} has format {found['format']!r}: this version reads {FORMAT}")
        if not 0 <= int(found["acknowledged_ms"]) < LAST_MS or int(found["statements"]) < 0:
            raise ValueError("nobody wrote that")
        return Checkpoint(
            {str(name): str(value) for name, value in found["run"].items()}, int(found["start_ms"]),
            int(found["acknowledged_ms"]), int(found["statements"]), Totals(**found["totals"]))
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path} is no checkpoint of a load run; without that file a new run begins") from error
