"""Behaviours of the events and texts of DDL statements."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.releases.behaviour import ON_THE_WIRE, section

TEXT = section(ON_THE_WIRE, "what a statement becomes")


@dataclass(frozen=True, init=False, eq=False, repr=False)
class StatementTextBehaviours:
    """The events and texts of DDL statements."""

    multi_schema_change: bool = TEXT(
        "Whether TiDB makes one job (61) of an ALTER TABLE with several specs",
        "ddl/multi_schema_change.go",
        when="6.2+; new",
    )
    foreign_key_index: bool = TEXT(
        "Whether ADD FOREIGN KEY on columns that begin no index adds that index too, both as one job 61",
        "ddl/ddl_api.go CreateForeignKey",
        when="6.5+; new",
    )
    foreign_key_checks: bool = TEXT(
        "Whether foreign keys are checked and followed when rows are written; before it they only stand in the "
        "definition",
        "tidb sessionctx/variable/tidb_vars.go",
        when="6.6+; new",
    )
    rename_renews_ids: bool = TEXT(
        "Whether a renamed table goes on with `_tidb_rowid` and AUTO_INCREMENT after the 30,000 that its TiDB "
        "had set aside; elsewhere it goes on with the next",
        "tidb infoschema/builder.go applyTableUpdate",
        when="4.0–7.5",
    )
    codes_search_indexes: bool = TEXT(
        "Whether a job whose text has ADD FULLTEXT INDEX (230) or begins with CREATE HYBRID INDEX (231) gets the "
        "code that TiCDC has for it, whatever TiDB's is",
        "logservice/schemastore/persist_storage.go handleDDLJob",
        when="new",
    )
    ddl_text: str = TEXT(
        "How the query is written",
        "cdc/changefeed.go",
        "tidb sessionctx/binloginfo AddSpecialComment",
        "cdc/owner/changefeed.go",
        "cdc/owner/ddl_sink.go addSpecialComment",
        "logservice/schemastore/utils.go",
        values={
            "raw": ("4.0–4.0.1", "as it was typed"),
            "marked": ("4.0.2–5.2.3, 5.3.0", "as typed, TiDB's features put in comments by regular expressions"),
            "restored": ("5.2.4–5.2, 5.3.1+; new", "from its syntax tree"),
        },
    )
    ddl_mark: str = TEXT(
        "What opens the comment around SHARD_ROW_ID_BITS and PRE_SPLIT_REGIONS in marked text",
        "tidb sessionctx/binloginfo",
        values={"": "4.0–4.0.1", "/*!90000 ": "4.0.2–4.0.4", "/*T! ": "4.0.5+; new"},
    )
    ddl_text_placement: bool = TEXT(
        "Whether placement clauses stay in a restored text", "cdc/owner/changefeed.go", when="4.0–5.4"
    )
    ddl_text_ttl_off: bool = TEXT(
        "Whether TTL_ENABLE is restored as 'OFF'", "cdc/owner/ddl_sink.go RestoreWithTTLEnableOff", when="7.0+; new"
    )
    ddl_text_charset: bool = TEXT(
        "Whether the job's charset is the introducer of string defaults, not always utf8mb4",
        "cdc/owner/ddl_sink.go",
        when="6.5.2–6.5, 7.1+; new",
    )
    ddl_text_mode: str = TEXT(
        "By which sql_mode a statement is read, to restore it or to find its event type",
        "cdc/owner/ddl_sink.go addSpecialComment",
        "logservice/schemastore/utils.go transformDDLJobQuery",
        values={
            "default": ("4.0–6.5.5, 6.6–7.1.2, 7.2–7.4", "by none of its modes, whatever the session's are"),
            "changefeed": ("6.5.6–6.5, 7.1.3–7.1, 7.5–7.6", "by the changefeed's `sql-mode`"),
            "job": ("8.0+; new", "by the session's"),
        },
    )
    ddl_text_joined: bool = TEXT(
        "Whether several statements in one job's text are sent joined by `;`; classic stops",
        "logservice/schemastore/utils.go transformDDLJobQuery",
        when="new",
    )
    rebuilds_drop: bool = TEXT(
        "Whether DROP TABLE and DROP VIEW are written anew, one per table with its database and without IF EXISTS",
        "cdc/model/sink.go FromJob",
        when="6.1+; new",
    )
    splits_renames: bool = TEXT(
        "Whether RENAME TABLE of several tables (47) becomes one RENAME (14) for each; in 5.4 and 6.0 it is one "
        "event without a table",
        "cdc/model/sink.go FromRenameTablesJob",
        when="6.1+; new",
    )
    renames_in_lower_case: bool = TEXT(
        "Whether the databases in RENAME of several tables are in lower case",
        "cdc/owner/schema.go parseRenameTables",
        when="6.1–6.2",
    )
    rebuilds_exchange: bool = TEXT(
        "Whether EXCHANGE PARTITION is written anew with its databases",
        "cdc/model/sink.go",
        when="6.5.4–6.5, 7.1.1+; new",
    )
    ddl_text_default_parentheses: bool = TEXT(
        "Whether a restored text has parentheses around a function as a default, other than CURRENT_TIMESTAMP",
        "tidb pkg/parser/ast/ddl.go",
        "tidb#52940",
        when="7.5.2–7.5, 8.1.1+; new",
    )
    exchange_keeps_validation: bool = TEXT(
        "Whether WITHOUT VALIDATION of a rebuilt EXCHANGE PARTITION stays",
        "cdc/model/sink.go",
        when="6.5.9–6.5, 7.1.5–7.1, 7.5.2–7.5, 8.1+; new",
    )
    create_tables_code: int = TEXT(
        "Type code of the events that CREATE TABLES (60) is split into",
        "cdc/entry/schema_storage.go BuildDDLEvents",
        "pkg/common/event/ddl_event.go GetEvents",
        then="; 0 where 60 is not replicated.",
        values={0: "4.0–8.1", 60: "8.2+", 3: "new"},
    )
    keeps_statement_end: bool = TEXT(
        "Whether the parts of a RENAME or CREATE of several tables end in `;`",
        "pkg/common/event/ddl_event.go",
        when="new",
    )
    escapes_rebuilt_names: bool = TEXT(
        "Whether back-quotes in names of rebuilt DROP and EXCHANGE PARTITION statements are doubled",
        "logservice/schemastore/persist_storage_ddl_handlers.go",
        when="new 8.5.6+",
    )
    restores_rebuilt: bool = TEXT(
        "Whether a statement that TiCDC writes anew is restored as others are; elsewhere it is sent as it is written",
        "cdc/owner/ddl_sink.go addSpecialComment",
        "logservice/schemastore/persist_storage_ddl_handlers.go",
        when="classic",
    )
    rebuilds_rename: bool = TEXT(
        "Whether a RENAME of one table is written anew, too, and event filters and errors have what is written "
        "for all pairs; classic keeps the statement",
        "logservice/schemastore/persist_storage_ddl_handlers.go buildPersistedDDLEventForRenameTable",
        when="new",
    )
    rename_as_written: bool = TEXT(
        "Whether a rebuilt RENAME spells its tables as the statement does; classic as they are called",
        "logservice/schemastore/persist_storage_ddl_handlers.go",
        "cdc/model/sink.go FromRenameTablesJob",
        when="new",
    )
    rename_quotes_names: bool = TEXT(
        "Whether back-quotes in the names of a rebuilt RENAME are doubled",
        "logservice/schemastore/persist_storage_ddl_handlers.go",
        when="new 8.5.6+",
    )
    rename_keeps_schemas: bool = TEXT(
        "Whether a rebuilt RENAME of several tables has the schemas that the statement names, as it spells them",
        "logservice/schemastore/persist_storage_ddl_handlers.go buildPersistedDDLEventForRenameTables",
        when="new 8.5.6+",
    )
    rename_finds_old_schema: bool = TEXT(
        "Whether a RENAME of one table that names no schema gets the old schema as it is spelled",
        "logservice/schemastore",
        when="new 8.5.7+",
    )
    rename_event_in_lower_case: bool = TEXT(
        "Whether the event of a RENAME of one table has its new database in lower case, as TiDB's job has it; "
        "not in new",
        "cdc/entry/schema/snapshot.go FillSchemaName",
        when="6.5.4–6.5, 7.1.2–7.1, 7.4+",
    )
    exchange_from_restored: bool = TEXT(
        "Whether the partition and WITHOUT VALIDATION of a rebuilt EXCHANGE PARTITION are looked for in the "
        "restored text; classic looks in the text as it was typed",
        "logservice/schemastore/persist_storage_ddl_handlers.go buildPersistedDDLEventForExchangePartition",
        "cdc/model/sink.go",
        when="new",
    )
    exchange_keeps_quotes: bool = TEXT(
        "Whether back-quotes in the name of that partition stay",
        "logservice/schemastore/persist_storage_ddl_handlers.go buildPersistedDDLEventForExchangePartition",
        when="new 8.5.7+",
    )
    parses_index_splits: bool = TEXT(
        "Whether TiCDC can parse PRE_SPLIT_REGIONS of an index; TiDB has it from 8.5.0 on",
        "tidb go.mod",
        "tiflow issue 11927",
        when="8.5.6+; new 8.5.6+, 9.0.0-beta.1, 9.0.0-beta.2.pre",
    )
    create_like_finds_schema: bool = TEXT(
        "Whether CREATE TABLE … LIKE gets the schema of the other table, where it names none and that is another one",
        "logservice/schemastore/persist_storage_ddl_handlers.go setReferTableForCreateTableLike",
        when="new 8.5.7+",
    )
    view_finds_schemas: bool = TEXT(
        "Whether CREATE VIEW over tables of other schemas has the query that TiDB keeps, which names them",
        "pkg/common/event/ddl_query_normalizer.go",
        when="new 8.5.7+",
    )
