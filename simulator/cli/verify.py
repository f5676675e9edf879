"""The command `verify`: its progress on standard error, its verdict as text or as JSON (docs/verify.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, fields
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic
from typing import Any

from simulator.cli import verify_text
from simulator.cli.output import show_json
from simulator.cli.terminal import StatusLine
from simulator.cli.user_files import Input, check_places, storage_place
from simulator.reader.replay.outcome import TableCompared
from simulator.reader.verify import verify as verified
from simulator.reader.verify.options import VerifyListener, VerifyOptions, check_options
from simulator.reader.verify.verification import (
    RIGHT,
    UNFINISHED,
    UNPROVED,
    WRONG,
    Failure,
    PartitionRead,
    Verification,
)

EXIT_CODES = {RIGHT: 0, WRONG: 1, UNFINISHED: 1, UNPROVED: 4}
"""Exit codes by verdict."""


def verify(options: dict[str, Any]) -> int:
    """Run the command and return its exit code; raises SimulatorError."""
    verify_options = VerifyOptions(**{field.name: options[field.name] for field in fields(VerifyOptions)})
    page: Path | None = options["report"]
    check_options(verify_options)
    check_places(options, ("report",), _inputs(verify_options))
    progress_line = VerifyProgressLine()
    with progress_line.following():
        verification = verified(verify_options, progress_line)
    try:
        with suppress(BrokenPipeError):  # the reader of standard output needs no more lines
            _show(verification, options["as_json"])
    finally:
        if page is not None:
            from simulator.cli import verify_report  # plotly takes longer than anything else here

            verify_report.write(verification, page)
    return EXIT_CODES[verification.verdict]


def _inputs(options: VerifyOptions) -> list[Input]:
    named = {f"--{name}": getattr(options, name) for name in ("truth", "before", "after", "against", "config")}
    source = None if options.source is None else storage_place(options.source)
    return [("SOURCE", source), *named.items(), ("--jdbc-driver", options.jdbc_driver)]


def _show(verification: Verification, as_json: bool) -> None:
    if as_json:
        show_json(document(verification))
    else:
        verify_text.show(verification)


class VerifyProgressLine(VerifyListener):
    """Shows what a verification reports."""

    def __init__(self) -> None:
        self._line = StatusLine()
        self._stage, self._began = "", monotonic()

    @contextmanager
    def following(self) -> Iterator[None]:
        """Show the progress until the verification ends."""
        with self._line.following():
            yield

    def stage(self, name: str) -> None:
        self._stage, self._began = name, monotonic()
        self._line.show(f"{name} …", at_once=True)

    def records(self, done: int, total: int | None) -> None:
        """Show how many records are processed, of how many in total."""
        rate = done / max(monotonic() - self._began, 0.5)
        of = f" of {total:,}" if total else ""
        self._line.show(f"{self._stage}: {done:,}{of} records, {rate:,.0f} records/s")

    def waits(self, text: str) -> None:
        """Show what the verification waits for."""
        self._line.show(text)

    def last(self, text: str) -> None:
        """Show the progress of a verification that ends early."""
        self._line.console.print(text, style="red", soft_wrap=True)

    def warn(self, lines: Iterable[str]) -> None:
        self._line.console.warn(lines)


VERSION = 1
EXAMPLE = ("topic", "partition", "offset", "what")


def document(verification: Verification) -> dict[str, Any]:
    """Return a verification as JSON. Names and meanings do not change without a new `version`."""
    return {
        "version": VERSION,
        "verdict": verification.verdict,
        "source": verification.source or None,
        "against": verification.against or None,
        "expected": verification.expected or None,
        "started": f"{datetime.fromtimestamp(verification.began, UTC):%Y-%m-%dT%H:%M:%SZ}",
        "seconds": round(verification.seconds, 3),
        "engine": verification.engine,
        "watermark": verification.watermark or None,
        "wanted_watermark": verification.wanted or None,
        "records": verification.records,
        "rows": verification.rows,
        "wrong": verification.wrong,
        "settings": {
            setting.name: {"value": setting.value, "told_by": setting.told_by} for setting in verification.settings
        },
        "failures": [_failure(failure) for failure in verification.failures],
        "compared": [_compared(table) for table in verification.compared],
        "tables": {name: dict(kinds) for name, kinds in verification.tables.items()},
        "partitions": [_partition(place) for place in verification.partitions],
        "not_checked": [asdict(each) for each in verification.not_checked],
        "notes": list(verification.notes),
    }


def _failure(failure: Failure) -> dict[str, Any]:
    return {
        "check": failure.check,
        "point": failure.point,
        "says": failure.says,
        "of": failure.of or None,
        "count": failure.count,
        "tables": dict(failure.tables),
        "examples": [
            {**{name: getattr(example, name) for name in EXAMPLE}, **({"file": example.at} if example.at else {})}
            for example in failure.examples
        ],
    }


def _compared(table: TableCompared) -> dict[str, Any]:
    members = asdict(table) | {"of": table.of or None}
    del members["untouched"]
    return members


def _partition(place: PartitionRead) -> dict[str, Any]:
    members = asdict(place)
    del members["moments"]
    return members | {name: members[name] or None for name in ("watermark", "newest")}
