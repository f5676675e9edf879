"""The prompt of `shell`: lines that are edited, a history, texts of several lines.

One law: Enter ends a text that is whole, and begins another line of one that is not.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent


def texts(prompt: str, continued: str, is_whole: Callable[[str], bool]) -> Iterator[str]:
    """What is typed, up to Ctrl-D; Ctrl-C clears it."""
    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        typed = event.current_buffer
        if is_whole(typed.text):
            typed.validate_and_handle()
        else:
            typed.insert_text("\n")

    session: PromptSession[str] = PromptSession(
        history=_history(), multiline=True, key_bindings=keys, prompt_continuation=continued
    )
    while True:
        try:
            text = session.prompt(prompt)
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        if text.strip():
            yield text


def _history() -> History:
    """In the user's state directory, readable for nobody else; in memory where that cannot be."""
    state = os.environ.get("XDG_STATE_HOME")
    file = (Path(state) if state else Path.home() / ".local" / "state") / "ticdc-simulator" / "history"
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(file, os.O_CREAT | os.O_APPEND, 0o600))
        return FileHistory(str(file))
    return InMemoryHistory()
