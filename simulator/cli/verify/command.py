"""`verify`: from the options to the reports."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

from simulator.cli.output import check_file, show_json
from simulator.cli.verify import text
from simulator.cli.verify.document import document
from simulator.cli.verify.live import Live
from simulator.consumer.verify import verify as verified
from simulator.consumer.verify.options import VerifyOptions, check_options
from simulator.consumer.verify.verification import RIGHT, Verification

WRONG = 1
"""The exit code of a stream that is wrong, or not finished."""


def verify(options: dict[str, Any]) -> int:
    """Verifies, by the options of the command line, and shows what was found; raises SimulatorError, one line."""
    asked = VerifyOptions(**{field.name: options[field.name] for field in fields(VerifyOptions)})
    page: Path | None = options["report"]
    check_file("--report", page)
    check_options(asked)
    live = Live()
    with live.following():
        found = verified(asked, live)
    try:
        with suppress(BrokenPipeError):  # who has read the first lines has seen enough
            _show(found, options["as_json"])
    finally:
        if page is not None:
            from simulator.cli.verify import report  # plotly takes longer than anything else here

            report.write(found, page)
    return 0 if found.verdict == RIGHT else WRONG


def _show(found: Verification, as_json: bool) -> None:
    if as_json:
        show_json(document(found))
    else:
        text.show(found)
