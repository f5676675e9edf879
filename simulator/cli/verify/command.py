"""The command `verify`."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from simulator.cli.output import show_json
from simulator.cli.user_files import Input, check_places, storage_place
from simulator.cli.verify import text
from simulator.cli.verify.document import document
from simulator.cli.verify.progress_line import VerifyProgressLine
from simulator.consumer.verify import verify as verified
from simulator.consumer.verify.options import VerifyOptions, check_options
from simulator.consumer.verify.verification import RIGHT, UNFINISHED, UNPROVED, WRONG, Verification

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
