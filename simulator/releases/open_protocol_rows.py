"""Behaviours of row messages in Open Protocol."""

from __future__ import annotations

from dataclasses import dataclass, field

from simulator.releases.behaviour import ON_THE_WIRE, section

OPEN = section(ON_THE_WIRE, "rows in Open Protocol")


@dataclass(frozen=True, init=False, eq=False, repr=False)
class OpenProtocolRowBehaviours:
    """Messages of rows in Open Protocol."""

    quoted_unicode: int = field(
        metadata=OPEN(
            "Version of Unicode whose characters stay as they are in BINARY and VARBINARY of Open Protocol, later "
            r"ones being `\u` escapes: 12 (Go 1.14, up to 5.0), 13 (Go 1.16 to 1.20, 5.1 to 7.3), 15 (Go 1.21+) (Go: "
            "%s).",
            "strconv/isprint.go",
        )
    )

    record_overhead_counted: bool = field(
        metadata=OPEN(
            """Whether a message's size has 36 bytes for Kafka's record in it (4.0.16, 5.0.6, 5.1.4+, 5.2.2+, 5.3+: %s).""",
            "cdc/sink/codec/interface.go MaxRecordOverhead",
        )
    )

    size_error: str = field(
        metadata=OPEN(
            "Code of the error for an Open Protocol row above max-message-bytes (4.0.16, 5.0.6, 5.1.4+, 5.2.2+, 5.3+: "
            "%s); empty: such a row is sent.",
            "cdc/sink/codec/json.go AppendRowChangedEvent",
        )
    )

    open_batch_size: bool = field(
        metadata=OPEN(
            "Whether an Open Protocol message is full after max-batch-size rows or at max-message-bytes (4.0.9+: %s); "
            "elsewhere when it has 4 MiB (%s).",
            "cdc/sink/codec/json.go",
            "cdc/sink/mq.go batchSizeLimit",
        )
    )

    open_flags: bool = field(
        metadata=OPEN("Whether a column has its flags `f` (4.0.5+: %s).", "cdc/sink/codec/json.go column")
    )

    open_row_ids: bool = field(
        metadata=OPEN(
            "Whether a row's key has its integer handle `rid` (classic 4.0.5+: %s).",
            "cdc/sink/codec/json.go mqMessageKey",
        )
    )

    open_partition_ids: bool = field(
        metadata=OPEN(
            "Whether a row's key has the physical id of its partition `ptn` (4.0.2+, not 9.0.0-beta.1: %s).",
            "cdc/sink/codec/json.go mqMessageKey",
        )
    )

    open_partition_last: bool = field(
        metadata=OPEN(
            "Whether `ptn` is the last member of the key (new: %s), not between `rid` and `t`.",
            "pkg/sink/codec/open/codec.go",
        )
    )

    open_old_values: bool = field(
        metadata=OPEN(
            "Whether an UPDATE has old values `p` and a DELETE all its columns (4.0.5+: %s); before, an UPDATE is `u` "
            "alone and a DELETE its handle key alone.",
            "cdc/sink/codec/json.go mqMessageRow",
        )
    )

    open_generated: bool = field(
        metadata=OPEN(
            "Whether rows have stored generated columns (4.0.5+: %s).", "cdc/entry/schema_storage.go IsColWritable"
        )
    )

    open_virtual: bool = field(
        metadata=OPEN(
            "Whether rows have virtual generated columns, always NULL (new 9.0.0-beta.1: %s).",
            "pkg/sink/codec/open/codec.go",
        )
    )

    open_marks_unique: bool = field(
        metadata=OPEN(
            "Whether `h` marks the columns of every unique key that cannot be NULL (up to 4.0.4: %s), not of the "
            "handle key alone.",
            "cdc/entry/mounter.go IsColumnUnique",
        )
    )

    open_sorts_columns: bool = field(
        metadata=OPEN(
            "Whether columns are sorted by the bytes of their names (classic: %s of a map); else in table order.",
            "encoding/json",
        )
    )

    open_strings_base64: bool = field(
        metadata=OPEN(
            "Whether CHAR, VARCHAR, BINARY and VARBINARY are base64, as TEXT and BLOB are (up to 4.0.4, for rows in "
            "TiKV's first format, as TiCDC's documentation shows them: %s, %s; in the second format they are text "
            "there); later text, and strconv.Quote of bytes.",
            "cdc/entry/codec.go decodeRowV1",
            "cdc/entry/mounter.go formatColVal",
        )
    )

    open_pads_exponents: bool = field(
        metadata=OPEN(
            "Whether a float's negative exponent has two digits, `1e-07` (jsoniter, new), not `1e-7` (%s).",
            "encoding/json",
        )
    )

    open_time_fraction: bool = field(
        metadata=OPEN(
            "Whether a TIME has its fraction of a second (not in new 8.5.4, 8.5.5, 9.0.0-beta.1, -beta.2: %s).",
            "pkg/sink/codec/open/codec.go writeColumnFieldValue",
        )
    )

    open_zero_is_null: bool = field(
        metadata=OPEN(
            "Whether empty strings and bytes, ENUM and SET 0, and zero decimals, times and JSON numbers are NULL (new "
            "9.0.0-beta.1: %s).",
            "pkg/sink/codec/open/codec.go writeColumnFieldValue",
        )
    )

    open_old_zero_is_null: bool = field(
        metadata=OPEN(
            "Whether empty and zero values are null in `p` with only-output-updated-columns (new 8.5.4, 8.5.5, "
            "9.0.0-beta.1, -beta.2: %s).",
            "pkg/sink/codec/open/codec.go writeColumnFieldValueIfUpdated",
        )
    )

    open_old_flags_raw: bool = field(
        metadata=OPEN(
            "Whether `f` in `p` with only-output-updated-columns is TiDB's own flag word (new 8.5.4, 8.5.5, "
            "9.0.0-beta.2: there).",
            "pkg/sink/codec/open/codec.go",
        )
    )

    open_old_bits: bool = field(
        metadata=OPEN(
            "Whether `p` with only-output-updated-columns lists a BIT that another BIT replaced (classic, new 8.5.6+: "
            "there).",
            "pkg/sink/codec/open/codec.go",
        )
    )

    open_old_nameless: bool = field(
        metadata=OPEN(
            "Whether `p` with only-output-updated-columns holds a value that NULL replaced as bare members `t`, `f`, "
            "`v` without the column's name (new: there).",
            "pkg/sink/codec/open/codec.go",
        )
    )

    open_old_always: bool = field(
        metadata=OPEN(
            "Whether `p` with only-output-updated-columns is `{}` where no column changed (new: there); else it is "
            "left out.",
            "pkg/sink/codec/open/codec.go",
        )
    )

    open_old_optional: bool = field(
        metadata=OPEN(
            "Whether `[sink.open] output-old-value = false` takes `p` away (7.5.2+, 8.1+: %s); new 8.5.4, 8.5.5 and "
            "the betas know the setting and do not mind it.",
            "pkg/sink/codec/open",
        )
    )

    open_needs_columns: bool = field(
        metadata=OPEN(
            "Whether cutting a row down to a handle key that it does not have is CDC:ErrOpenProtocolCodecInvalidData "
            "(7.2+: %s); before, the value is `{}`.",
            "pkg/sink/codec/open/open_protocol_message.go rowChangeToMsg",
        )
    )

    open_names_operation: bool = field(
        metadata=OPEN(
            "Whether the error for a row of which no column is left says which operation it was (classic); new always "
            "says `for the delete event`, and says it, too, where column selectors leave nothing (%s).",
            "pkg/sink/codec/open/codec.go writeColumnFieldValues",
        )
    )

    open_location_repeats_ohk: bool = field(
        metadata=OPEN(
            'Whether Open Protocol\'s key has `"ohk":true,"ohk":false` before `ccl`, a member twice (new: %s); classic '
            "writes `ccl` alone (7.3+).",
            "pkg/sink/codec/open/codec.go encodeRowChangedEvent",
        )
    )
