"""Output to a terminal, and a line of progress on standard error.

No text is interpreted as markup or control codes, and a closed standard error is ignored. A terminal shows progress
in place, a file gets a new line now and then.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic
from typing import Any

from rich.console import Console
from rich.status import Status
from rich.text import Text

from simulator.errors import abridged, mask_secrets, printable

WIDE = 100_000
"""Columns of a pipe or a file."""

BLANKS = re.compile(r" +$", re.MULTILINE)


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
            self._print(*objects, **options)
            return
        with suppress(OSError):
            self._print(*objects, **options)

    def _print(self, *objects: Any, **options: Any) -> None:
        """Print; a pipe or a file gets no blanks at the ends of lines, with which rich fills tables."""
        if self.is_terminal:
            super().print(*objects, **options)
            return
        with self.capture() as captured:
            super().print(*objects, **options)
        self.file.write(BLANKS.sub("", captured.get()))
        self.file.flush()

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError

    def warn(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.print(f"warning: {mask_secrets(line)}", style="yellow", soft_wrap=True)


PLAIN = 10.0
"""Seconds between two lines without a terminal."""


class StatusLine:
    """The line of progress of one command."""

    def __init__(self) -> None:
        self.console = Terminal(stderr=True)
        self._status: Status | None = None
        self._printed = monotonic()

    @contextmanager
    def following(self, line: str = "") -> Iterator[None]:
        """Show the line on a terminal until the block ends."""
        self._status = self.console.status(line) if self.console.is_terminal else None
        try:
            if self._status is not None:
                self._status.start()
            yield
        finally:
            status, self._status = self._status, None
            if status is not None:
                with suppress(OSError):  # the terminal may be closed
                    status.stop()

    @property
    def is_shown(self) -> bool:
        """Whether a terminal shows it."""
        return self._status is not None

    def show(self, line: str, at_once: bool = False) -> None:
        """Show a line; without a terminal print it if `at_once`, or if the last one is old enough."""
        if self._status is not None:
            self._status.update(Text(printable(line)))
        elif at_once or monotonic() - self._printed >= PLAIN:
            self._printed = monotonic()
            self.console.print(line, style="dim", soft_wrap=True)
