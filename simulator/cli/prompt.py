"""The prompt of `shell`, with line editing, a history and multi-line input. Enter submits a complete text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from prompt_toolkit import PromptSession
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent


def texts(prompt: str, continued: str, is_whole: Callable[[str], bool]) -> Iterator[str]:
    """Yield the texts typed until Ctrl-D; Ctrl-C clears the input."""
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
    """Return a history in the user's state directory, private to the user, or else in memory."""
    state = os.environ.get("XDG_STATE_HOME")
    file = (Path(state) if state else Path.home() / ".local" / "state") / "ticdc-simulator" / "history"
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(file, os.O_CREAT | os.O_APPEND, 0o600))
        return FileHistory(str(file))
    return InMemoryHistory()
