"""What a protocol is to the rest: all that depends on it is asked of its Codec, and nobody compares its name.

One law: a codec's functions are pure, equal inputs give equal bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from simulator.releases import Release
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.row_changes import DdlEvent, Encoded, Frame, Rows
from simulator.tidb.model.types import ColumnType

Entry = tuple[bytes | None, bytes]
"""Key and value of one event; the key is None in a protocol without."""


def never(release: Release) -> bool:
    """False in every release."""
    return False


def optional(release: Release) -> str:
    """The protocol leaves enable-old-value to the changefeed."""
    return "optional"


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """What TiCDC's checks of a changefeed ask of a protocol, whether this simulator makes it or not."""

    name: str
    """In TiCDC's spelling."""

    title: str = ""
    """In a sentence; empty where it is only spoken of by name."""

    aliases: frozenset[str] = frozenset()
    """What some release calls it, too."""

    settings: frozenset[str] = frozenset()
    """Of the settings that some protocols alone have a use for, those that this one has, as `Release.options` spells
    them."""

    refusals: Mapping[str, str] = field(default_factory=dict)
    """Settings that TiCDC refuses together with it, and in which words."""

    tidb_extension: Callable[[Release], bool] = never
    """Whether it has enable-tidb-extension."""

    old_values: Callable[[Release], str] = optional
    """What it makes of enable-old-value: `optional`, `required` (false is an error) or `forced` (false is not
    minded)."""

    large_messages_need_extension: bool = False
    """Whether messages that are too large are handled with enable-tidb-extension alone."""

    topics_name_tables: bool = False
    """Whether a topic expression must have {schema} and {table}."""

    is_fallback: bool = False
    """Whether releases that do not refuse an unknown protocol take this one instead."""

    def exists(self, release: Release) -> bool:
        """Whether the release makes it, under whatever name."""
        named = {self.name, *self.aliases} & release.protocols
        return bool(named) or self.is_fallback and not release.unknown_protocol


@dataclass(frozen=True)
class SizeRules:
    """How large messages of rows may be."""

    max_message_bytes: int
    max_batch_size: int
    """Rows in a message."""

    record_overhead: int
    """Bytes that the release counts on top of key and value."""

    large_rows: bool
    """Whether a row by itself may be above max_message_bytes, since the release does not look."""


@dataclass(frozen=True)
class Fidelity:
    """How far a consumer can rely on the values in messages."""

    old_values: bool = True
    """Whether UPDATEs have old values, and are told from INSERTs by them."""

    hides_same: bool = False
    """Whether an UPDATE of which no column changed looks like an INSERT, since it has no old values then."""

    nulls: frozenset[str] = frozenset()
    """Families of types whose empty or zero values are sent as NULL."""

    old_nulls: frozenset[str] = frozenset()
    """The same of old values that an UPDATE changed."""

    whole_seconds: bool = False
    """Whether a TIME is sent without its fraction."""


ZEROS = frozenset(("string", "text", "json", "enum", "set", "decimal", "date", "datetime", "time", "vector"))
"""Families of types whose empty or zero values early releases of the new architecture take for NULL."""


@dataclass(frozen=True)
class Codec:
    protocol: Protocol
    batches: bool
    """Whether a message holds several rows, so that rows that may share one are to be handed over together."""

    encode: Callable[[Rows, CodecOptions, Release], Encoded]
    """Row changes of one table → key and value of each; raises EncodeError."""

    frame: Frame
    ddl: Callable[[DdlEvent, CodecOptions, Release], Entry]
    """A statement → its key and value, not framed yet."""

    watermark: Callable[[int, CodecOptions, Release], Entry | None]
    """A TSO → key and value, not framed yet, that say all before it was sent; None where the protocol has none."""

    ddl_everywhere: Callable[[Release], bool]
    """Whether a statement goes to every partition of its topic, not to the first alone."""

    sizes: Callable[[CodecOptions, Release], SizeRules]
    topic_limit: Callable[[Release], str]
    """What a topic that takes less than max-message-bytes does, as `Release.topic_limit` says it."""

    fidelity: Callable[[CodecOptions, Release], Fidelity]
    column_fields: Callable[[ColumnType, CodecOptions, Release], Mapping[str, str | int]]
    """What messages say of a column of that type beside its value, type code, flags and handle key: in their order, by
    the names that they have there."""

    large_form: Callable[[CodecOptions, Release], str]
    """What becomes of a row that is too large, as `CodecOptions.large_message_handle_option` says it; `none` also where
    the release does not look at sizes."""

    unknown_type: Callable[[Entry, CodecOptions], Entry]
    """A message of rows with a type that there is not, in its first row."""

    def message(self, entry: Entry, options: CodecOptions, release: Release) -> Entry:
        """One event as a message of its own."""
        key, value = entry
        encoded = Encoded(None if key is None else pa.array([key], pa.binary()), pa.array([value], pa.binary()))
        framed = self.frame(encoded, np.zeros(1, np.int64), options, release)
        return None if framed.keys is None else framed.keys[0].as_py(), framed.values[0].as_py()

    def ddl_partitions(self, topic: range, release: Release) -> range:
        """The partitions or destinations of a topic that a statement goes to."""
        return topic if self.ddl_everywhere(release) else topic[:1]

    def has_watermarks(self, options: CodecOptions, release: Release) -> bool:
        """Whether there are any with these options."""
        return self.watermark(0, options, release) is not None
