"""Behaviours of row messages: in all protocols, in Open Protocol, in Canal-JSON."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.releases.behaviour import ON_THE_WIRE, section

ROWS = section(ON_THE_WIRE, "rows")
OPEN = section(ON_THE_WIRE, "rows in Open Protocol", "open-protocol")
CANAL = section(ON_THE_WIRE, "rows in Canal-JSON", "canal-json")


@dataclass(frozen=True, init=False, eq=False, repr=False)
class RowBehaviours:
    """Messages of rows."""

    short_control_escapes: bool = ROWS(
        "Whether Open Protocol and Maxwell write U+0008 and U+000C as `\\b` and `\\f`",
        "Go's encoding/json from 1.22",
        protocols=("open-protocol", "maxwell"),
        when="8.4+",
    )
    rows_in_server_zone: bool = ROWS(
        "Whether TIMESTAMPs of rows are in the time zone of TiCDC's servers, `--tz`; elsewhere they are in UTC",
        "cdc/entry/codec.go unflatten",
        "pkg/eventservice/event_service.go",
        when="classic; new 8.5+, 9.0.0-beta.2.pre",
    )
    primary_is_unique: bool = ROWS(
        "Whether columns of the primary index also get the UniqueKey bit",
        "cdc/model/schema_storage.go",
        protocols=("open-protocol",),
        when="4.0–7.5.1, 7.6",
    )
    float_widened: bool = ROWS(
        "Whether a FLOAT becomes a 64-bit number, with the digits that it has as one, in rows and dispatch "
        "hashes; elsewhere it stays the 32-bit number",
        "cdc/entry/mounter.go formatColVal",
        when="4.0.6–6.1.5, 6.2–6.5.1, 6.6",
    )
    zerofill_bit: bool = ROWS(
        "Whether columns with ZEROFILL, and every YEAR, have the bit 0x100 in Open Protocol's `f`",
        "cdc/model/schema_storage.go initColumnsFlag",
        protocols=("open-protocol",),
        when="6.5.6–6.5, 7.5.3–7.5",
    )
    generated_get_key_bits: bool = ROWS(
        "Whether a generated column gets the bits of every index it is in; elsewhere it keeps what TiDB's own "
        "column flags say",
        "pkg/sink/codec/open/message.go initColumnFlags",
        when="classic; new 9.0.0-beta.1",
    )
    handle_may_be_virtual: bool = ROWS(
        "Whether a unique key with a virtual generated column may be the handle key",
        "pkg/common/table_info_helper.go initIndexColumns",
        when="new 8.5.6–8.5",
    )
    handle_joins_unique: bool = ROWS(
        "Whether the handle key is a nonclustered primary key and the best unique key together, where the table "
        "has the unique key first",
        "pkg/common/table_info_helper.go initIndexColumns",
        when="new 8.5.4, 9.0.0-beta.2.pre",
    )
    update_without_old_value: bool = ROWS(
        "Whether enable-old-value = false leaves an UPDATE its new values alone; elsewhere the old ones stay",
        "cdc/entry/mounter.go",
        "cdc/processor/sinkmanager",
        settings=("enable-old-value",),
        when="4.0.5–6.5.4, 6.6–7.1.1, 7.2–7.3",
    )
    delete_without_old_value: bool = ROWS(
        "Whether enable-old-value = false leaves a DELETE its handle key alone",
        "cdc/entry/mounter.go",
        "pkg/sink/codec/common/config.go",
        protocols=("open-protocol",),
        settings=("enable-old-value",),
        when="4.0.5–7.1",
    )
    empty_changes: frozenset[str] = ROWS(
        "Protocols with a message of a row that a transaction of BEGIN inserts and deletes, which TiDB deletes "
        "from TiKV though it is not there: an INSERT without columns; Avro cannot encode it",
        "cdc/sink/codec/json.go AppendRowChangedEvent",
        "cdc/processor/pipeline/sink.go emitEvent",
        elements={
            "4.0–4.0.15, 5.0–5.0.5, 5.1–5.1.3, 5.2–5.2.3": {"avro", "canal-json", "maxwell"},
            "4.0–4.0.14, 5.0–5.0.3, 5.1–5.1.1": {"open-protocol"},
        },
    )
    empty_deletes: str = ROWS(
        "Tables in which such a row is a DELETE with its handle key without enable-old-value",
        "cdc/entry/mounter.go unmarshalRowKVEntry",
        settings=("enable-old-value",),
        values={
            "keyed": (
                "4.0–4.0.14, 5.0–5.0.3, 5.1.0",
                "all: those without a clustered key by the deletion of its index",
            ),
            "clustered": ("4.0.15–4.0, 5.0.4–5.0, 5.1.1–5.4", "those with a clustered primary key"),
            "none": "6.0+; new",
        },
    )
    claim_check_by_row: bool = ROWS(
        "Whether claim-check's files are called by day and row, "
        "`{date}/{schema}-{table}-{commitTs}-{startTs}-{handle key}.json`, and messages say that name alone; "
        "elsewhere they are called by UUIDs, and messages say the storage, too",
        "pkg/sink/codec/common/message.go",
        sink="kafka",
        settings=("large-message-handle-option",),
        when="7.3",
    )
    older_rows: str = ROWS(
        "What rows that were last written before ADD COLUMN have in that column, as old values",
        "cdc/entry/mounter.go getDefaultOrZeroValue",
        "pkg/common/event/chunk.go",
        "tiflow issues 3929 and 4048",
        "tiflow issue 10803",
        values={
            "default": ("4.0–5.1.3, 5.2–5.2.3, 5.3.0", "the column's present default as text, NULL if it may be NULL"),
            "text": (
                "5.1.4–5.1, 5.2.4–5.2, 5.3.1–6.5.8, 6.6–7.1.4, 7.2–7.5.1, 7.6",
                "the value that TiDB reads, as the text that TableInfo has of it, whatever the type",
            ),
            "typed": ("6.5.9–6.5, 7.1.5–7.1, 7.5.2–7.5, 8.0+; new", "the value that TiDB reads"),
        },
    )
    literal_defaults: frozenset[str] = ROWS(
        "Types of which TableInfo has a default as it was written, `2020-1-1` or `1.50` of an INT: it is the "
        "text that such rows get, and the default of Avro's schemas; elsewhere what the column makes of it",
        "tidb ddl/ddl_api.go getDefaultValue",
        "tidb pull requests 20849, 33571, 34947, 35197",
        elements={"4.0–6.1.3": {"float", "integer"}, "4.0–6.0": {"date"}, "4.0": {"enum"}},
    )
    older_timestamps_in_utc: bool = ROWS(
        "Whether a TIMESTAMP that such rows lack is in UTC, and not in `--tz`",
        "cdc/entry/mounter.go getDefaultOrZeroValue",
        when="4.0–6.5.9, 6.6–7.1.5, 7.2–7.5.1, 7.6–8.0",
    )
    quoted_unicode: int = OPEN(
        "Version of Unicode whose characters stay as they are in BINARY and VARBINARY of Open Protocol, later "
        "ones being `\\u` escapes",
        "Go's strconv/isprint.go: 12 from 1.14, 13 from 1.16, 15 from 1.21",
        values={12: "4.0–5.0", 13: "5.1–7.3", 15: "7.4+; new"},
    )
    record_overhead_counted: bool = OPEN(
        "Whether a message's size has 36 bytes for Kafka's record in it",
        "cdc/sink/codec/interface.go MaxRecordOverhead",
        when="4.0.16–4.0, 5.0.6–5.0, 5.1.4–5.1, 5.2.2+; new",
    )
    size_error: str = OPEN(
        "Code of the error for an Open Protocol row above max-message-bytes",
        "cdc/sink/codec/json.go AppendRowChangedEvent",
        then="; empty: such a row is sent.",
        values={
            "": "4.0–4.0.15, 5.0–5.0.5, 5.1–5.1.3, 5.2–5.2.1",
            "CDC:ErrJSONCodecRowTooLarge": "4.0.16–4.0, 5.0.6–5.0, 5.1.4–5.1, 5.2.2–6.1",
            "CDC:ErrOpenProtocolCodecRowTooLarge": "6.2–6.5.0, 6.6",
            "CDC:ErrMessageTooLarge": "6.5.1–6.5, 7.0+; new",
        },
    )
    open_batch_size: bool = OPEN(
        "Whether an Open Protocol message is full after max-batch-size rows or at max-message-bytes; elsewhere "
        "when it has 4 MiB",
        "cdc/sink/codec/json.go",
        "cdc/sink/mq.go batchSizeLimit",
        when="4.0.9+; new",
    )
    open_flags: bool = OPEN("Whether a column has its flags `f`", "cdc/sink/codec/json.go column", when="4.0.5+; new")
    open_row_ids: bool = OPEN(
        "Whether a row's key has its integer handle `rid`", "cdc/sink/codec/json.go mqMessageKey", when="4.0.5+"
    )
    open_partition_ids: bool = OPEN(
        "Whether a row's key has the physical id of its partition `ptn`",
        "cdc/sink/codec/json.go mqMessageKey",
        when="4.0.2+; new 8.5+, 9.0.0-beta.2.pre",
    )
    open_partition_last: bool = OPEN(
        "Whether `ptn` is the last member of the key, not between `rid` and `t`",
        "pkg/sink/codec/open/codec.go",
        when="new",
    )
    open_old_values: bool = OPEN(
        "Whether an UPDATE has old values `p` and a DELETE all its columns; before, an UPDATE is `u` alone and a "
        "DELETE its handle key alone",
        "cdc/sink/codec/json.go mqMessageRow",
        when="4.0.5+; new",
    )
    open_generated: bool = OPEN(
        "Whether rows have stored generated columns", "cdc/entry/schema_storage.go IsColWritable", when="4.0.5+; new"
    )
    open_virtual: bool = OPEN(
        "Whether rows have virtual generated columns, always NULL",
        "pkg/sink/codec/open/codec.go",
        when="new 9.0.0-beta.1",
    )
    open_marks_unique: bool = OPEN(
        "Whether `h` marks the columns of every unique key that cannot be NULL, not of the handle key alone",
        "cdc/entry/mounter.go IsColumnUnique",
        when="4.0–4.0.4",
    )
    open_sorts_columns: bool = OPEN(
        "Whether columns are sorted by the bytes of their names; else in table order", "encoding/json", when="classic"
    )
    open_strings_base64: bool = OPEN(
        "Whether CHAR, VARCHAR, BINARY and VARBINARY of TiKV's first format of rows are base64, as TEXT and BLOB are; "
        "elsewhere they are text, and strconv.Quote of bytes",
        "cdc/entry/codec.go decodeRowV1",
        "cdc/entry/mounter.go formatColVal",
        when="4.0–4.0.4",
    )
    open_pads_exponents: bool = OPEN(
        "Whether a float's negative exponent has two digits, `1e-07`, not `1e-7`",
        "Go's encoding/json, and jsoniter",
        when="new",
    )
    open_time_fraction: bool = OPEN(
        "Whether a TIME has its fraction of a second",
        "pkg/sink/codec/open/codec.go writeColumnFieldValue",
        when="classic; new 8.5.6+",
    )
    open_zero_is_null: bool = OPEN(
        "Whether empty strings and bytes, ENUM and SET 0, and zero decimals, times and JSON numbers are NULL",
        "pkg/sink/codec/open/codec.go writeColumnFieldValue",
        when="new 9.0.0-beta.1",
    )
    open_old_zero_is_null: bool = OPEN(
        "Whether empty and zero values are null in `p` with only-output-updated-columns",
        "pkg/sink/codec/open/codec.go writeColumnFieldValueIfUpdated",
        settings=("only-output-updated-columns",),
        when="new 8.5–8.5.5, 9.0.0-beta.1, 9.0.0-beta.2.pre",
    )
    open_old_flags_raw: bool = OPEN(
        "Whether `f` in `p` with only-output-updated-columns is TiDB's own flag word",
        "pkg/sink/codec/open/codec.go",
        settings=("only-output-updated-columns",),
        when="new 8.5–8.5.5, 9.0.0-beta.2.pre",
    )
    open_old_bits: bool = OPEN(
        "Whether `p` with only-output-updated-columns lists a BIT that another BIT replaced",
        "pkg/sink/codec/open/codec.go",
        settings=("only-output-updated-columns",),
        when="classic; new 8.5.6+",
    )
    open_old_nameless: bool = OPEN(
        "Whether `p` with only-output-updated-columns holds a value that NULL replaced as bare members `t`, `f`, "
        "`v` without the column's name",
        "pkg/sink/codec/open/codec.go",
        settings=("only-output-updated-columns",),
        when="new",
    )
    open_old_always: bool = OPEN(
        "Whether `p` with only-output-updated-columns is `{}` where no column changed; else it is left out",
        "pkg/sink/codec/open/codec.go",
        settings=("only-output-updated-columns",),
        when="new",
    )
    open_old_optional: bool = OPEN(
        "Whether `[sink.open] output-old-value = false` takes `p` away; new 8.5.4, 8.5.5 and the betas know the "
        "setting and do not mind it",
        "pkg/sink/codec/open",
        settings=("open.output-old-value",),
        when="classic; new 8.5.6+",
    )
    open_needs_columns: bool = OPEN(
        "Whether cutting a row down to a handle key that it does not have is "
        "CDC:ErrOpenProtocolCodecInvalidData; before, the value is `{}`",
        "pkg/sink/codec/open/open_protocol_message.go rowChangeToMsg",
        when="7.2+; new",
    )
    open_names_operation: bool = OPEN(
        "Whether the error for a row of which no column is left says which operation it was; new always says "
        "`for the delete event`, and says it, too, where column selectors leave nothing",
        "pkg/sink/codec/open/codec.go writeColumnFieldValues",
        when="classic",
    )
    open_location_repeats_ohk: bool = OPEN(
        'Whether Open Protocol\'s key has `"ohk":true,"ohk":false` before `ccl`, a member twice; classic '
        "writes `ccl` alone",
        "pkg/sink/codec/open/codec.go encodeRowChangedEvent",
        settings=("large-message-handle-option",),
        when="new",
    )
    canal_column_order: str = CANAL(
        "How Canal-JSON orders the columns of a row",
        "encoding/json",
        "cdc/sink/codec/canal_flat.go",
        "cdc/sink/**/canal_json_encoder.go",
        "goccy/go-json",
        "pkg/sink/codec/canal",
        values={
            "name": ("4.0–6.1.2, 6.2–6.3", "by the bytes of their names"),
            "table": ("6.1.3–6.1, 6.5+; new", "as the table has them"),
            "escaped-name": ("6.4", "by the bytes of their names as they stand in JSON, quotes included"),
        },
    )
    canal_old_first: bool = CANAL(
        "Whether Canal-JSON's rows have `old` before `data`; after it elsewhere, and in statements and "
        "watermarks always",
        "cdc/sink/codec/canal newJSONMessageForDML",
        when="6.1.3–6.1, 6.5+; new",
    )
    canal_old_everywhere: bool = CANAL(
        "Whether `old` of Canal-JSON is `[null]` in an INSERT and the deleted row in a DELETE, too; null in both "
        "from 5.4",
        "cdc/sink/codec/canal_flat.go newFlatMessageForDML",
        when="4.0–5.3",
    )
    canal_wide_sql_types: bool = CANAL(
        "Whether Canal-JSON's sqlType is the one that takes the largest unsigned value, whatever the column and "
        "the value are, and TEXT 12, ENUM and SET 1, YEAR 91, JSON -1; from 5.4 the type's own, or a wider one "
        "for an unsigned value that needs it",
        "cdc/sink/codec/canal.go buildColumn",
        when="4.0–5.3",
    )
    canal_unsigned_types: bool = CANAL(
        "Whether Canal-JSON's mysqlType says ` unsigned`",
        "cdc/sink/codec/canal.go withUnsigned4MySQLType",
        when="5.4+; new",
    )
    canal_zerofill_types: bool = CANAL(
        "Whether Canal-JSON's mysqlType says ` zerofill`",
        "pkg/sink/codec/utils GetMySQLType",
        when="6.5.6–6.5, 7.1.3–7.1, 7.5.3+; new",
    )
    canal_latin1_strings: bool = CANAL(
        "Whether Canal-JSON writes BINARY and VARBINARY as Latin-1; before, as the text that the bytes are, each "
        "byte that is no UTF-8 becoming U+FFFD",
        "cdc/sink/codec/canal.go formatValue",
        then=". BLOBs are Latin-1 always.",
        when="5.4+; new",
    )
    canal_fails_on_unsigned_null: bool = CANAL(
        "Whether Canal-JSON crashes on NULL in an unsigned integer column",
        "cdc/sink/codec/canal.go getJavaSQLType",
        when="5.4.0",
    )
    canal_size_limit: bool = CANAL(
        "Whether Canal-JSON rows above max-message-bytes are refused, or handled as large messages; elsewhere "
        "they are sent, and Kafka decides",
        "cdc/sink/codec/canal/canal_json_encoder.go AppendRowChangedEvent",
        when="6.5.1–6.5, 7.0+; new",
    )
    canal_ends_rows: bool = CANAL(
        "Whether Canal-JSON's rows end with `[sink] terminator`, CR LF by default, on Kafka too; elsewhere in "
        "storage sinks alone",
        "cdc/sink/codec/canal/canal_json_encoder.go",
        "tiflow issue 11707",
        sink="kafka",
        when="6.5–6.5.11, 6.6–7.0",
    )
    canal_text_null: bool = CANAL(
        "Whether Canal-JSON takes the text `null` for NULL, the JSON document too, and a change from one to the "
        "other for none",
        "pkg/sink/codec/canal/helper.go formatColumnValue",
        when="new 8.5.4, 9.0.0-beta.1, 9.0.0-beta.2.pre",
    )
    canal_zero_null: bool = CANAL(
        "Whether Canal-JSON takes what is empty or zero for NULL",
        "pkg/sink/codec/canal/helper.go",
        then=": texts and bytes, ENUM and SET 0, DECIMAL 0, the JSON number 0, zero dates, a TIME below one second.",
        when="new 9.0.0-beta.1",
    )
    canal_whole_seconds: bool = CANAL(
        "Whether Canal-JSON writes a TIME without its fraction",
        "pkg/sink/codec/canal/helper.go",
        when="new 9.0.0-beta.1",
    )
    canal_virtual_columns: bool = CANAL(
        "Whether Canal-JSON's rows have virtual generated columns, always NULL",
        "pkg/sink/codec/canal",
        when="new 9.0.0-beta.1, 9.0.0-beta.2.pre",
    )
    canal_blank_old_values: bool = CANAL(
        "Whether `old` of Canal-JSON has the columns that column selectors leave out, as empty texts",
        "pkg/sink/codec/canal/canal_json_encoder.go fillUpdateColumns",
        settings=("column-selectors",),
        when="new 8.5.4, 9.0.0-beta.1, 9.0.0-beta.2.pre",
    )
    canal_null_types: bool = CANAL(
        "Whether Canal-JSON's mysqlType is null where no column is left; `{}` elsewhere, sqlType being null in both",
        "pkg/sink/codec/canal/canal_json_encoder.go",
        when="new 8.5.7–8.5",
    )
    canal_compares_texts: bool = CANAL(
        "Whether only-output-updated-columns compares the texts of values, so that a float's -0 differs from 0; "
        "elsewhere numbers are equal by value",
        "pkg/sink/codec/encoder.go IsColumnValueEqual",
        settings=("only-output-updated-columns", "content-compatible"),
        when="new",
    )
