"""The table `[about]` of a scenario file: its story, references and releases. It does not change what is sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from simulator.errors import mask_secrets
from simulator.releases.compare import parse_release
from simulator.run.steps.kind import read_keys
from simulator.settings import TEXT, TEXTS, Key, to_bool, to_text, to_texts

ABOUT = "about"


@dataclass(frozen=True)
class About:
    title: str = ""
    story: str = ""
    consumer: str = ""
    """What a correct consumer does."""

    wrong: str = ""
    """The symptom of a wrong consumer."""

    threads: tuple[str, ...] = ()
    """Issues that ask for it, such as `tiflow#11297`."""

    releases: tuple[str, ...] = ()
    """Releases that it is meant for, such as `v8.5.3` and `new:v8.5.7`; empty for any."""

    legal: bool = True
    """False for a stream that TiCDC would not send, as a test of a checker."""


def _to_releases(value: object) -> tuple[str, ...]:
    """Return names of existing releases; raises UserError."""
    for name in to_texts(value):
        parse_release(name)
    return to_texts(value)


KEYS: Mapping[str, Key] = {
    "title": Key("title", to_text, TEXT, "The scenario in a few words."),
    "story": Key("story", to_text, TEXT, "What happens, and why it matters."),
    "consumer": Key("consumer", to_text, TEXT, "What a right consumer does."),
    "wrong": Key("wrong", to_text, TEXT, "What a wrong consumer would show."),
    "threads": Key("threads", to_texts, TEXTS, "Who asked for it, such as tiflow#11297."),
    "releases": Key("releases", _to_releases, TEXTS, "Releases it is meant for, such as v8.5.3 and new:v8.5.7."),
    "legal": Key("legal", to_bool, {"type": "boolean"}, "False for a stream that TiCDC would not send."),
}


def read_about(table: object, where: Callable[[str], str], mistakes: list[str]) -> About:
    """Parse the table, and add its mistakes to `mistakes`, each after the position that `where` gives for the key."""
    if not isinstance(table, dict):
        mistakes.append(f"{where(ABOUT)}about: expected a table of {', '.join(KEYS)}, got {mask_secrets(repr(table))}")
        return About()
    values: dict[str, Any] = read_keys(table, KEYS, where, mistakes)
    for name, value in values.items():
        if isinstance(value, str):
            values[name] = " ".join(value.split())  # several lines are one paragraph
    return About(**values)
