"""Behaviours of Simple messages."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.releases.behaviour import ON_THE_WIRE, section

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
        when="7.5.5–7.5, 8.1.2, 8.5+; new",
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
