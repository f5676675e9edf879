"""What run, diff and load are asked alike: where records go.

One law: what is wrong with options is said before a broker is asked or a file is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator.errors import UserError


def check_sink(sink_uri: str | None, options: dict[str, Any]) -> None:
    """Raises UserError where records have no place to go, or two."""
    if options["console"] and options["fixtures"]:
        raise UserError("--console and --fixtures exclude each other: choose one")
    if sink_uri is None and elsewhere(options) is None:
        raise UserError(
            "no sink-uri: give --sink-uri 'kafka://host:port/topic?protocol=open-protocol', or --console or "
            "--fixtures DIR, with which nothing is contacted"
        )


def elsewhere(options: Mapping[str, Any]) -> str | None:
    """The option that has records go where there is no Kafka."""
    return "--console" if options["console"] else "--fixtures" if options["fixtures"] else None


def check_checkpoint(options: Mapping[str, Any]) -> None:
    """Raises UserError where a checkpoint is asked for of what no Kafka acknowledges."""
    to = elsewhere(options)
    for name in ("checkpoint", "resume"):
        if options[name] and to is not None:
            raise UserError(f"--{name} is about Kafka: {to} contacts none")
