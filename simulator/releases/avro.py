"""Behaviours of messages in Avro."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.releases.behaviour import ON_THE_WIRE, section

AVRO = section(ON_THE_WIRE, "rows in Avro", "avro")
SCHEMAS = section("Schemas in a registry", "of Avro", "avro")


@dataclass(frozen=True, init=False, eq=False, repr=False)
class AvroBehaviours:
    """Messages in Avro."""

    avro_records: str = AVRO(
        "What Avro's records are",
        "cdc/sink/codec/avro.go",
        "pkg/sink/codec/avro/avro.go",
        values={
            "random": ("4.0–4.0.5", "records with random names, texts in them refused; not simulated"),
            "unions": (
                "4.0.6–5.4",
                "columns outside of the handle key are unions of null and their type, without TiDB's names of types",
            ),
            "nullable": ("6.0", "the same for columns that may be NULL, with texts for ENUM and SET"),
            "columns": ("6.1+; new", "columns are fields of their types"),
        },
    )
    avro_key: str = AVRO(
        "Which columns Avro's keys have",
        "cdc/model/sink.go HandleKeyColInfos",
        "pkg/common/event/row_change.go PrimaryKeyColumn",
        values={
            "handle": ("classic", "those of the handle key"),
            "primary": ("new", "those of the primary key; a table with a unique key alone has no keys"),
        },
    )
    avro_delete: str = AVRO(
        "What Avro sends of a DELETE",
        "cdc/sink/**/avro.go",
        "pkg/sink/codec/avro/arvo.go",
        values={
            "no-key": ("4.0–4.0.6", "nothing, as goavro refuses a key without columns"),
            "key": ("4.0.7+", "its key"),
            "nothing": (
                "new 8.5–8.5.6, 26.3–26.3.3, 9.0.0-beta.1, 9.0.0-beta.2.pre",
                "nothing, as TiCDC crashes unless the table has no primary key",
            ),
            "commit-ts": ("new 8.5.7–8.5", "its key, and with avro-enable-watermark a byte 3 and the commit-ts"),
            "record": ("new 26.3.4", "its key, and with avro-enable-watermark a record of the key; not simulated"),
        },
    )
    avro_json_crashes: bool = AVRO(
        "Whether Avro crashes on a JSON value",
        "cdc/sink/codec/avro.go columnToAvroNativeData",
        when="4.0–4.0.15, 5.0–5.0.5, 5.1–5.1.3, 5.2–5.2.3, 5.3.0",
    )
    avro_unsigned_crashes: bool = AVRO(
        "Whether Avro crashes on a value of TINYINT, SMALLINT or MEDIUMINT UNSIGNED",
        "cdc/sink/codec/avro.go columnToAvroNativeData",
        when="4.0–4.0.14, 5.0–5.0.3, 5.1–5.1.1, 5.2–5.2.1",
    )
    avro_refuses_floats: bool = AVRO(
        "Whether Avro refuses a FLOAT outside of the handle key",
        "cdc/sink/codec/avro.go columnToAvroNativeData",
        when="4.0–4.0.10",
    )
    avro_zero_dates: bool = AVRO(
        "Whether Avro has zero dates, as Go's zero time; before they are refused",
        "cdc/sink/codec/avro.go columnToAvroNativeData",
        when="4.0.13–4.0, 5.0.2–6.0",
    )
    avro_instants: bool = AVRO(
        "Whether the milliseconds of a TIMESTAMP in Avro are an instant; before, they are its local time in the "
        "zone of TiCDC's servers as if that were UTC",
        "cdc/sink/codec/avro.go columnToAvroNativeData",
        when="4.0.13–4.0, 5.0.2–6.0",
    )
    avro_virtual_columns: bool = AVRO(
        "Whether Avro's values have virtual generated columns, always NULL",
        "pkg/sink/codec/avro/arvo.go encodeValue",
        when="new",
    )
    avro_selectors: bool = AVRO(
        "Whether column selectors take columns out of Avro's messages",
        "pkg/sink/codec/avro/arvo.go columns2AvroSchema",
        settings=("column-selectors",),
        when="classic; new 8.5+",
    )
    avro_whole_bits: bool = AVRO(
        "Whether a BIT has all its bytes in Avro; elsewhere none that are zero before the others",
        "pkg/sink/codec/avro/arvo.go columnToAvroData",
        when="new",
    )
    avro_short_escapes: bool = AVRO(
        "Whether U+0008 and U+000C are `\\b` and `\\f` in Avro's schemas and statements",
        "encoding/json",
        when="8.4+; new",
    )
    avro_null_text: str = AVRO(
        "What becomes in Avro's schemas of a nullable column with the default `null`, a text",
        "pkg/sink/codec/avro/avro.go columns2AvroSchema",
        "pkg/sink/codec/avro/arvo.go GenCodec",
        values={
            "refused": (
                "4.0–7.5.5, 7.6–8.5.1; new 9.0.0-beta.1, 9.0.0-beta.2.pre",
                "goavro takes the text for NULL and refuses the schema",
            ),
            "null": ("7.5.6–7.5, 8.5.2+", "null is first in its type"),
            "text": ("new 8.5+", "its type is first, as with other defaults"),
        },
    )


@dataclass(frozen=True, init=False, eq=False, repr=False)
class AvroSchemaBehaviours:
    """Avro's schemas, beside what messages show of them."""

    avro_keeps_version: bool = SCHEMAS(
        "Whether Avro takes a schema for another after a change of columns alone; elsewhere after any statement "
        "on the table",
        "pkg/sink/codec/avro/arvo.go getValueSchemaCodec",
        when="new",
    )
    avro_origin_defaults: bool = SCHEMAS(
        "Whether Avro's schemas have the default that a column had when it was added, if it has none now",
        "cdc/entry/mounter.go GetDDLDefaultDefinition",
        "cdc/model/schema_storage.go GetColumnDefaultValue",
        when="4.0–7.5.5, 7.6–8.5.1",
    )
    avro_registry_tls: bool = SCHEMAS(
        "Whether `ca`, `cert` and `key` of the sink-uri are for the registry, too",
        "cdc/sink/codec/avro.go newAvroEventBatchEncoderBuilder",
        settings=("ca", "cert", "key"),
        when="4.0–6.0",
    )
    avro_sorts_columns: str = SCHEMAS(
        "How Avro's values order columns with row checksums",
        "pkg/sink/codec/avro/avro.go value2AvroSchema",
        "pkg/sink/codec/avro/arvo.go value2AvroSchema",
        settings=("integrity-check-level",),
        values={
            "by-id": ("classic", "by their ids"),
            "mixed-up": ("new", "by their ids, but not the values of later rows; not simulated where it matters"),
        },
    )
