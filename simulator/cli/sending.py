"""What run, diff and load are asked alike: where records go, and which engine sends them.

One law: what is wrong with options is said before a broker is asked or a file is made.
"""

from __future__ import annotations

from typing import Any

from simulator.errors import UserError

IN_PROCESS = "none"
"""The --master that needs no Spark."""

ON_SPARK = "local[*]"
"""The --master where none is said and Spark is wanted."""


def check_sink(sink_uri: str | None, options: dict[str, Any]) -> None:
    """Raises UserError where records have no place to go, or two."""
    fixtures, console = options["fixtures"], options["console"]
    if console and fixtures:
        raise UserError("--console and --fixtures exclude each other: choose one")
    if sink_uri is None and not console and not fixtures:
        raise UserError(
            "no sink-uri: give --sink-uri 'kafka://host:port/topic?protocol=open-protocol', or --console or "
            "--fixtures DIR, with which nothing is contacted")
