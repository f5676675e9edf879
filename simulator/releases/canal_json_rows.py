"""Behaviours of row messages in Canal-JSON."""

from __future__ import annotations

from dataclasses import dataclass, field

from simulator.releases.behaviour import ON_THE_WIRE, section

CANAL = section(ON_THE_WIRE, "rows in Canal-JSON")


@dataclass(frozen=True, init=False, eq=False, repr=False)
class CanalJsonRowBehaviours:
    """Messages of rows in Canal-JSON."""

    canal_column_order: str = field(
        metadata=CANAL(
            "How Canal-JSON orders the columns of a row. `name`: by the bytes of their names (%s's maps, up to 6.1.2, "
            "6.2, 6.3: %s, %s). `escaped-name`: by the bytes of their names as they stand in JSON, quotes included "
            "(%s's maps, 6.4: there). `table`: as the table has them (6.1.3+, 6.5+: there; new: %s).",
            "encoding/json",
            "cdc/sink/codec/canal_flat.go",
            "cdc/sink/**/canal_json_encoder.go",
            "goccy/go-json",
            "pkg/sink/codec/canal",
        )
    )

    canal_old_first: bool = field(
        metadata=CANAL(
            "Whether Canal-JSON's rows have `old` before `data` (6.1.3+, 6.5+: %s); after it elsewhere, and in "
            "statements and watermarks always.",
            "cdc/sink/codec/canal newJSONMessageForDML",
        )
    )

    canal_old_everywhere: bool = field(
        metadata=CANAL(
            "Whether `old` of Canal-JSON is `[null]` in an INSERT and the deleted row in a DELETE, too (up to 5.3: "
            "%s); null in both from 5.4.",
            "cdc/sink/codec/canal_flat.go newFlatMessageForDML",
        )
    )

    canal_wide_sql_types: bool = field(
        metadata=CANAL(
            "Whether Canal-JSON's sqlType is the one that takes the largest unsigned value, whatever the column and "
            "the value are, and TEXT 12, ENUM and SET 1, YEAR 91, JSON -1 (up to 5.3: %s, java.go); from 5.4 the "
            "type's own, or a wider one for an unsigned value that needs it.",
            "cdc/sink/codec/canal.go buildColumn",
        )
    )

    canal_unsigned_types: bool = field(
        metadata=CANAL(
            "Whether Canal-JSON's mysqlType says ` unsigned` (5.4+: %s).",
            "cdc/sink/codec/canal.go withUnsigned4MySQLType",
        )
    )

    canal_zerofill_types: bool = field(
        metadata=CANAL(
            "Whether Canal-JSON's mysqlType says ` zerofill` (6.5.6+, 7.1.3+, 7.5.3+, 7.6+: %s; new).",
            "pkg/sink/codec/utils GetMySQLType",
        )
    )

    canal_latin1_strings: bool = field(
        metadata=CANAL(
            "Whether Canal-JSON writes BINARY and VARBINARY as Latin-1 (5.4+: %s); before, as the text that the bytes "
            "are, each byte that is no UTF-8 becoming U+FFFD. BLOBs are Latin-1 always.",
            "cdc/sink/codec/canal.go formatValue",
        )
    )

    canal_fails_on_unsigned_null: bool = field(
        metadata=CANAL(
            "Whether Canal-JSON crashes on NULL in an unsigned integer column (5.4.0: %s).",
            "cdc/sink/codec/canal.go getJavaSQLType",
        )
    )

    canal_size_limit: bool = field(
        metadata=CANAL(
            "Whether Canal-JSON rows above max-message-bytes are refused, or handled as large messages (6.5.1+ of "
            "6.5, 7.0+: %s); elsewhere they are sent, and Kafka decides.",
            "cdc/sink/codec/canal/canal_json_encoder.go AppendRowChangedEvent",
        )
    )

    canal_ends_rows: bool = field(
        metadata=CANAL(
            "Whether Canal-JSON's rows end with `[sink] terminator`, CR LF by default, on Kafka too (6.5.0–6.5.11, "
            "6.6, 7.0: there, tiflow issue 11707); elsewhere in storage sinks alone.",
            "cdc/sink/codec/canal/canal_json_encoder.go",
        )
    )

    canal_text_null: bool = field(
        metadata=CANAL(
            "Whether Canal-JSON takes the text `null` for NULL, the JSON document too, and a change from one to the "
            "other for none (new up to 8.5.4: %s).",
            "pkg/sink/codec/canal/helper.go formatColumnValue",
        )
    )

    canal_zero_null: bool = field(
        metadata=CANAL(
            "Whether Canal-JSON takes what is empty or zero for NULL: texts and bytes, ENUM and SET 0, DECIMAL 0, the "
            "JSON number 0, zero dates, a TIME below one second (new, 9.0.0-beta.1: there).",
            "pkg/sink/codec/canal/helper.go",
        )
    )

    canal_whole_seconds: bool = field(
        metadata=CANAL(
            "Whether Canal-JSON writes a TIME without its fraction (new, 9.0.0-beta.1: there).",
            "pkg/sink/codec/canal/helper.go",
        )
    )

    canal_virtual_columns: bool = field(
        metadata=CANAL(
            "Whether Canal-JSON's rows have virtual generated columns, always NULL (new, 9.0.0-beta.1 and "
            "-beta.2.pre: %s).",
            "pkg/sink/codec/canal",
        )
    )

    canal_blank_old_values: bool = field(
        metadata=CANAL(
            "Whether `old` of Canal-JSON has the columns that column selectors leave out, as empty texts (new up to "
            "8.5.4: %s).",
            "pkg/sink/codec/canal/canal_json_encoder.go fillUpdateColumns",
        )
    )

    canal_null_types: bool = field(
        metadata=CANAL(
            "Whether Canal-JSON's mysqlType is null where no column is left (new from 8.5.7; 26.3 not: %s); `{}` "
            "elsewhere, sqlType being null in both.",
            "pkg/sink/codec/canal/canal_json_encoder.go",
        )
    )

    canal_compares_texts: bool = field(
        metadata=CANAL(
            "Whether only-output-updated-columns compares the texts of values (new: there), so that a float's -0 "
            "differs from 0; elsewhere numbers are equal by value (%s).",
            "pkg/sink/codec/encoder.go IsColumnValueEqual",
        )
    )
