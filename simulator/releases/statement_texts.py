"""Behaviours of the events and texts of DDL statements."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.releases.behaviour import ON_THE_WIRE, section

TEXT = section(ON_THE_WIRE, "what a statement becomes")


@dataclass(frozen=True, init=False, eq=False, repr=False)
class StatementTextBehaviours:
    """The events and texts of DDL statements."""

    multi_schema_change: bool = TEXT(
        "Whether TiDB makes one job (61) of an ALTER TABLE with several specs ((TiDB 6.2+: %s))",
        "ddl/multi_schema_change.go",
    )
    foreign_key_index: bool = TEXT(
        "Whether ADD FOREIGN KEY on columns that begin no index adds that index too, both as one job 61 ((TiDB 6.5+: "
        "%s))",
        "ddl/ddl_api.go CreateForeignKey",
    )
    foreign_key_checks: bool = TEXT(
        "Whether foreign keys are checked and followed when rows are written ((TiDB 6.6+: tidb_enable_foreign_key is "
        "on by default, tidb %s)); before it they only stand in the definition",
        "sessionctx/variable/tidb_vars.go",
    )
    rename_renews_ids: bool = TEXT(
        "Whether a renamed table goes on with `_tidb_rowid` and AUTO_INCREMENT after the 30,000 that its TiDB had "
        "set aside ((up to 7.5: tidb %s)); elsewhere it goes on with the next ((7.6+))",
        "infoschema/builder.go applyTableUpdate",
        first=True,
    )
    codes_search_indexes: bool = TEXT(
        "Whether a job whose text has ADD FULLTEXT INDEX (230) or begins with CREATE HYBRID INDEX (231) gets the "
        "code that TiCDC has for it, whatever TiDB's is ((new: %s))",
        "logservice/schemastore/persist_storage.go handleDDLJob",
    )
    ddl_text: str = TEXT(
        "How the query is written",
        "cdc/changefeed.go",
        "sessionctx/binloginfo AddSpecialComment",
        "cdc/owner/changefeed.go",
        "cdc/owner/ddl_sink.go addSpecialComment",
        "logservice/schemastore/utils.go",
        values={
            "raw": "as it was typed ((4.0.0, 4.0.1))",
            "marked": "as typed, TiDB's features put in comments by regular expressions ((4.0.2+: %s, tidb %s))",
            "restored": "from its syntax tree ((5.2.4, 5.3.1+: %s, 6.5+ %s; new: %s))",
        },
        first="raw",
    )
    ddl_mark: str = TEXT(
        "What opens the comment around SHARD_ROW_ID_BITS and PRE_SPLIT_REGIONS in marked text",
        "sessionctx/binloginfo",
        then=": `/*!90000 ` in 4.0.2–4.0.4, `/*T! ` from 4.0.5 (tidb %s).",
        first="",
    )
    ddl_text_placement: bool = TEXT(
        "Whether placement clauses stay in a restored text ((before 6.0, whose %s sets SkipPlacementRuleForRestore))",
        "cdc/owner/changefeed.go",
        first=True,
    )
    ddl_text_ttl_off: bool = TEXT(
        "Whether TTL_ENABLE is restored as 'OFF' ((7.0+: %s))", "cdc/owner/ddl_sink.go RestoreWithTTLEnableOff"
    )
    ddl_text_charset: bool = TEXT(
        "Whether the job's charset is the introducer of string defaults ((6.5.2+, 7.1+: %s)), not always utf8mb4",
        "cdc/owner/ddl_sink.go",
    )
    ddl_text_mode: str = TEXT(
        "By which sql_mode a statement is read, to restore it or to find its event type",
        "cdc/owner/ddl_sink.go addSpecialComment",
        "logservice/schemastore/utils.go transformDDLJobQuery",
        values={
            "default": "by none of its modes, whatever the session's are",
            "changefeed": "by the changefeed's `sql-mode` ((6.5.6+, 7.1.3+, 7.5.0–7.6.0: %s))",
            "job": "by the session's ((8.0+: there; new: %s))",
        },
        first="default",
    )
    ddl_text_joined: bool = TEXT(
        "Whether several statements in one job's text are sent joined by `;` ((new: %s)); classic stops",
        "logservice/schemastore/utils.go transformDDLJobQuery",
    )
    rebuilds_drop: bool = TEXT(
        "Whether DROP TABLE and DROP VIEW are written anew, one per table with its database and without IF EXISTS "
        "((6.1+: %s))",
        "cdc/model/sink.go FromJob",
    )
    splits_renames: bool = TEXT(
        "Whether RENAME TABLE of several tables (47) becomes one RENAME (14) for each ((6.1+: %s)); in 5.4 and 6.0 "
        "it is one event without a table",
        "cdc/model/sink.go FromRenameTablesJob",
    )
    renames_in_lower_case: bool = TEXT(
        "Whether the databases in RENAME of several tables are in lower case ((6.1, 6.2: %s))",
        "cdc/owner/schema.go parseRenameTables",
    )
    rebuilds_exchange: bool = TEXT(
        "Whether EXCHANGE PARTITION is written anew with its databases ((6.5.4+, 7.1.1+: %s))", "cdc/model/sink.go"
    )
    ddl_text_default_parentheses: bool = TEXT(
        "Whether a restored text has parentheses around a function as a default, other than CURRENT_TIMESTAMP ((7.5.2+, "
        "8.1.1+: go.mod, TiDB's parser %s; tidb#52940))",
        "pkg/parser/ast/ddl.go",
    )
    exchange_keeps_validation: bool = TEXT(
        "Whether WITHOUT VALIDATION of a rebuilt EXCHANGE PARTITION stays ((6.5.9+, 7.1.5+, 7.5.2+, 8.1+: %s))",
        "cdc/model/sink.go",
    )
    create_tables_code: int = TEXT(
        "Type code of the events that CREATE TABLES (60) is split into",
        "cdc/entry/schema_storage.go BuildDDLEvents",
        "pkg/common/event/ddl_event.go GetEvents",
        then=": 60 (8.2+: %s) or 3 (new: %s); 0 where 60 is not replicated.",
        first=0,
    )
    keeps_statement_end: bool = TEXT(
        "Whether the parts of a RENAME or CREATE of several tables end in `;` ((new: %s))",
        "pkg/common/event/ddl_event.go",
    )
    escapes_rebuilt_names: bool = TEXT(
        "Whether back-quotes in names of rebuilt DROP and EXCHANGE PARTITION statements are doubled ((new from "
        "8.5.6: %s))",
        "logservice/schemastore/persist_storage_ddl_handlers.go",
    )
    restores_rebuilt: bool = TEXT(
        "Whether a statement that TiCDC writes anew is restored as others are ((classic: %s)); elsewhere it is sent "
        "as it is written ((new: %s))",
        "cdc/owner/ddl_sink.go addSpecialComment",
        "logservice/schemastore/persist_storage_ddl_handlers.go",
        first=True,
    )
    rebuilds_rename: bool = TEXT(
        "Whether a RENAME of one table is written anew, too, and event filters and errors have what is written for "
        "all pairs ((new: %s)); classic keeps the statement",
        "logservice/schemastore/persist_storage_ddl_handlers.go buildPersistedDDLEventForRenameTable",
    )
    rename_as_written: bool = TEXT(
        "Whether a rebuilt RENAME spells its tables as the statement does ((new: %s)); classic as they are called "
        "((%s))",
        "logservice/schemastore/persist_storage_ddl_handlers.go",
        "cdc/model/sink.go FromRenameTablesJob",
    )
    rename_quotes_names: bool = TEXT(
        "Whether back-quotes in the names of a rebuilt RENAME are doubled ((new from 8.5.6: %s))",
        "logservice/schemastore/persist_storage_ddl_handlers.go",
    )
    rename_keeps_schemas: bool = TEXT(
        "Whether a rebuilt RENAME of several tables has the schemas that the statement names, as it spells them "
        "((new from 8.5.6: %s))",
        "logservice/schemastore/persist_storage_ddl_handlers.go buildPersistedDDLEventForRenameTables",
    )
    rename_finds_old_schema: bool = TEXT(
        "Whether a RENAME of one table that names no schema gets the old schema as it is spelled ((new from 8.5.7: "
        "%s))",
        "logservice/schemastore",
    )
    rename_event_in_lower_case: bool = TEXT(
        "Whether the event of a RENAME of one table has its new database in lower case, as TiDB's job has it "
        "((6.5.4+, 7.1.2+, 7.4+: %s)); not in new",
        "cdc/entry/schema/snapshot.go FillSchemaName",
    )
    exchange_from_restored: bool = TEXT(
        "Whether the partition and WITHOUT VALIDATION of a rebuilt EXCHANGE PARTITION are looked for in the restored "
        "text ((new: %s)); classic looks in the text as it was typed ((%s))",
        "logservice/schemastore/persist_storage_ddl_handlers.go buildPersistedDDLEventForExchangePartition",
        "cdc/model/sink.go",
    )
    exchange_keeps_quotes: bool = TEXT(
        "Whether back-quotes in the name of that partition stay ((new from 8.5.7: %s))",
        "logservice/schemastore/persist_storage_ddl_handlers.go buildPersistedDDLEventForExchangePartition",
    )
    parses_index_splits: bool = TEXT(
        "Whether TiCDC can parse PRE_SPLIT_REGIONS of an index ((classic 8.5.6+, new 8.5.6+, 26.3.1+ and the betas of "
        "9.0: tidb parser of %s; tiflow issue 11927)); TiDB has it from 8.5.0 on",
        "go.mod",
    )
    create_like_finds_schema: bool = TEXT(
        "Whether CREATE TABLE … LIKE gets the schema of the other table, where it names none and that is another one "
        "((new from 8.5.7: %s))",
        "logservice/schemastore/persist_storage_ddl_handlers.go setReferTableForCreateTableLike",
    )
    view_finds_schemas: bool = TEXT(
        "Whether CREATE VIEW over tables of other schemas has the query that TiDB keeps, which names them ((new from "
        "8.5.7: %s))",
        "pkg/common/event/ddl_query_normalizer.go",
    )
