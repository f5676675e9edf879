"""Output to a terminal: no text is interpreted as markup or control codes, and a closed standard error is ignored.

The output of commands: lines and JSON on standard output, warnings on standard error.

A line of progress on standard error: a terminal shows it in place, a file gets a new line now and then.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from typing import Any

import click
from rich.console import Console
from rich.status import Status
from rich.text import Text

from simulator.errors import DeliveryError, abridged, escaped_json, mask_secrets, printable, printable_json
from simulator.files import STANDARD_STREAM, is_stream

WIDE = 100_000
"""Columns of a pipe or a file."""


class Terminal(Console):
    """A console that prints `[red]` and `:smile:` literally, and control characters as escapes.

    Errors of standard output are left to the command line. What is no terminal has room for the widest table.
    """

    def __init__(self, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)
        if not self.is_terminal and "COLUMNS" not in os.environ:
            self.width = WIDE

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(printable(abridged(text) if self.stderr else text), **options)

    def print(self, *objects: Any, **options: Any) -> None:
        if not self.stderr:
            super().print(*objects, **options)
            return
        with suppress(OSError):
            super().print(*objects, **options)

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def warn(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.print(f"warning: {mask_secrets(line)}", style="yellow", soft_wrap=True)


def show_lines(lines: Iterable[str]) -> None:
    """Print lines."""
    for line in lines:
        click.echo(printable(line))


def show_json(document: object) -> None:
    """Print a JSON document."""
    click.echo(printable_json(document, indent=2))


def complain(lines: Iterable[str]) -> None:
    """Print lines on standard error; errors in doing so are ignored."""
    with suppress(OSError):
        for line in lines:
            click.echo(printable(abridged(mask_secrets(line))), err=True)


def write_json(path: Path, text: str, what: str) -> None:
    """Print a JSON document on standard output, or write it to a file as `write_file` does."""
    if path == STANDARD_STREAM:
        click.echo(escaped_json(text), nl=False)
    else:
        write_file(path, text, what)


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
    """Print warnings."""
    told = list(lines)
    if told:
        # importing rich is slow, and most commands have no warnings

        Terminal(stderr=True).warn(told)


PLAIN = 10.0
"""Seconds between two lines without a terminal."""


class StatusLine:
    """The line of progress of one command."""

    def __init__(self) -> None:
        self.console = Terminal(stderr=True)
        self._status: Status | None = None
        self._printed = monotonic()

    @contextmanager
    def following(self) -> Iterator[None]:
        """Show the line on a terminal until the block ends."""
        self._status = self.console.status("") if self.console.is_terminal else None
        try:
            if self._status is not None:
                self._status.start()
            yield
        finally:
            status, self._status = self._status, None
            if status is not None:
                with suppress(OSError):  # the terminal may be closed
                    status.stop()

    def show(self, line: str, at_once: bool = False) -> None:
        """Show a line; without a terminal print it if `at_once`, or if the last one is old enough."""
        if self._status is not None:
            self._status.update(Text(printable(line)))
        elif at_once or monotonic() - self._printed >= PLAIN:
            self._printed = monotonic()
            self.console.print(line, style="dim", soft_wrap=True)
