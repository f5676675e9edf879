"""Behaviours of Debezium messages."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.releases.behaviour import ON_THE_WIRE, section

DEBEZIUM = section(ON_THE_WIRE, "messages of Debezium", "debezium")


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
    debezium_stops_at_null_enum: bool = DEBEZIUM(
        "Whether Debezium stops with CDC:ErrDebeziumEncodeFailed at NULL in an ENUM or SET with a default ((classic "
        "8.5.1–8.5.4: %s))",
        "pkg/sink/codec/debezium/codec.go writeDebeziumFieldValue",
    )
    debezium_moves_years: bool = DEBEZIUM(
        "Whether Debezium moves the years of DATE and DATETIME below 70 to 2000–2069 and below 100 to 1970–1999, "
        "writes a TIMESTAMP of zero as `1970-01-01T00:00:00Z` also in a column that can be NULL, and stops at a "
        "DATETIME whose month or day does not exist ((8.5.1+, new: there))",
        "pkg/sink/codec/debezium/codec.go writeDebeziumFieldValue",
    )
    debezium_virtual_fields: bool = DEBEZIUM(
        "Whether Debezium's schemas have virtual generated columns, behind the others ((8.5.1+, new: %s))",
        "pkg/sink/codec/debezium/codec.go EncodeValue",
    )
    debezium_scaled_float_is_double: bool = DEBEZIUM(
        "Whether FLOAT(M,D) is `double` in Debezium's schemas ((8.5.1+, new: %s))",
        "pkg/sink/codec/debezium/codec.go writeDebeziumFieldSchema",
    )
    debezium_selects_columns: bool = DEBEZIUM(
        "Whether Debezium leaves columns out as column selectors say ((8.5.3+, new: %s)); before, it crashes",
        "pkg/sink/codec/debezium/codec.go writeDebeziumFieldValues",
    )
