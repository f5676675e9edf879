"""The metadata of a field of Release: what the behaviour means, and where TiCDC implements it.

Sources without a repository are tiflow's for the classic architecture and ticdc's for the new one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

ON_THE_WIRE = "on the wire"
ASIDE = r" ?\((?:there|[^()]*(?:\.go|/|\d\.\d|\bnew\b|\bclassic\b|: there)[^()]*)\)"


@dataclass(frozen=True)
class Behaviour:
    """The description of one observable behaviour."""

    chapter: str
    section: str
    text: str
    """The first sentence is the meaning, with releases in parentheses. Each `%s` stands for a source; `there` refers
    to the sources of the field above."""

    cited: tuple[str, ...]
    """Files or folders of TiCDC with functions in them: `cdc/model/sink.go FromJob`."""

    name: str = ""
    """The field's name."""

    @property
    def documentation(self) -> str:
        """The text on one line, with its sources."""
        return " ".join(self.text.split()) % self.cited[: self.text.count("%s")]

    @property
    def meaning(self) -> str:
        """The first sentence, without releases and sources in parentheses."""
        return first_sentence(self.documentation)

    @property
    def sources(self) -> tuple[str, ...]:
        """TiCDC's files."""
        return tuple(dict.fromkeys(source.partition(" ")[0] for source in self.cited))

    @property
    def on_the_wire(self) -> bool:
        """Whether it concerns the content and the place of messages."""
        return self.chapter == ON_THE_WIRE

    def means(self, value: str) -> str:
        """Return the text's description of one of several values, which are in back-quotes; empty if it has none."""
        match = re.search(rf"`{re.escape(value)}`:? (?!\(|in \d|from \d)(.+?)(?: ?\(|\.(?:\s|$)|$)", self.documentation)
        return match[1].rstrip(",:") if match else ""


def section(chapter: str, name: str) -> Callable[..., Mapping[str, Behaviour]]:
    """Return a function that makes the metadata of a section's fields from a text and its sources."""

    def behaviour(text: str, *sources: str) -> Mapping[str, Behaviour]:
        return {"behaviour": Behaviour(chapter, name, text, sources)}

    return behaviour


def first_sentence(text: str) -> str:
    """Return the first sentence without its full stop and without asides about releases and sources.

    If it ends with a colon (a list of values follows), the part after a semicolon is left out.
    """
    plain = re.sub(ASIDE, "", text)
    ends = re.search(r"[.:](?=\s|$)", plain)
    sentence = plain[: ends.start()] if ends else plain
    return sentence.partition(";")[0] if ends and ends[0] == ":" else sentence
