"""`Codec` and `Protocol`: everything in the simulator that depends on the protocol. No other code compares protocol
names.

A codec's functions are pure: equal inputs give equal bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from simulator.releases import Release
from simulator.ticdc.codecs.codec_options import CodecOptions
from simulator.ticdc.codecs.row_changes import (
    DdlEvent,
    EncodedRows,
    Frame,
    RowChanges,
    Schema,
    TableInfo,
    frame_one_row_each,
)
from simulator.ticdc.codecs.schema_registry import SchemaIds, with_schema_ids
from simulator.tidb.model.table import Table
from simulator.tidb.model.types import ColumnType

KeyValue = tuple[bytes | None, bytes]
"""Key and value of one event; the key is None in a protocol without keys."""


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """The properties of a protocol that TiCDC's checks of a changefeed need, whether or not it is simulated."""

    name: str
    """In TiCDC's spelling."""

    title: str = ""
    """The name in a sentence; empty for protocols that messages do not mention."""

    aliases: frozenset[str] = frozenset()
    """Other names in some releases."""

    settings: frozenset[str] = frozenset()
    """The protocol-specific settings that this protocol has, as `Release.options` spells them."""

    refusals: Mapping[str, str] = field(default_factory=dict)
    """Settings that TiCDC refuses with the protocol, and TiCDC's texts."""

    tidb_extension: Callable[[Release], bool] = lambda release: False
    """Whether the protocol has enable-tidb-extension."""

    old_values: Callable[[Release], str] = lambda release: "optional"
    """Its use of enable-old-value: `optional`, `required` (false is an error), `forced` (false is ignored) or `disabled`
    (true is ignored)."""

    large_messages_need_extension: bool = False
    """Whether large-message-handle-option needs enable-tidb-extension."""

    row_checksums: bool = False
    """Whether messages may have the checksums of rows."""

    topics_name_tables: bool = False
    """Whether a topic expression must have {schema} and {table}."""

    sinks: frozenset[str] = frozenset({"kafka"})
    """The sinks that take it: `kafka`, `storage`."""

    is_fallback: bool = False
    """Whether releases that accept unknown protocols use this one instead."""

    def exists(self, release: Release) -> bool:
        """Return whether the release has the protocol, under any name."""
        named = {self.name, *self.aliases} & release.protocols
        return bool(named) or self.is_fallback and not release.unknown_protocol


@dataclass(frozen=True)
class SizeRules:
    """Size limits of messages with rows."""

    max_message_bytes: int
    max_batch_size: int
    """Rows in a message."""

    record_overhead: int
    """Bytes that the release adds to key and value."""

    large_rows: bool
    """Whether a single row may exceed max_message_bytes because the release does not check it."""


@dataclass(frozen=True)
class Fidelity:
    """Which values a consumer loses in messages."""

    old_values: bool = True
    """Whether UPDATEs have old values, which distinguish them from INSERTs."""

    hides_unchanged_updates: bool = False
    """Whether an UPDATE that changes no column looks like an INSERT, because it has no old values."""

    databases: bool = True
    """Whether messages name the database of a table."""

    names_operations: bool = False
    """Whether UPDATEs without old values say that they are UPDATEs."""

    moves_rows: bool = False
    """Whether an UPDATE may change the handle key, where that is not where TiDB stores the row."""

    deletes_absent: str = "none"
    """In which tables a DELETE may be of a row that a transaction inserts and deletes (`releases` empty_deletes): nothing
    tells it from one of a row that is not there."""

    drops_deletes: bool = False
    """Whether DELETEs of tables with SOFTDELETE are not sent (`ticdc.split`), so that an INSERT may find its row."""

    ends_marked: bool = False
    """Whether an UPDATE that marks a row as deleted is sent as its DELETE (`ticdc.split`)."""

    nulls: frozenset[str] = frozenset()
    """Families of types whose empty or zero values are sent as NULL."""

    old_nulls: frozenset[str] = frozenset()
    """The same for old values that an UPDATE changed."""

    null_word: bool = False
    """Whether the text `null` is sent as NULL."""

    null_is_default: bool = False
    """Whether NULL is sent as the column's default."""

    whole_seconds: bool = False
    """Whether a TIME is sent without its fraction."""

    milliseconds: bool = False
    """Whether commit-ts are sent in milliseconds."""

    time_zone: str = ""
    """The zone of rows whose TIMESTAMPs are sent as instants; empty if they are sent as they are."""

    base64_bytes: bool = False
    """Whether bytes are sent as base64, which messages do not tell from text."""

    member_names: bool = False
    """Whether ENUM and SET are sent by name, not as numbers."""


ZERO_FAMILIES = frozenset(("string", "text", "json", "enum", "set", "decimal", "date", "datetime", "time", "vector"))
"""Families of types whose empty or zero values become NULL in early releases of the new architecture."""


def _no_ddl(event: DdlEvent, options: CodecOptions, release: Release) -> KeyValue:
    raise NotImplementedError(f"{options.protocol} of TiCDC {release.name} has no DDL statements")


@dataclass(frozen=True, kw_only=True)
class Codec:
    """A simulated protocol. Functions with a default are those of a protocol without the property."""

    protocol: Protocol
    file_extension: str = ""
    """The end of the names of its files in a storage; empty if it is for Kafka alone."""

    encode: Callable[[RowChanges, CodecOptions, Release], EncodedRows]
    """Encode row changes of one table into keys and values; raises EncodeError."""

    file_header: Callable[[Table, frozenset[str] | None, CodecOptions, Release], bytes] = lambda *_: b""
    """Return the first line of a file of rows of a table, of which column selectors leave some columns; None for all."""

    not_simulated: Callable[[Release], str] = lambda release: ""
    """What of the protocol is not simulated in a release, which is refused then; empty if all is."""

    frame: Frame = frame_one_row_each
    schema: Callable[[RowChanges, bool, CodecOptions, Release], Schema | None] | None = None
    """Return the schema of the keys of rows, or of their values, which a registry has and messages name; None if they
    name none."""

    deletes_have_values: bool = False
    """Whether the message of a DELETE names the schema of values, too."""

    is_binary: Callable[[CodecOptions], bool] = lambda options: False
    """Whether keys or values are no text, so that fixtures do not show them to people."""

    batches: bool = False
    """Whether a message holds several rows; if so, rows that may share one are passed together."""

    ddl: Callable[[DdlEvent, CodecOptions, Release], KeyValue] = _no_ddl
    """Encode a DDL statement into key and value, without framing."""

    sends_ddl: Callable[[CodecOptions, Release], bool] = lambda options, release: True
    """Whether DDL statements are sent; `ddl` is called only if they are."""

    skips_ddl: Callable[[int], bool] = lambda type_code: False
    """Whether statements of one of TiDB's action types are not sent."""

    ddl_needs_table: bool = False
    """Whether the message of a statement describes the table after it."""

    watermark: Callable[[int, CodecOptions, Release], KeyValue | None] = lambda ts, options, release: None
    """Encode a TSO into key and value of a watermark, without framing; None if the protocol has none."""

    control_schemas: Callable[[str | None, CodecOptions, Release], tuple[Schema, Schema]] | None = None
    """Return the schemas of key and value of a database's statements, or of watermarks, which a registry has; None if these
    messages name no schemas."""

    bootstrap: Callable[[TableInfo, int, CodecOptions, Release], KeyValue] | None = None
    """Encode the message with a table's schema that precedes its rows, sent at a TSO; None if there is none."""

    broadcasts_ddl: Callable[[Release], bool] = lambda release: False
    """Whether a DDL statement goes to every partition of its topic instead of the first."""

    has_bare_deletes: Callable[[Release], bool] = lambda release: False
    """Whether the DELETE of a row without a primary key has neither key nor value."""

    tells_partitions: Callable[[Release], bool] = lambda release: False
    """Whether the message of a row has the id of its table's partition."""

    mistakes_columns: Callable[[Table, Release], bool] = lambda table, release: False
    """Whether TiCDC may take columns of a table for others."""

    keeps_old_names: Callable[[Release], bool] = lambda release: False
    """Whether rows are under the name that their table had before RENAME TABLE, until its columns change."""

    shares_schemas: bool = False
    """Whether tables of one topic that have one schema version, as by one statement, are sent with the schema of the
    first."""

    sizes: Callable[[CodecOptions, Release], SizeRules]
    topic_limit: Callable[[Release], str] = lambda release: release.topic_limit
    """What happens if a topic accepts less than max-message-bytes, as in `Release.topic_limit`."""

    fidelity: Callable[[CodecOptions, Release], Fidelity] = lambda options, release: Fidelity()
    column_fields: Callable[[ColumnType, CodecOptions, Release], Mapping[str, str | int]] = (
        lambda type, options, release: {}
    )
    """Fields of a column of that type in messages, besides value, type code, flags and handle key, in order."""

    large_message_option: Callable[[CodecOptions, Release], str] = lambda options, release: "none"
    """How a row that is too large is sent, as in `CodecOptions.large_message_handle_option`; `none` also if the
    release does not check sizes."""

    with_unknown_type: Callable[[KeyValue, CodecOptions], KeyValue]
    """Return a message of rows whose first row has an unknown event type."""

    @property
    def needs_registry(self) -> bool:
        """Whether messages name schemas that a registry has."""
        return self.schema is not None

    def statement_entry(self, event: DdlEvent, ids: SchemaIds, options: CodecOptions, release: Release) -> KeyValue:
        """Return key and value of a DDL statement with the ids of their schemas, without framing."""
        return self._with_ids(self.ddl(event, options, release), event.schema, ids, options, release)

    def watermark_entry(self, ts: int, ids: SchemaIds, options: CodecOptions, release: Release) -> KeyValue | None:
        """Return key and value of a watermark with the ids of their schemas, without framing; None if there is none."""
        entry = self.watermark(ts, options, release)
        return None if entry is None else self._with_ids(entry, None, ids, options, release)

    def _with_ids(
        self, entry: KeyValue, database: str | None, ids: SchemaIds, options: CodecOptions, release: Release
    ) -> KeyValue:
        if self.control_schemas is None:
            return entry
        keys, values = (pa.array([part], pa.binary()) for part in entry)
        schemas = self.control_schemas(database, options, release)
        found = with_schema_ids(EncodedRows(keys, values, (), *schemas), ids)
        return None if found.keys is None else found.keys[0].as_py(), found.values[0].as_py()

    def message(self, entry: KeyValue, options: CodecOptions, release: Release) -> KeyValue:
        """Return one event as a message of its own."""
        key, value = entry
        encoded = EncodedRows(None if key is None else pa.array([key], pa.binary()), pa.array([value], pa.binary()))
        framed = self.frame(encoded, np.zeros(1, np.int64), options, release)
        return None if framed.keys is None else framed.keys[0].as_py(), framed.values[0].as_py()

    def ddl_partitions(self, event: DdlEvent, topic: range, options: CodecOptions, release: Release) -> range:
        """Return the partitions or destinations of a topic that receive a DDL statement; none if it is not sent."""
        if not self.sends_ddl(options, release) or self.skips_ddl(event.type_code):
            return topic[:0]
        return topic if self.broadcasts_ddl(release) else topic[:1]

    def has_watermarks(self, options: CodecOptions, release: Release) -> bool:
        """Return whether the protocol has watermarks with these options."""
        return self.watermark(0, options, release) is not None
