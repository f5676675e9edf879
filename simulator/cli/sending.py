"""Checks of the output options that run, diff and load share, before a broker or a file is touched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator.errors import UserError


def check_sink(sink_uri: str | None, options: dict[str, Any]) -> None:
    """Check that there is exactly one output; raises UserError."""
    if options["console"] and options["fixtures"]:
        raise UserError("--console and --fixtures exclude each other: choose one")
    if sink_uri is None and elsewhere(options) is None:
        raise UserError(
            "no sink-uri: give --sink-uri 'kafka://host:port/topic?protocol=open-protocol', or --console or "
            "--fixtures DIR, with which nothing is contacted"
        )


def elsewhere(options: Mapping[str, Any]) -> str | None:
    """Return the option that replaces Kafka by another output."""
    return "--console" if options["console"] else "--fixtures" if options["fixtures"] else None


def check_checkpoint(options: Mapping[str, Any]) -> None:
    """Check that a checkpoint is used with Kafka only; raises UserError."""
    to = elsewhere(options)
    for name in ("checkpoint", "resume"):
        if options[name] and to is not None:
            raise UserError(f"--{name} is about Kafka: {to} contacts none")
