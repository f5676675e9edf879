"""`verify`: from the options to the reports."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from simulator.cli.output import show_json
from simulator.cli.verify import text
from simulator.cli.verify.document import document
from simulator.cli.verify.live import Live
from simulator.errors import UserError
from simulator.read.verify import verify as verified
from simulator.read.verify.asked import Asked, check
from simulator.read.verify.verification import RIGHT

WRONG = 1
"""The exit code of a stream that is wrong, or not finished."""


def verify(options: dict[str, Any]) -> int:
    """Verifies, by the options of the command line, and shows what was found; raises SimulatorError, one line."""
    asked = Asked(**{field.name: options[field.name] for field in fields(Asked)})
    page: Path | None = options["report"]
    if page is not None and not page.absolute().parent.is_dir():
        raise UserError(f"--report {page}: there is no directory {page.parent}")
    check(asked)
    live = Live()
    with live.following():
        found = verified(asked, live)
    if page is not None:
        from simulator.cli.verify import report  # plotly takes longer than anything else here

        report.write(found, page)
    if options["as_json"]:
        show_json(document(found))
    else:
        text.show(found)
    return 0 if found.verdict == RIGHT else WRONG
