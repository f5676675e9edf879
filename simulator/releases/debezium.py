"""Behaviours of Debezium messages."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.releases.behaviour import ON_THE_WIRE, section

DEBEZIUM = section(ON_THE_WIRE, "messages of Debezium", "debezium", "debezium-avro")


@dataclass(frozen=True, init=False, eq=False, repr=False)
class DebeziumBehaviours:
    """Debezium's messages."""

    debezium_keys: bool = DEBEZIUM(
        "Whether Debezium's messages have keys: the handle key, with a schema of its own ((8.5.0+, new: %s))",
        "pkg/sink/codec/debezium/codec.go EncodeKey",
    )
    debezium_cleans_names: bool = DEBEZIUM(
        "Whether characters that Avro does not allow are `_` in the names of Debezium's schemas, and commas in "
        "members of an ENUM have a backslash ((8.5.0+, new: %s))",
        "pkg/sink/codec/debezium/codec.go getSchemaTopicName",
    )
    debezium_defaults: str = DEBEZIUM(
        "Which defaults the columns in Debezium's schemas have",
        "pkg/sink/codec/debezium/codec.go writeDebeziumFieldSchema",
        values={
            "none": "((up to 8.4))",
            "texts": "numbers, and the texts of strings, bits, DATETIME and TIMESTAMP ((8.5.0: %s))",
            "values": "in the form of values ((8.5.1+, new))",
        },
        first="none",
    )
    debezium_null_is_default: bool = DEBEZIUM(
        "Whether Debezium writes a column's default in place of NULL ((8.5.1+, new: %s))",
        "pkg/sink/codec/debezium/codec.go writeDebeziumFieldValue",
    )
    debezium_null_by_type: bool = DEBEZIUM(
        "Whether the default in place of NULL is a value of the column's type ((new: %s)); classic its text",
        "pkg/sink/codec/debezium/helper.go getValueFromDefault",
        then=": bytes stand there once, a YEAR is a number, a TIME is 0, a BIGINT UNSIGNED above 2^63-1 is 0, and a DATE "
        "crashes TiCDC.",
    )
    debezium_null_enum: str = DEBEZIUM(
        "What Debezium makes of NULL in an ENUM or SET with a default",
        "pkg/sink/codec/debezium/codec.go writeDebeziumFieldValue",
        "pkg/sink/codec/debezium/helper.go getValueFromDefault",
        values={
            "stops": "CDC:ErrDebeziumEncodeFailed ((classic 8.5.1–8.5.4: %s))",
            "empty": "the empty text ((new 8.5.4 and 9.0.0-beta.2: %s))",
            "default": "((all others))",
        },
        first="default",
    )
    debezium_moves_years: bool = DEBEZIUM(
        "Whether Debezium moves the years of DATE and DATETIME below 70 to 2000–2069 and below 100 to 1970–1999, and "
        "writes a TIMESTAMP of zero as `1970-01-01T00:00:00Z` also in a column that can be NULL ((8.5.1+, new: there))",
        "pkg/sink/codec/debezium/codec.go writeDebeziumFieldValue",
    )
    debezium_stops_at_odd_dates: bool = DEBEZIUM(
        "Whether Debezium stops at a DATETIME whose month or day does not exist ((classic 8.5.1+: there))",
        "pkg/sink/codec/debezium/codec.go writeDebeziumFieldValue",
    )
    debezium_virtual_fields: str = DEBEZIUM(
        "Where Debezium's schemas have virtual generated columns",
        "pkg/sink/codec/debezium/codec.go EncodeValue",
        values={
            "none": "nowhere ((up to 8.5.0))",
            "last": "after the others ((classic 8.5.1+: %s))",
            "twice": "in the table's order, and once more after the others ((new: there))",
        },
        first="none",
    )
    debezium_virtual_columns: bool = DEBEZIUM(
        "Whether Debezium's rows have virtual generated columns, as NULL ((9.0.0-beta.2: %s))",
        "pkg/sink/codec/debezium/codec.go writeDebeziumFieldValues",
    )
    debezium_scaled_float_is_double: bool = DEBEZIUM(
        "Whether FLOAT(M,D) is `double` in Debezium's schemas ((8.5.1+, new: %s))",
        "pkg/sink/codec/debezium/codec.go writeDebeziumFieldSchema",
    )
    debezium_selectors: str = DEBEZIUM(
        "What Debezium does if column selectors leave columns out",
        "pkg/sink/codec/debezium/codec.go writeDebeziumFieldValues",
        values={
            "crashes": "TiCDC crashes ((up to 8.5.2))",
            "ignored": "the columns are sent ((9.0.0-beta.2: %s))",
            "selected": "they are left out ((8.5.3+, new: there))",
        },
        first="crashes",
        settings=("column-selectors",),
    )
    debezium_statements: bool = DEBEZIUM(
        "Whether Debezium has DDL statements, and with enable-tidb-extension watermarks and `tidb_type` in schemas "
        "((new: %s))",
        "pkg/sink/codec/debezium/codec.go EncodeDDLEvent",
    )
    debezium_source_extension: bool = DEBEZIUM(
        "Whether with enable-tidb-extension the schema of Debezium's `source` has `commit_ts` and `cluster_id` "
        "((new 26.3.3+: %s))",
        "pkg/sink/codec/debezium/codec.go writeSourceSchema",
        settings=("enable-tidb-extension",),
    )
