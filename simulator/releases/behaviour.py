"""A behaviour of TiCDC as a field of Release has it for metadata: what it means, and where TiCDC decides it.

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
    chapter: str
    section: str
    text: str
    """Its first sentence says what it means, parentheses in it since when; each `%s` stands for a source, `there` for
    those that the field above has."""

    cited: tuple[str, ...]
    """File or folder of TiCDC's, and functions in it: `cdc/model/sink.go FromJob`."""

    name: str = ""
    """The field's."""

    @property
    def documentation(self) -> str:
        """The text as one line, with its sources."""
        return " ".join(self.text.split()) % self.cited[: self.text.count("%s")]

    @property
    def meaning(self) -> str:
        """The first sentence, without the releases and sources that stand in parentheses."""
        return first_sentence(self.documentation)

    @property
    def sources(self) -> tuple[str, ...]:
        """TiCDC's files."""
        return tuple(dict.fromkeys(source.partition(" ")[0] for source in self.cited))

    @property
    def on_the_wire(self) -> bool:
        """Whether it is about what messages hold and where they are."""
        return self.chapter == ON_THE_WIRE

    def means(self, value: str) -> str:
        """What the text says of one of several values, which it has in back-quotes; or nothing."""
        found = re.search(rf"`{re.escape(value)}`:? (?!\(|in \d|from \d)(.+?)(?: ?\(|\.(?:\s|$)|$)", self.documentation)
        return found[1].rstrip(",:") if found else ""


def section(chapter: str, name: str) -> Callable[..., Mapping[str, Behaviour]]:
    """What makes the metadata of a section's fields, of a text and its sources."""

    def behaviour(text: str, *sources: str) -> Mapping[str, Behaviour]:
        return {"behaviour": Behaviour(chapter, name, text, sources)}

    return behaviour


def first_sentence(text: str) -> str:
    """A text's first sentence without asides about releases and sources, and without its full stop; where a colon ends
    it (a list of values follows), without what stands behind a semicolon."""
    plain = re.sub(ASIDE, "", text)
    ends = re.search(r"[.:](?=\s|$)", plain)
    sentence = plain[: ends.start()] if ends else plain
    return sentence.partition(";")[0] if ends and ends[0] == ":" else sentence
