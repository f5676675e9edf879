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
            "random": "records with random names, texts in them refused ((up to 4.0.5: %s)); not simulated",
            "unions": "columns outside of the handle key are unions of null and their type, without TiDB's names of "
            "types ((4.0.6–5.4: there))",
            "nullable": "the same for columns that may be NULL, with texts for ENUM and SET ((6.0: there))",
            "columns": "columns are fields of their types ((6.1+: %s))",
        },
        first="random",
    )
    avro_key: str = AVRO(
        "Which columns Avro's keys have",
        "cdc/model/sink.go HandleKeyColInfos",
        "pkg/common/event/row_change.go PrimaryKeyColumn",
        values={
            "handle": "those of the handle key ((classic: %s))",
            "primary": "those of the primary key; a table with a unique key alone has no keys ((new: %s))",
        },
        first="handle",
    )
    avro_delete: str = AVRO(
        "What Avro sends of a DELETE",
        "cdc/sink/**/avro.go",
        "pkg/sink/codec/avro/arvo.go",
        values={
            "key": "its key ((classic from 4.0.7: %s))",
            "no-key": "nothing, as goavro refuses a key without columns ((4.0.6: there))",
            "nothing": "nothing, as TiCDC crashes unless the table has no primary key ((new up to 8.5.6 and 26.3.3: %s))",
            "commit-ts": "its key, and with avro-enable-watermark a byte 3 and the commit-ts ((new 8.5.7+: there))",
            "record": "its key, and with avro-enable-watermark a record of the key ((26.3.4: there)); not simulated",
        },
        first="no-key",
    )
    avro_json_crashes: bool = AVRO(
        "Whether Avro crashes on a JSON value ((up to 4.0.15, 5.0.5, 5.1.3, 5.2.3 and in 5.3.0: %s))",
        "cdc/sink/codec/avro.go columnToAvroNativeData",
        first=True,
    )
    avro_unsigned_crashes: bool = AVRO(
        "Whether Avro crashes on a value of TINYINT, SMALLINT or MEDIUMINT UNSIGNED ((up to 4.0.14, 5.0.3, 5.1.1, 5.2.1: "
        "%s))",
        "cdc/sink/codec/avro.go columnToAvroNativeData",
        first=True,
    )
    avro_refuses_floats: bool = AVRO(
        "Whether Avro refuses a FLOAT outside of the handle key ((4.0.6–4.0.10: %s))",
        "cdc/sink/codec/avro.go columnToAvroNativeData",
        first=True,
    )
    avro_zero_dates: bool = AVRO(
        "Whether Avro has zero dates, as Go's zero time ((4.0.13+, 5.0.2+, 5.1–6.0: %s)); before they are refused",
        "cdc/sink/codec/avro.go columnToAvroNativeData",
    )
    avro_instants: bool = AVRO(
        "Whether the milliseconds of a TIMESTAMP in Avro are an instant ((4.0.13+, 5.0.2+, 5.1–6.0: %s)); before, they "
        "are its local time in the zone of TiCDC's servers as if that were UTC",
        "cdc/sink/codec/avro.go columnToAvroNativeData",
    )
    avro_virtual_columns: bool = AVRO(
        "Whether Avro's values have virtual generated columns, always NULL ((new: %s))",
        "pkg/sink/codec/avro/arvo.go encodeValue",
    )
    avro_selectors: bool = AVRO(
        "Whether column selectors take columns out of Avro's messages ((not in 9.0.0-beta.2: %s))",
        "pkg/sink/codec/avro/arvo.go columns2AvroSchema",
        first=True,
        settings=("column-selectors",),
    )
    avro_whole_bits: bool = AVRO(
        "Whether a BIT has all its bytes in Avro ((new: %s)); elsewhere none that are zero before the others",
        "pkg/sink/codec/avro/arvo.go columnToAvroData",
    )
    avro_short_escapes: bool = AVRO(
        r"Whether U+0008 and U+000C are `\b` and `\f` in Avro's schemas and statements ((%s from Go 1.22: classic "
        "8.4+, new))",
        "encoding/json",
    )
    avro_null_text: str = AVRO(
        "What becomes in Avro's schemas of a nullable column with the default `null`, a text",
        "pkg/sink/codec/avro/avro.go columns2AvroSchema",
        "pkg/sink/codec/avro/arvo.go GenCodec",
        values={
            "refused": "goavro takes the text for NULL and refuses the schema ((up to 7.5.5, 7.6 to 8.5.1, 9.0.0-beta.2))",
            "null": "null is first in its type ((7.5.6+, 8.5.2+: %s))",
            "text": "its type is first, as with other defaults ((new: %s))",
        },
        first="refused",
    )


@dataclass(frozen=True, init=False, eq=False, repr=False)
class AvroSchemaBehaviours:
    """Avro's schemas, beside what messages show of them."""

    avro_keeps_version: bool = SCHEMAS(
        "Whether Avro takes a schema for another after a change of columns alone ((new: %s)); elsewhere after any "
        "statement on the table",
        "pkg/sink/codec/avro/arvo.go getValueSchemaCodec",
    )
    avro_origin_defaults: bool = SCHEMAS(
        "Whether Avro's schemas have the default that a column had when it was added, if it has none now ((up to "
        "7.5.5, 7.6 to 8.5.1: %s, %s))",
        "cdc/entry/mounter.go GetDDLDefaultDefinition",
        "cdc/model/schema_storage.go GetColumnDefaultValue",
        first=True,
    )
    avro_registry_tls: bool = SCHEMAS(
        "Whether `ca`, `cert` and `key` of the sink-uri are for the registry, too ((up to 6.0: %s))",
        "cdc/sink/codec/avro.go newAvroEventBatchEncoderBuilder",
        first=True,
        settings=("ca", "cert", "key"),
    )
    avro_sorts_columns: str = SCHEMAS(
        "How Avro's values order columns with row checksums",
        "pkg/sink/codec/avro/avro.go value2AvroSchema",
        "pkg/sink/codec/avro/arvo.go value2AvroSchema",
        values={
            "by-id": "by their ids ((classic: %s))",
            "mixed-up": "by their ids, but not the values of later rows ((new: %s)); not simulated where it matters",
        },
        first="by-id",
        settings=("integrity-check-level",),
    )
