"""Behaviours of the messages of single protocols: Avro, Debezium, Simple, and Maxwell."""

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
            "record": ("new 26.3.4–26.3", "its key, and with avro-enable-watermark a record of the key; not simulated"),
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


SIMPLE = section(ON_THE_WIRE, "messages of Simple", "simple")
STATEMENTS = section(ON_THE_WIRE, "statements of Simple", "simple")


@dataclass(frozen=True, init=False, eq=False, repr=False)
class SimpleBehaviours:
    """Simple's messages."""

    simple_origin_defaults: bool = SIMPLE(
        "Whether a column without a default has the default of its older rows in Simple's table schemas",
        "cdc/model/schema_storage.go GetColumnDefaultValue",
        when="4.0–7.5.5, 7.6–8.5.1",
    )
    simple_partition_ids: bool = SIMPLE(
        "Whether `tableID` of Simple's rows is that of the partition; elsewhere the table's",
        "pkg/sink/codec/simple/message.go newDMLMessage",
        when="7.5.5–7.5, 8.1.2–8.1, 8.5+; new",
    )
    simple_bootstraps_partitions: bool = SIMPLE(
        "Whether each partition of a table has its own BOOTSTRAP in Simple; elsewhere the table has one",
        "pkg/sink/codec/bootstraper.go addEvent",
        when="7.6+",
    )
    simple_implicit_primary: bool = SIMPLE(
        "Whether Simple's table schemas show a unique key of NOT NULL columns as the primary key, too, where a "
        "table has none",
        "cdc/model/schema_storage.go GetPrimaryKeyColumnNames",
        when="4.0–7.5, 8.1.1+; new",
    )
    simple_location: str = SIMPLE(
        "The `location` beside each TIMESTAMP in Simple, the time zone of a server in UTC; empty if a TIMESTAMP "
        "is a plain text, and `Local` whatever that zone is",
        "pkg/sink/codec/common/config.go NewConfig",
        values={"Local": "4.0–7.5", "": "7.6", "Etc/UTC": "8.0+; new"},
    )
    simple_sorts_columns: bool = SIMPLE(
        "Whether the columns in Simple's table schemas are ordered by their ids; elsewhere they are in table order",
        "pkg/sink/codec/simple/message.go newTableSchema",
        when="classic",
    )
    simple_sorted: str = SIMPLE(
        "What Simple takes from another column, where columns are not in the order of their ids",
        "pkg/sink/codec/simple/message.go newTableSchema",
        "cdc/model/schema_storage.go GetColumnInfo",
        values={
            "": ("4.0–7.5.1, 7.6; new", "nothing"),
            "types": ("7.5.2–7.5", "the type, behind a virtual column, or once a BOOTSTRAP is sent"),
            "names": ("8.0+", "the name, in Avro the type, too, once a BOOTSTRAP of the schema version is sent"),
        },
    )
    simple_short_escapes: bool = SIMPLE(
        "Whether Simple writes U+0008 and U+000C as `\\b` and `\\f`", "encoding/json", when="8.4+; new"
    )
    simple_float_exponents: bool = SIMPLE(
        "Whether Simple in JSON writes large and small FLOAT and DOUBLE with exponents",
        "pkg/sink/codec/simple/message.go encodeValue",
        when="new 8.5–8.5.5, 9.0.0-beta.1, 9.0.0-beta.2.pre",
    )
    simple_bit_texts: bool = SIMPLE(
        "Whether Simple in Avro writes BIT as a string; elsewhere it is a long",
        "pkg/sink/codec/simple/message.go encodeValue4Avro",
        settings=("encoding-format",),
        when="new",
    )
    simple_timestamp_scale: bool = SIMPLE(
        "Whether Simple's Avro schemas say `decimal` of a TIMESTAMP",
        "pkg/sink/codec/simple/avro.go newTableSchemaMap",
        settings=("encoding-format",),
        when="new",
    )
    simple_bootstrap_ids: bool = SIMPLE(
        "Whether a statement on partitions gives each partition a BOOTSTRAP of its own, with its id, until the "
        "next statement on the table",
        "logservice/schemastore/persist_storage_ddl_handlers.go buildDDLEventCommonWithTableID",
        when="new 8.5–8.5.5",
    )
    simple_start_bootstraps: str = SIMPLE(
        "Which BOOTSTRAPs send-all-bootstrap-at-start brings",
        "cdc/owner/ddl_manager.go trySendBootstrap",
        "downstreamadapter/dispatcher/event_dispatcher.go EmitBootstrap",
        settings=("send-all-bootstrap-at-start",),
        values={
            "tables": ("classic", "one of each table, in its topic, if BOOTSTRAP is sent with rows"),
            "partitions": ("new", "one for each partition of a table, in the default topic, in any case"),
        },
    )
    simple_first_form: bool = SIMPLE(
        "Whether Simple has its first form: no `tableID`, `schema` for `database`, one type `DDL` of all "
        "statements, members of ENUM and SET by name, another schema in Avro, and the old name of a renamed "
        "table in BOOTSTRAP",
        "pkg/sink/codec/simple/message.go",
        when="7.6",
    )
    simple_first_partition: bool = SIMPLE(
        "Whether BOOTSTRAP goes to the first partition alone; elsewhere send-bootstrap-to-all-partition says so",
        "pkg/sink/codec/bootstraper.go generateEvents",
        when="7.6",
    )
    simple_virtual_columns: bool = SIMPLE(
        "Whether Simple has columns that are generated virtually, as null",
        "pkg/sink/codec/simple/message.go formatColumns",
        when="new 9.0.0-beta.1, 9.0.0-beta.2.pre",
    )
    simple_decimal_signs: bool = SIMPLE(
        "Whether Simple's Avro schemas say `unsigned` and `zerofill` of a DECIMAL",
        "pkg/sink/codec/simple/avro.go newTableSchemaMap",
        when="7.5.2–7.5, 8.1.1+; new",
    )
    simple_exchange_alters: bool = STATEMENTS(
        "Whether the type of EXCHANGE PARTITION in Simple is ALTER; elsewhere QUERY",
        "pkg/sink/codec/simple/message.go getDDLType",
        when="new",
    )
    simple_tells_before: bool = STATEMENTS(
        "Whether every statement on a table that was there has `preTableSchema` in Simple; elsewhere EXCHANGE "
        "PARTITION alone has it",
        "pkg/sink/codec/simple/message.go newDDLMessage",
        when="classic",
    )


MAXWELL = section(ON_THE_WIRE, "rows and statements in Maxwell", "maxwell")


@dataclass(frozen=True, init=False, eq=False, repr=False)
class MaxwellBehaviours:
    """Messages in Maxwell's format."""

    maxwell_lengths: bool = MAXWELL(
        "Whether Maxwell has lengths before its keys and values, all old values, and texts in base64; not simulated",
        "cdc/sink/codec/maxwell.go AppendRowChangedEvent",
        when="4.0–4.0.9",
    )
    maxwell_batches: bool = MAXWELL(
        "Whether the rows of a flush that have one partition key share a message in Maxwell, one object after "
        "the other and however many; before, each row is a message",
        "pkg/sink/codec/maxwell/maxwell_encoder.go Build",
        when="6.0+; new",
    )
    maxwell_crashes_on_databases: bool = MAXWELL(
        "Whether TiCDC crashes in Maxwell at a statement on a database, which has no table",
        "pkg/sink/codec/maxwell/maxwell_message.go ddlEventToMaxwellMsg",
        when="6.4+; new",
    )
