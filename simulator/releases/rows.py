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
        r"Whether Open Protocol and Maxwell write U+0008 and U+000C as `\b` and `\f` ((%s from Go 1.22: classic 8.4+))",
        "encoding/json",
        protocols=("open-protocol", "maxwell"),
    )
    rows_in_server_zone: bool = ROWS(
        "Whether TIMESTAMPs of rows are in the time zone of TiCDC's servers, `--tz` ((not in 9.0.0-beta.1: %s, %s)); "
        "elsewhere they are in UTC",
        "cdc/entry/codec.go unflatten",
        "pkg/eventservice/event_service.go",
        first=True,
    )
    primary_is_unique: bool = ROWS(
        "Whether columns of the primary index also get the UniqueKey bit ((classic before 7.5.2, and 7.6: %s))",
        "cdc/model/schema_storage.go",
        first=True,
        protocols=("open-protocol",),
    )
    float_widened: bool = ROWS(
        "Whether a FLOAT becomes a 64-bit number, with the digits that it has as one, in rows and dispatch hashes "
        "((4.0.6–6.1.5, 6.2–6.5.1, 6.6: %s)); elsewhere it stays the 32-bit number",
        "cdc/entry/mounter.go formatColVal",
    )
    zerofill_bit: bool = ROWS(
        "Whether columns with ZEROFILL, and every YEAR, have the bit 0x100 in Open Protocol's `f` ((6.5.6+ of 6.5 "
        "and 7.5.3+ of 7.5: %s))",
        "cdc/model/schema_storage.go initColumnsFlag",
        protocols=("open-protocol",),
    )
    generated_get_key_bits: bool = ROWS(
        "Whether a generated column gets the bits of every index it is in ((classic)); elsewhere it keeps what "
        "TiDB's own column flags say ((new: %s))",
        "pkg/sink/codec/open/message.go initColumnFlags",
        first=True,
    )
    handle_may_be_virtual: bool = ROWS(
        "Whether a unique key with a virtual generated column may be the handle key ((new 8.5.6–8.5.8: %s))",
        "pkg/common/table_info_helper.go initIndexColumns",
    )
    handle_joins_unique: bool = ROWS(
        "Whether the handle key is a nonclustered primary key and the best unique key together, where the table has "
        "the unique key first ((new 8.5.4, 9.0.0-beta.2: %s))",
        "pkg/common/table_info_helper.go initIndexColumns",
    )
    update_without_old_value: bool = ROWS(
        "Whether enable-old-value = false leaves an UPDATE its new values alone ((4.0.5 to 6.5.4, 6.6, 7.0 to 7.1.1, "
        "7.2, 7.3: %s, %s)); elsewhere the old ones stay",
        "cdc/entry/mounter.go",
        "cdc/processor/sinkmanager",
        settings=("enable-old-value",),
    )
    delete_without_old_value: bool = ROWS(
        "Whether enable-old-value = false leaves a DELETE its handle key alone ((4.0.5 to 6.6, 7.0, 7.1: %s, from "
        "6.5.3 and 7.1.1 %s))",
        "cdc/entry/mounter.go",
        "pkg/sink/codec/common/config.go",
        protocols=("open-protocol",),
        settings=("enable-old-value",),
    )
    empty_changes: frozenset[str] = ROWS(
        "Protocols with a message of a row that a transaction of BEGIN inserts and deletes, which TiDB deletes from TiKV "
        "though it is not there: an INSERT without columns ((Open Protocol before 4.0.15, 5.0.4, 5.1.2 and 5.2: %s; "
        "Canal-JSON and Maxwell before 4.0.16, 5.0.6, 5.1.4, 5.2.4 and 5.3: %s)); Avro cannot encode it",
        "cdc/sink/codec/json.go AppendRowChangedEvent",
        "cdc/processor/pipeline/sink.go emitEvent",
        first=frozenset({"open-protocol", "canal-json", "maxwell", "avro"}),
    )
    empty_deletes: str = ROWS(
        "Tables in which such a row is a DELETE with its handle key without enable-old-value ((up to 5.4: %s))",
        "cdc/entry/mounter.go unmarshalRowKVEntry",
        settings=("enable-old-value",),
        values={
            "keyed": "all: those without a clustered key by the deletion of its index ((before 4.0.15, 5.0.4 and 5.1.1))",
            "clustered": "those with a clustered primary key",
            "none": "none",
        },
        first="keyed",
    )
    claim_check_by_row: bool = ROWS(
        "Whether claim-check's files are called by day and row, "
        "`{date}/{schema}-{table}-{commitTs}-{startTs}-{handle key}.json`, and messages say that name alone ((7.3.0: "
        "%s)); elsewhere they are called by UUIDs, and messages say the storage, too",
        "pkg/sink/codec/common/message.go",
        sink="kafka",
        settings=("large-message-handle-option",),
    )
    older_rows: str = ROWS(
        "What rows that were last written before ADD COLUMN have in that column, as old values",
        "cdc/entry/mounter.go getDefaultOrZeroValue",
        "pkg/common/event/chunk.go",
        values={
            "default": "the column's present default as text, NULL if it may be NULL ((up to 4.0.16, 5.0, 5.1.3, 5.2.3, "
            "5.3.0: %s))",
            "text": "the value that TiDB reads, as the text that TableInfo has of it, whatever the type ((5.1.4, 5.2.4, "
            "5.3.1 to 6.5.8, 6.6, 7.0 to 7.1.4, 7.2 to 7.5.1, 7.6: there; tiflow issues 3929 and 4048))",
            "typed": "the value that TiDB reads ((6.5.9+, 7.1.5+, 7.5.2+, 8.0+: there; new: %s; tiflow issue 10803))",
        },
        first="default",
    )
    literal_defaults: frozenset[str] = ROWS(
        "Types of which TableInfo has a default as it was written, `2020-1-1` or `1.50` of an INT: it is the text that "
        "such rows get, and the default of Avro's schemas ((ENUM up to 4.0, DATE up to 6.0, integers and floats up to "
        "6.1.3: tidb %s, tidb pull requests 20849, 33571, 34947, 35197)); elsewhere what the column makes of it",
        "ddl/ddl_api.go getDefaultValue",
        first=frozenset({"integer", "float", "date", "enum"}),
    )
    older_timestamps_in_utc: bool = ROWS(
        "Whether a TIMESTAMP that such rows lack is in UTC, and not in `--tz` ((up to 6.5.9, 7.1.5, 7.5.1, 7.6 and 8.0: "
        "%s))",
        "cdc/entry/mounter.go getDefaultOrZeroValue",
        first=True,
    )
    quoted_unicode: int = OPEN(
        "Version of Unicode whose characters stay as they are in BINARY and VARBINARY of Open Protocol, later ones "
        r"being `\u` escapes",
        "strconv/isprint.go",
        then=": 12 (Go 1.14, up to 5.0), 13 (Go 1.16 to 1.20, 5.1 to 7.3), 15 (Go 1.21+) (Go: %s).",
        first=12,
    )
    record_overhead_counted: bool = OPEN(
        "Whether a message's size has 36 bytes for Kafka's record in it ((4.0.16, 5.0.6, 5.1.4+, 5.2.2+, 5.3+: %s))",
        "cdc/sink/codec/interface.go MaxRecordOverhead",
    )
    size_error: str = OPEN(
        "Code of the error for an Open Protocol row above max-message-bytes ((4.0.16, 5.0.6, 5.1.4+, 5.2.2+, 5.3+: "
        "%s))",
        "cdc/sink/codec/json.go AppendRowChangedEvent",
        then="; empty: such a row is sent.",
        first="",
    )
    open_batch_size: bool = OPEN(
        "Whether an Open Protocol message is full after max-batch-size rows or at max-message-bytes ((4.0.9+: %s)); "
        "elsewhere when it has 4 MiB ((%s))",
        "cdc/sink/codec/json.go",
        "cdc/sink/mq.go batchSizeLimit",
    )
    open_flags: bool = OPEN("Whether a column has its flags `f` ((4.0.5+: %s))", "cdc/sink/codec/json.go column")
    open_row_ids: bool = OPEN(
        "Whether a row's key has its integer handle `rid` ((classic 4.0.5+: %s))", "cdc/sink/codec/json.go mqMessageKey"
    )
    open_partition_ids: bool = OPEN(
        "Whether a row's key has the physical id of its partition `ptn` ((4.0.2+, not 9.0.0-beta.1: %s))",
        "cdc/sink/codec/json.go mqMessageKey",
    )
    open_partition_last: bool = OPEN(
        "Whether `ptn` is the last member of the key ((new: %s)), not between `rid` and `t`",
        "pkg/sink/codec/open/codec.go",
    )
    open_old_values: bool = OPEN(
        "Whether an UPDATE has old values `p` and a DELETE all its columns ((4.0.5+: %s)); before, an UPDATE is `u` "
        "alone and a DELETE its handle key alone",
        "cdc/sink/codec/json.go mqMessageRow",
    )
    open_generated: bool = OPEN(
        "Whether rows have stored generated columns ((4.0.5+: %s))", "cdc/entry/schema_storage.go IsColWritable"
    )
    open_virtual: bool = OPEN(
        "Whether rows have virtual generated columns, always NULL ((new 9.0.0-beta.1: %s))",
        "pkg/sink/codec/open/codec.go",
    )
    open_marks_unique: bool = OPEN(
        "Whether `h` marks the columns of every unique key that cannot be NULL ((up to 4.0.4: %s)), not of the "
        "handle key alone",
        "cdc/entry/mounter.go IsColumnUnique",
        first=True,
    )
    open_sorts_columns: bool = OPEN(
        "Whether columns are sorted by the bytes of their names ((classic: %s of a map)); else in table order",
        "encoding/json",
        first=True,
    )
    open_strings_base64: bool = OPEN(
        "Whether CHAR, VARCHAR, BINARY and VARBINARY are base64, as TEXT and BLOB are ((up to 4.0.4, for rows in "
        "TiKV's first format, as TiCDC's documentation shows them: %s, %s; in the second format they are text "
        "there)); later text, and strconv.Quote of bytes",
        "cdc/entry/codec.go decodeRowV1",
        "cdc/entry/mounter.go formatColVal",
        first=True,
    )
    open_pads_exponents: bool = OPEN(
        "Whether a float's negative exponent has two digits, `1e-07` ((jsoniter, new)), not `1e-7` ((%s))",
        "encoding/json",
    )
    open_time_fraction: bool = OPEN(
        "Whether a TIME has its fraction of a second ((not in new 8.5.4, 8.5.5, 9.0.0-beta.1, -beta.2: %s))",
        "pkg/sink/codec/open/codec.go writeColumnFieldValue",
        first=True,
    )
    open_zero_is_null: bool = OPEN(
        "Whether empty strings and bytes, ENUM and SET 0, and zero decimals, times and JSON numbers are NULL ((new "
        "9.0.0-beta.1: %s))",
        "pkg/sink/codec/open/codec.go writeColumnFieldValue",
    )
    open_old_zero_is_null: bool = OPEN(
        "Whether empty and zero values are null in `p` with only-output-updated-columns ((new 8.5.4, 8.5.5, "
        "9.0.0-beta.1, -beta.2: %s))",
        "pkg/sink/codec/open/codec.go writeColumnFieldValueIfUpdated",
        settings=("only-output-updated-columns",),
    )
    open_old_flags_raw: bool = OPEN(
        "Whether `f` in `p` with only-output-updated-columns is TiDB's own flag word ((new 8.5.4, 8.5.5, "
        "9.0.0-beta.2: there))",
        "pkg/sink/codec/open/codec.go",
        settings=("only-output-updated-columns",),
    )
    open_old_bits: bool = OPEN(
        "Whether `p` with only-output-updated-columns lists a BIT that another BIT replaced ((classic, new 8.5.6+: "
        "there))",
        "pkg/sink/codec/open/codec.go",
        first=True,
        settings=("only-output-updated-columns",),
    )
    open_old_nameless: bool = OPEN(
        "Whether `p` with only-output-updated-columns holds a value that NULL replaced as bare members `t`, `f`, `v` "
        "without the column's name ((new: there))",
        "pkg/sink/codec/open/codec.go",
        settings=("only-output-updated-columns",),
    )
    open_old_always: bool = OPEN(
        "Whether `p` with only-output-updated-columns is `{}` where no column changed ((new: there)); else it is "
        "left out",
        "pkg/sink/codec/open/codec.go",
        settings=("only-output-updated-columns",),
    )
    open_old_optional: bool = OPEN(
        "Whether `[sink.open] output-old-value = false` takes `p` away ((7.5.2+, 8.1+: %s)); new 8.5.4, 8.5.5 and "
        "the betas know the setting and do not mind it",
        "pkg/sink/codec/open",
        first=True,
        settings=("open.output-old-value",),
    )
    open_needs_columns: bool = OPEN(
        "Whether cutting a row down to a handle key that it does not have is CDC:ErrOpenProtocolCodecInvalidData "
        "((7.2+: %s)); before, the value is `{}`",
        "pkg/sink/codec/open/open_protocol_message.go rowChangeToMsg",
    )
    open_names_operation: bool = OPEN(
        "Whether the error for a row of which no column is left says which operation it was ((classic)); new always "
        "says `for the delete event`, and says it, too, where column selectors leave nothing ((%s))",
        "pkg/sink/codec/open/codec.go writeColumnFieldValues",
        first=True,
    )
    open_location_repeats_ohk: bool = OPEN(
        'Whether Open Protocol\'s key has `"ohk":true,"ohk":false` before `ccl`, a member twice ((new: %s)); '
        "classic writes `ccl` alone ((7.3+))",
        "pkg/sink/codec/open/codec.go encodeRowChangedEvent",
        settings=("large-message-handle-option",),
    )
    canal_column_order: str = CANAL(
        "How Canal-JSON orders the columns of a row",
        "encoding/json",
        "cdc/sink/codec/canal_flat.go",
        "cdc/sink/**/canal_json_encoder.go",
        "goccy/go-json",
        "pkg/sink/codec/canal",
        values={
            "name": "by the bytes of their names ((%s's maps, up to 6.1.2, 6.2, 6.3: %s, %s))",
            "escaped-name": "by the bytes of their names as they stand in JSON, quotes included ((%s's maps, 6.4: "
            "there))",
            "table": "as the table has them ((6.1.3+, 6.5+: there; new: %s))",
        },
        first="name",
    )
    canal_old_first: bool = CANAL(
        "Whether Canal-JSON's rows have `old` before `data` ((6.1.3+, 6.5+: %s)); after it elsewhere, and in "
        "statements and watermarks always",
        "cdc/sink/codec/canal newJSONMessageForDML",
    )
    canal_old_everywhere: bool = CANAL(
        "Whether `old` of Canal-JSON is `[null]` in an INSERT and the deleted row in a DELETE, too ((up to 5.3: "
        "%s)); null in both from 5.4",
        "cdc/sink/codec/canal_flat.go newFlatMessageForDML",
        first=True,
    )
    canal_wide_sql_types: bool = CANAL(
        "Whether Canal-JSON's sqlType is the one that takes the largest unsigned value, whatever the column and the "
        "value are, and TEXT 12, ENUM and SET 1, YEAR 91, JSON -1 ((up to 5.3: %s, java.go)); from 5.4 the type's "
        "own, or a wider one for an unsigned value that needs it",
        "cdc/sink/codec/canal.go buildColumn",
        first=True,
    )
    canal_unsigned_types: bool = CANAL(
        "Whether Canal-JSON's mysqlType says ` unsigned` ((5.4+: %s))", "cdc/sink/codec/canal.go withUnsigned4MySQLType"
    )
    canal_zerofill_types: bool = CANAL(
        "Whether Canal-JSON's mysqlType says ` zerofill` ((6.5.6+, 7.1.3+, 7.5.3+, 7.6+: %s; new))",
        "pkg/sink/codec/utils GetMySQLType",
    )
    canal_latin1_strings: bool = CANAL(
        "Whether Canal-JSON writes BINARY and VARBINARY as Latin-1 ((5.4+: %s)); before, as the text that the bytes "
        "are, each byte that is no UTF-8 becoming U+FFFD",
        "cdc/sink/codec/canal.go formatValue",
        then=". BLOBs are Latin-1 always.",
    )
    canal_fails_on_unsigned_null: bool = CANAL(
        "Whether Canal-JSON crashes on NULL in an unsigned integer column ((5.4.0: %s))",
        "cdc/sink/codec/canal.go getJavaSQLType",
    )
    canal_size_limit: bool = CANAL(
        "Whether Canal-JSON rows above max-message-bytes are refused, or handled as large messages ((6.5.1+ of 6.5, "
        "7.0+: %s)); elsewhere they are sent, and Kafka decides",
        "cdc/sink/codec/canal/canal_json_encoder.go AppendRowChangedEvent",
    )
    canal_ends_rows: bool = CANAL(
        "Whether Canal-JSON's rows end with `[sink] terminator`, CR LF by default, on Kafka too ((6.5.0–6.5.11, 6.6, "
        "7.0: there, tiflow issue 11707)); elsewhere in storage sinks alone",
        "cdc/sink/codec/canal/canal_json_encoder.go",
        sink="kafka",
    )
    canal_text_null: bool = CANAL(
        "Whether Canal-JSON takes the text `null` for NULL, the JSON document too, and a change from one to the "
        "other for none ((new up to 8.5.4: %s))",
        "pkg/sink/codec/canal/helper.go formatColumnValue",
    )
    canal_zero_null: bool = CANAL(
        "Whether Canal-JSON takes what is empty or zero for NULL",
        "pkg/sink/codec/canal/helper.go",
        then=(
            ": texts and bytes, ENUM and SET 0, DECIMAL 0, the JSON number 0, zero dates, a TIME below one second "
            "(new, 9.0.0-beta.1: there)."
        ),
    )
    canal_whole_seconds: bool = CANAL(
        "Whether Canal-JSON writes a TIME without its fraction ((new, 9.0.0-beta.1: there))",
        "pkg/sink/codec/canal/helper.go",
    )
    canal_virtual_columns: bool = CANAL(
        "Whether Canal-JSON's rows have virtual generated columns, always NULL ((new, 9.0.0-beta.1 and -beta.2.pre: "
        "%s))",
        "pkg/sink/codec/canal",
    )
    canal_blank_old_values: bool = CANAL(
        "Whether `old` of Canal-JSON has the columns that column selectors leave out, as empty texts ((new up to "
        "8.5.4: %s))",
        "pkg/sink/codec/canal/canal_json_encoder.go fillUpdateColumns",
        settings=("column-selectors",),
    )
    canal_null_types: bool = CANAL(
        "Whether Canal-JSON's mysqlType is null where no column is left ((new from 8.5.7; 26.3 not: %s)); `{}` "
        "elsewhere, sqlType being null in both",
        "pkg/sink/codec/canal/canal_json_encoder.go",
    )
    canal_compares_texts: bool = CANAL(
        "Whether only-output-updated-columns compares the texts of values ((new: there)), so that a float's -0 "
        "differs from 0; elsewhere numbers are equal by value ((%s))",
        "pkg/sink/codec/encoder.go IsColumnValueEqual",
        settings=("only-output-updated-columns", "content-compatible"),
    )
