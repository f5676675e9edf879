"""What a command says on standard output: lines for people, documents for programs."""

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
