"""The terminal.

One law: text is text, and a terminal acts on nothing of it; nothing ends because standard error takes no more.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from rich.console import Console
from rich.text import Text

from simulator.errors import mask_secrets, printable


class Terminal(Console):
    """A console to which `[red]` and `:smile:` are text, and what a terminal would act on is shown as escapes.

    What it means that standard output is closed or full is left to the command line.
    """

    def __init__(self, stderr: bool = False) -> None:
        super().__init__(stderr=stderr, markup=False, emoji=False, highlight=False)

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(printable(text), **options)

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
