"""The interface of a protocol's decoder. Each protocol has a package here, and a line in `decode.DECODERS`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import pyarrow as pa

from simulator.columns.cells import Mask, Places
from simulator.reader.decode.comparable import ToComparable
from simulator.reader.decode.stream_events import ColumnInfo, Event, TableSchemas
from simulator.reader.decode.tokens import TokenRule

Path = tuple["str | int", ...]
"""Location of a value in the JSON objects of an event: index of the object, then members and indexes in it."""


class Role(IntEnum):
    """What a token of a text is. Those after FIXED are cells, each a string of that kind or NULL."""

    NUMBER = 0
    """An integer of the event."""

    FIXED = 1
    """The same in all texts."""

    ANY = 2
    """A string or a number."""

    TEXT = 3
    LATIN = 4
    ASCII = 5
    BASE64_BYTES = 6
    BASE64_TEXT = 7
    QUOTED = 8
    """Quoted by Go."""


@dataclass(frozen=True)
class EventTexts:
    """The JSON texts of the events of those records that are framed correctly."""

    record: Places
    """Index of each event's record."""

    number: Places
    """Index of each event in its record."""

    texts: pa.Array


@dataclass(frozen=True)
class ColumnarDecoder:
    """How a protocol of JSON messages is read by columns."""

    events: Callable[[pa.Array, pa.Array], EventTexts]
    """Splits keys and values of records into events, as far as possible."""

    tokens: TokenRule
    message: Callable[[bytes], tuple[bytes | None, bytes]]
    """Converts the text of one event to the key and value of a message."""

    breaks: int
    """Number of control characters in a text, where its parts are joined."""

    rows: tuple[str, tuple[str, ...]]
    """A column of RECORD_SCHEMA, and texts in it that only records without statements contain."""

    numbers: Mapping[Path, str]
    """Path → field of TextShape, or an empty text for an integer that is only checked."""

    cell: Callable[[Path], tuple[str, str] | None]
    """Returns the side of the row (`old` or `new`; `key` for a value that only has to be valid) and the column at a path;
    None if it is no cell."""

    role: Callable[[ColumnInfo], Role | None]
    """Returns the role of a column's cells; None if they cannot be read by columns."""

    objects: Callable[[bytes], Sequence[dict[str, Any]]]
    """Splits a text into its JSON objects."""

    without_build_time: Callable[[pa.Array], pa.Array] = lambda texts: texts
    """Returns texts without the time at which their messages were built."""

    shortened: Callable[[pa.Array], pa.Array] = lambda texts: texts
    """Returns texts without what is not worth splitting; `message` and `objects` know both."""


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

    columns: ColumnarDecoder | None = None
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
