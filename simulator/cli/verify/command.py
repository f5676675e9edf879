"""The command `verify`, with its progress on standard error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from time import monotonic
from typing import Any

from simulator.cli.output import show_json
from simulator.cli.terminal import StatusLine
from simulator.cli.user_files import Input, check_places, storage_place
from simulator.cli.verify import text
from simulator.cli.verify.document import document
from simulator.reader.verify.options import VerifyListener, VerifyOptions, check_options
from simulator.reader.verify.verification import RIGHT, UNFINISHED, UNPROVED, WRONG, Verification
from simulator.reader.verify.workflow import verify as verified

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
            from simulator.cli.verify import report  # plotly takes longer than anything else here

            report.write(verification, page)
    return EXIT_CODES[verification.verdict]


def _inputs(options: VerifyOptions) -> list[Input]:
    named = {f"--{name}": getattr(options, name) for name in ("truth", "before", "after", "against", "config")}
    source = None if options.source is None else storage_place(options.source)
    return [("SOURCE", source), *named.items(), ("--jdbc-driver", options.jdbc_driver)]


def _show(verification: Verification, as_json: bool) -> None:
    if as_json:
        show_json(document(verification))
    else:
        text.show(verification)


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
        """Begin a stage."""
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
