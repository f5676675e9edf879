"""The output of commands: lines and JSON on standard output, warnings on standard error."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import click

from simulator.errors import DeliveryError, abridged, escaped_json, mask_secrets, printable, printable_json
from simulator.files import STANDARD_STREAM, is_stream


def show_lines(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(printable(line))


def show_json(document: object) -> None:
    click.echo(printable_json(document, indent=2))


def complain(lines: Iterable[str]) -> None:
    """Print lines on standard error; errors in doing so are ignored."""
    with suppress(OSError):
        for line in lines:
            click.echo(printable(abridged(mask_secrets(line))), err=True)


def write_summary(path: Path, text: str) -> None:
    """Print a summary in JSON on standard output, or write it to a file as `write_file` does."""
    if path == STANDARD_STREAM:
        click.echo(escaped_json(text), nl=False)
    else:
        write_file(path, text, "summary")


def write_file(path: Path, text: str, what: str) -> None:
    """Replace a file by a complete new one, or leave it as it was; raises DeliveryError."""
    place = Path(os.path.realpath(path))
    growing = place.with_name(f".{place.name}.part")
    try:
        if is_stream(path):
            path.write_text(text, "utf-8")
            return
        try:
            growing.write_text(text, "utf-8")
            growing.replace(place)
        except OSError:
            growing.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise DeliveryError(f"cannot write the {what} {path}: {error.strerror or error}") from error


def warn(lines: Iterable[str]) -> None:
    told = list(lines)
    if told:
        from simulator.cli.terminal import Terminal  # importing rich is slow, and most commands have no warnings

        Terminal(stderr=True).warn(told)


def without_pandas() -> None:
    """Keep pyarrow from importing pandas; called before a command's imports."""
    from simulator import columns

    columns.without_pandas()
