"""The interface of a protocol's reader. Each protocol has a module here, and a line in `decode.DECODERS`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from simulator.columns.cells import Mask
from simulator.reader.decode.json_columns import JsonColumns
from simulator.reader.decode.stream_events import Event, TableSchemas

Numbers: TypeAlias = "tuple[tuple[str, int], ...]"
"""Names and numbers of ids and versions."""


@dataclass(frozen=True)
class ComparableText:
    """An event as text, without what is ignored."""

    commit_ts: int
    """0 if the message does not tell it."""

    table: str
    key: str
    value: str
    """Texts of JSON, or empty; what is ignored is 0 in them."""

    is_watermark: bool = False
    ids: Numbers = ()
    """The names and numbers of the ids and versions that are 0 in the texts."""


ToComparable: TypeAlias = "Callable[[bytes | None, bytes | None, frozenset[str], Mapping[int, str]], ComparableText]"
"""Takes key and value of an event, the names of what is ignored (`compare.events.IGNORABLE`), and the schemas of a
registry by id. Raises ValueError or KeyError if the event is invalid."""


@dataclass(frozen=True)
class SchemaMemory:
    """How a protocol is read whose rows name a table schema that an earlier message of their partition told."""

    may_tell: Callable[[pa.Array], Mask]
    """Returns which values may be those of statements or tell a schema."""

    told: Callable[[bytes | None, bytes | None], TableSchemas]
    """Returns the schemas that a message tells; raises ValueError or KeyError if it is invalid."""

    decode: Callable[[bytes | None, bytes | None, TableSchemas], tuple[Event, ...]]
    """Decodes as `Decoder.decode` does, with the schemas told so far, and adds those that the message tells."""


@dataclass(frozen=True)
class Decoder:
    decode: Callable[[bytes | None, bytes | None], tuple[Event, ...]]
    """Returns the events of one message; raises ValueError or KeyError if it is invalid."""

    texts: Callable[[bytes | None, bytes | None], tuple[tuple[bytes | None, bytes | None], ...]]
    """Returns key and value of each event, without framing; raises ValueError."""

    recognised: Callable[[bytes | None, bytes | None], bool]
    """Returns whether key and value look like a message of the protocol."""

    looks: str
    """Describes such a message."""

    comparable: ToComparable
    """Returns an event as text for a comparison."""

    columns: JsonColumns | None = None
    """None if messages are decoded one by one only."""

    memory: SchemaMemory | None = None
    """None if rows say the types and the key of their columns."""

    with_schemas: Callable[[bytes | None, bytes | None, Mapping[int, str]], tuple[Event, ...]] | None = None
    """Decodes with the schemas of a registry, texts by id, as `decode` does; None if messages name no schemas."""

    sequential: bool = False
    """Whether rows may have no commit-ts, so that only their place in the partition tells the order."""

    always_timed: bool = False
    """Whether rows have their commit-ts without enable-tidb-extension, too."""

    sent_name: Callable[[str], str] | None = None
    """Returns the name of a database, a table or a column in messages; None if they have TiDB's names."""


def surrogate_text(content: bytes | None) -> str:
    """Return bytes as text, no bytes as an empty one; those that are no UTF-8 become lone surrogates."""
    return (content or b"").decode("utf-8", "surrogateescape")


def zero(shown: str, member: str, number: object) -> str:
    """Return the text with 0 in place of a member's number, at its first place; anything else than a number of 0 or more
    stays."""
    is_time = type(number) is int and number >= 0
    return shown.replace(f'"{member}":{number}', f'"{member}":0', 1) if is_time else shown


def without_ids(shown: str, patterns: Sequence[re.Pattern[str]]) -> tuple[str, Numbers]:
    """Return the text with 0 in place of the numbers of each pattern in turn, and their names and numbers."""
    ids: list[tuple[str, int]] = []
    for pattern in patterns:
        ids += ((name, int(number)) for name, number in pattern.findall(shown))
        shown = pattern.sub(lambda match: f'"{match[1]}":0', shown)
    return shown, tuple(ids)
