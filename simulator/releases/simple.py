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
        "Whether a column without a default has the default of its older rows in Simple's table schemas ((up to 7.5.5, "
        "8.0–8.5.1: %s))",
        "cdc/model/schema_storage.go GetColumnDefaultValue",
        first=True,
    )
    simple_partition_ids: bool = SIMPLE(
        "Whether `tableID` of Simple's rows is that of the partition ((7.5.5+, 8.1.2, 8.5+: %s)); elsewhere the table's",
        "pkg/sink/codec/simple/message.go newDMLMessage",
    )
    simple_bootstraps_partitions: bool = SIMPLE(
        "Whether each partition of a table has its own BOOTSTRAP in Simple ((classic 7.6+: %s)); elsewhere the table has "
        "one",
        "pkg/sink/codec/bootstraper.go addEvent",
    )
    simple_implicit_primary: bool = SIMPLE(
        "Whether Simple's table schemas show a unique key of NOT NULL columns as the primary key, too, where a table "
        "has none ((7.5, 8.1.1+: %s))",
        "cdc/model/schema_storage.go GetPrimaryKeyColumnNames",
        first=True,
    )
    simple_location: str = SIMPLE(
        "The `location` beside each TIMESTAMP in Simple, the time zone of a server in UTC ((%s)); empty if a TIMESTAMP "
        "is a plain text ((7.6)), and `Local` whatever that zone is ((7.5))",
        "pkg/sink/codec/common/config.go NewConfig",
        first="Local",
    )
    simple_sorts_columns: bool = SIMPLE(
        "Whether the columns in Simple's table schemas are ordered by their ids ((classic: %s)); elsewhere they are in "
        "table order",
        "pkg/sink/codec/simple/message.go newTableSchema",
        first=True,
    )
    simple_sorted: str = SIMPLE(
        "What Simple takes from another column, where columns are not in the order of their ids",
        "pkg/sink/codec/simple/message.go newTableSchema",
        "cdc/model/schema_storage.go GetColumnInfo",
        values={
            "": "nothing",
            "types": "the type, behind a virtual column, or once a BOOTSTRAP is sent ((7.5.2–7.5.7: %s))",
            "names": "the name, in Avro the type, too, once a BOOTSTRAP of the schema version is sent ((classic 8.0+: %s))",
        },
        first="",
    )
    simple_short_escapes: bool = SIMPLE(
        r"Whether Simple writes U+0008 and U+000C as `\b` and `\f` ((%s from Go 1.22: classic 8.4+, new))",
        "encoding/json",
    )
    simple_float_exponents: bool = SIMPLE(
        "Whether Simple in JSON writes large and small FLOAT and DOUBLE with exponents ((new up to 8.5.5: %s))",
        "pkg/sink/codec/simple/message.go encodeValue",
    )
    simple_bit_texts: bool = SIMPLE(
        "Whether Simple in Avro writes BIT as a string ((new: %s)); elsewhere it is a long",
        "pkg/sink/codec/simple/message.go encodeValue4Avro",
        settings=("encoding-format",),
    )
    simple_timestamp_scale: bool = SIMPLE(
        "Whether Simple's Avro schemas say `decimal` of a TIMESTAMP ((new: %s))",
        "pkg/sink/codec/simple/avro.go newTableSchemaMap",
        settings=("encoding-format",),
    )
    simple_bootstrap_ids: bool = SIMPLE(
        "Whether a statement on partitions gives each partition a BOOTSTRAP of its own, with its id, until the next "
        "statement on the table ((new 8.5.4–8.5.5: %s))",
        "logservice/schemastore/persist_storage_ddl_handlers.go buildDDLEventCommonWithTableID",
    )
    simple_start_bootstraps: str = SIMPLE(
        "Which BOOTSTRAPs send-all-bootstrap-at-start brings",
        "cdc/owner/ddl_manager.go trySendBootstrap",
        "downstreamadapter/dispatcher/event_dispatcher.go EmitBootstrap",
        values={
            "tables": "one of each table, in its topic, if BOOTSTRAP is sent with rows ((classic: %s))",
            "partitions": "one for each partition of a table, in the default topic, in any case ((new: ticdc %s))",
        },
        first="tables",
        settings=("send-all-bootstrap-at-start",),
    )
    simple_first_form: bool = SIMPLE(
        "Whether Simple has its first form ((7.6: %s)): no `tableID`, `schema` for `database`, one type `DDL` of all "
        "statements, members of ENUM and SET by name, another schema in Avro, and the old name of a renamed table in "
        "BOOTSTRAP",
        "pkg/sink/codec/simple/message.go",
    )
    simple_first_partition: bool = SIMPLE(
        "Whether BOOTSTRAP goes to the first partition alone ((7.6: %s)); elsewhere send-bootstrap-to-all-partition says "
        "so",
        "pkg/sink/codec/bootstraper.go generateEvents",
    )
    simple_virtual_columns: bool = SIMPLE(
        "Whether Simple has columns that are generated virtually, as null ((9.0.0-beta.2: %s))",
        "pkg/sink/codec/simple/message.go formatColumns",
    )
    simple_decimal_signs: bool = SIMPLE(
        "Whether Simple's Avro schemas say `unsigned` and `zerofill` of a DECIMAL ((7.5.2+, 8.1.1+, not 7.6 and 8.0: "
        "%s))",
        "pkg/sink/codec/simple/avro.go newTableSchemaMap",
    )
    simple_exchange_alters: bool = STATEMENTS(
        "Whether the type of EXCHANGE PARTITION in Simple is ALTER ((new: %s)); elsewhere QUERY",
        "pkg/sink/codec/simple/message.go getDDLType",
    )
    simple_tells_before: bool = STATEMENTS(
        "Whether every statement on a table that was there has `preTableSchema` in Simple ((classic: %s)); elsewhere "
        "EXCHANGE PARTITION alone has it",
        "pkg/sink/codec/simple/message.go newDDLMessage",
        first=True,
    )
