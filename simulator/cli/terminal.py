"""Output to a terminal: no text is interpreted as markup or control codes, and a closed standard error is ignored."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from rich.console import Console
from rich.text import Text

from simulator.errors import abridged, mask_secrets, printable

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
