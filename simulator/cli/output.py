"""What a command says: lines for people and documents for programs on standard output, warnings on standard error."""

from __future__ import annotations

from collections.abc import Iterable

import click

from simulator.errors import printable, printable_json


def show_lines(lines: Iterable[str]) -> None:
    """Lines for people, one at a time."""
    for line in lines:
        click.echo(printable(line))


def show_json(document: object) -> None:
    """One document for programs."""
    click.echo(printable_json(document, indent=2))


def warn(lines: Iterable[str]) -> None:
    """Warnings, a line each."""
    from simulator.cli.terminal import Terminal  # rich takes longer than most commands that have nothing to warn of

    Terminal(stderr=True).warn(lines)
