"""The metadata of a field of Release: what the behaviour means, which changefeeds it concerns, and where TiCDC
implements it.

Texts have their releases and sources in double parentheses: `((6.5.4+: %s))`. Sources without a repository are tiflow's
for the classic architecture and ticdc's for the new one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from simulator.releases.concern import Concern

ON_THE_WIRE = "on the wire"


@dataclass(frozen=True)
class Behaviour:
    """The description of one observable behaviour."""

    chapter: str
    section: str
    text: str
    """The meaning as a sentence without its full stop. Each `%s` stands for a source; `there` refers to the sources of
    the field above."""

    cited: tuple[str, ...]
    """Files or folders of TiCDC with functions in them: `cdc/model/sink.go FromJob`."""

    then: str
    """What follows the sentence, its punctuation first."""

    values: Mapping[str, str]
    """The meaning of values that are words."""

    concern: Concern = Concern()

    name: str = ""
    """The field's name."""

    @property
    def documentation(self) -> str:
        """The text on one line, with its values and sources."""
        values = (f" `{value}`{'' if text.startswith('((') else ':'} {text}." for value, text in self.values.items())
        text = "".join((self.text, self.then, *values)).replace("((", "(").replace("))", ")")
        return text % self.cited[: text.count("%s")]

    @property
    def meaning(self) -> str:
        """The sentence, without releases and sources."""
        return _without_releases(self.text)

    @property
    def sources(self) -> tuple[str, ...]:
        """TiCDC's files."""
        return tuple(dict.fromkeys(source.partition(" ")[0] for source in self.cited))

    @property
    def on_the_wire(self) -> bool:
        """Whether it concerns the content and the place of messages."""
        return self.chapter == ON_THE_WIRE

    def means(self, value: str) -> str:
        """Return the description of one of several values, without releases and sources; empty if it has none."""
        return _without_releases(self.values.get(value, ""))


def section(
    chapter: str, name: str, *protocols: str, sink: str = "", settings: tuple[str, ...] = ()
) -> Callable[..., Any]:
    """Return a function that makes the fields of a section as Behaviour and Concern describe them.

    What concerns the section concerns a field that does not say otherwise; `first` is 4.0.0's value.
    """
    shared = Concern(protocols, sink, settings)

    def behaviour(
        text: str,
        *sources: str,
        then: str = ".",
        values: Mapping[str, str] | None = None,
        first: object = False,
        **concern: Any,
    ) -> Any:
        described = Behaviour(chapter, name, text, sources, then, values or {}, replace(shared, **concern))
        return field(default=first, metadata={"behaviour": described})

    return behaviour


def _without_releases(text: str) -> str:
    return re.sub(r" ?\(\(.*?\)\)", "", text)
