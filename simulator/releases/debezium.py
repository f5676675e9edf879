"""Behaviours of Debezium messages."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.releases.behaviour import ON_THE_WIRE, section

DEBEZIUM = section(ON_THE_WIRE, "messages of Debezium", "debezium", "debezium-avro")


@dataclass(frozen=True, init=False, eq=False, repr=False)
class DebeziumBehaviours:
    """Debezium's messages."""

    debezium_keys: bool = DEBEZIUM(
        "Whether Debezium's messages have keys: the handle key, with a schema of its own",
        "pkg/sink/codec/debezium/codec.go EncodeKey",
        when="8.5+; new",
    )
    debezium_cleans_names: bool = DEBEZIUM(
        "Whether characters that Avro does not allow are `_` in the names of Debezium's schemas, and commas in "
        "members of an ENUM have a backslash",
        "pkg/sink/codec/debezium/codec.go getSchemaTopicName",
        when="8.5+; new",
    )
    debezium_defaults: str = DEBEZIUM(
        "Which defaults the columns in Debezium's schemas have",
        "pkg/sink/codec/debezium/codec.go writeDebeziumFieldSchema",
        values={
            "none": "4.0–8.4",
            "texts": ("8.5.0", "numbers, and the texts of strings, bits, DATETIME and TIMESTAMP"),
            "values": ("8.5.1+; new", "in the form of values"),
        },
    )
    debezium_null_is_default: bool = DEBEZIUM(
        "Whether Debezium writes a column's default in place of NULL",
        "pkg/sink/codec/debezium/codec.go writeDebeziumFieldValue",
        when="8.5.1+; new",
    )
    debezium_null_by_type: bool = DEBEZIUM(
        "Whether the default in place of NULL is a value of the column's type; classic its text",
        "pkg/sink/codec/debezium/helper.go getValueFromDefault",
        then=": bytes stand there once, a YEAR is a number, a TIME is 0, a BIGINT UNSIGNED above 2^63-1 is 0, and a "
        "DATE crashes TiCDC.",
        when="new",
    )
    debezium_null_enum: str = DEBEZIUM(
        "What Debezium makes of NULL in an ENUM or SET with a default",
        "pkg/sink/codec/debezium/codec.go writeDebeziumFieldValue",
        "pkg/sink/codec/debezium/helper.go getValueFromDefault",
        values={
            "default": "4.0–8.5.0, 8.5.5+; new 8.5.5+",
            "stops": ("8.5.1–8.5.4", "CDC:ErrDebeziumEncodeFailed"),
            "empty": ("new 8.5.4, 9.0.0-beta.1, 9.0.0-beta.2.pre", "the empty text"),
        },
    )
    debezium_moves_years: bool = DEBEZIUM(
        "Whether Debezium moves the years of DATE and DATETIME below 70 to 2000–2069 and below 100 to 1970–1999, "
        "and writes a TIMESTAMP of zero as `1970-01-01T00:00:00Z` also in a column that can be NULL",
        "pkg/sink/codec/debezium/codec.go writeDebeziumFieldValue",
        when="8.5.1+; new",
    )
    debezium_stops_at_odd_dates: bool = DEBEZIUM(
        "Whether Debezium stops at a DATETIME whose month or day does not exist",
        "pkg/sink/codec/debezium/codec.go writeDebeziumFieldValue",
        when="8.5.1+",
    )
    debezium_virtual_fields: str = DEBEZIUM(
        "Where Debezium's schemas have virtual generated columns",
        "pkg/sink/codec/debezium/codec.go EncodeValue",
        values={
            "none": ("4.0–8.5.0", "nowhere"),
            "last": ("8.5.1+", "after the others"),
            "twice": ("new", "in the table's order, and once more after the others"),
        },
    )
    debezium_virtual_columns: bool = DEBEZIUM(
        "Whether Debezium's rows have virtual generated columns, as NULL",
        "pkg/sink/codec/debezium/codec.go writeDebeziumFieldValues",
        when="new 9.0.0-beta.1, 9.0.0-beta.2.pre",
    )
    debezium_scaled_float_is_double: bool = DEBEZIUM(
        "Whether FLOAT(M,D) is `double` in Debezium's schemas",
        "pkg/sink/codec/debezium/codec.go writeDebeziumFieldSchema",
        when="8.5.1+; new",
    )
    debezium_selectors: str = DEBEZIUM(
        "What Debezium does if column selectors leave columns out",
        "pkg/sink/codec/debezium/codec.go writeDebeziumFieldValues",
        settings=("column-selectors",),
        values={
            "crashes": ("4.0–8.5.2", "TiCDC crashes"),
            "selected": ("8.5.3+; new 8.5+", "they are left out"),
            "ignored": ("new 9.0.0-beta.1, 9.0.0-beta.2.pre", "the columns are sent"),
        },
    )
    debezium_statements: bool = DEBEZIUM(
        "Whether Debezium has DDL statements, and with enable-tidb-extension watermarks and `tidb_type` in schemas",
        "pkg/sink/codec/debezium/codec.go EncodeDDLEvent",
        when="new",
    )
    debezium_source_extension: bool = DEBEZIUM(
        "Whether with enable-tidb-extension the schema of Debezium's `source` has `commit_ts` and `cluster_id`",
        "pkg/sink/codec/debezium/codec.go writeSourceSchema",
        settings=("enable-tidb-extension",),
        when="new 26.3.3+",
    )
