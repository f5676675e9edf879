"""Behaviours of the sending and filtering of DDL statements."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.releases import option_names
from simulator.releases.behaviour import ON_THE_WIRE, section

SENDING = section(ON_THE_WIRE, "where and how a statement goes")
FILTER = section("what is sent at all", "which statements are sent")
RESTART = section("what is sent at all", "what a restart sends again")
EVENTS = section("what is sent at all", "event filters", settings=("event-filters",))


@dataclass(frozen=True, init=False, eq=False, repr=False)
class StatementBehaviours:
    """The sending and filtering of DDL statements."""

    single_table_ddl: frozenset[int] = SENDING(
        "Action types that hold back only their own table, not all of them",
        "cdc/owner/ddl_manager.go nonGlobalDDLs",
        elements={
            "6.5.2–6.5, 7.0+; new": {5, 6, 7, 8, 11, 12, 13, 15, 17, 18, 21, 22, 24, 32, 33, 41, 61, 65, 67},
            "6.5.2–6.5, 7.0+": {4, 19, 20, 23, 25, 64, 71, 72},
            "new": {14, 37, 38},
        },
    )
    watermark_after_ddl: bool = SENDING(
        "Whether a watermark follows a DDL at once", "cdc/owner/ddl_sink.go", when="6.1+; new"
    )
    exchange_event_of_plain: bool = SENDING(
        "Whether the event of EXCHANGE PARTITION is the plain table's, in the topic of the partitioned one; "
        "classic the other way round",
        "logservice/schemastore/persist_storage_ddl_handlers.go buildDDLEventForExchangeTablePartition",
        when="new",
    )
    canal_ddl_in_partition_0: bool = SENDING(
        "Whether Canal-JSON's DDL goes to partition 0 alone",
        "cdc/sink/mq.go",
        "cdc/sink/**/mq",
        protocols=("canal-json",),
        sink="kafka",
        when="5.4+; new",
    )
    tidb_extension: bool = SENDING(
        "Whether Canal-JSON knows `enable-tidb-extension`",
        "cdc/sink/codec/canal_flat.go",
        then=": `_tidb` and watermarks.",
        protocols=("canal-json",),
        settings=("enable-tidb-extension",),
        when="5.4+; new",
    )
    canal_build_time: bool = SENDING(
        "Whether Canal-JSON's `ts` is the time of encoding; 0 before",
        "cdc/sink/codec/canal_flat.go",
        protocols=("canal-json",),
        when="5.4+; new",
    )
    canal_renames: frozenset[int] = SENDING(
        "Action types that are Canal-JSON's RENAME",
        "pkg/sink/codec/canal/canal_entry.go convertDdlEventType",
        protocols=("canal-json",),
        elements={"classic; new": {14}, "5.4+; new": {47}},
    )
    canal_alters: frozenset[int] = SENDING(
        "Action types that are Canal-JSON's ALTER",
        "pkg/sink/codec/canal/canal_entry.go",
        protocols=("canal-json",),
        elements={
            "classic; new": {5, 6, 12, 13, 15, 17, 18, 19, 20, 22, 23, 37, 38},
            "6.2+; new": {41, 61},
            "7.0+; new": {64},
            "7.4+; new": {71, 72},
        },
    )
    open_empty_names: bool = SENDING(
        "Whether a DDL's key in Open Protocol has `scm` and `tbl` where they are empty",
        "pkg/sink/codec/open/codec.go",
        protocols=("open-protocol",),
        when="new",
    )
    open_escapes_html: bool = SENDING(
        "Whether Open Protocol escapes `<`, `>`, `&`, U+2028, U+2029 and invalid UTF-8; the new architecture's "
        "writer does not",
        "encoding/json",
        "pkg/util/json_writer.go",
        protocols=("open-protocol",),
        when="classic",
    )
    allowed_ddl: frozenset[int] = FILTER(
        "Action types that are replicated at all",
        "pkg/filter/filter.go",
        "pkg/filter/ddl.go",
        elements={
            "classic; new": {1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 14, 15, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 32, 33},
            "4.0.5+; new": {37, 38},
            "5.4+; new": {47},
            "6.2+; new": {13, 41, 61},
            "6.3+; new": {42},
            "7.0+; new": {64, 65, 67},
            "7.4+; new": {71, 72},
            "8.2+; new": {60},
            "8.5.4+; new 8.5+": {9, 10},
            "new 8.5+, 9.0.0-beta.2.pre": {230},
            "new 8.5+": {231},
        },
    )
    sends_rewritten_rows: bool = FILTER(
        "Whether the rows that MODIFY COLUMN writes again, in transactions of 256 before the statement, are sent "
        "as UPDATEs without a difference; TiKV hides them elsewhere, and TiDB before does not change a type",
        "tidb ddl/column.go updateColumnWorker",
        "tiflow issues 2434 and 8686",
        when="5.1–6.5.2, 6.6–7.0",
    )
    partition_ddl_loses_rows: bool = FILTER(
        "Whether ADD, DROP or TRUNCATE PARTITION of a table without a valid index makes its partitions "
        "ineligible, although force-replicate is on, so that its later rows are lost",
        "cdc/entry/schema_storage.go updatePartition",
        "tiflow issue 2834",
        settings=("force-replicate",),
        when="4.0–4.0.15, 5.0–5.0.5, 5.1–5.1.3, 5.2–5.2.1",
    )
    eligibility: str = FILTER(
        "What becomes of a DDL on a table without a valid index, without force-replicate",
        "cdc/entry/schema_storage.go",
        "cdc/owner",
        "cdc/entry/schema/snapshot.go",
        "cdc/puller/ddl_puller.go checkIneligibleTableDDL",
        "pkg/filter/filter.go",
        values={
            "stays": (
                "4.0–5.1.4, 5.2–6.0",
                "a table that once had none is ignored until it is dropped, its DROP TABLE is sent",
            ),
            "after": ("5.1.5–5.1, 6.1–6.5.9, 6.6–7.1.5, 7.2–7.5.1, 7.6–8.0", "the table after the DDL decides"),
            "error": (
                "6.5.10–6.5, 7.1.6–7.1, 7.5.2–7.5, 8.1+",
                "so, but a changefeed error where the DDL takes the last valid index away",
            ),
            "silent": ("new", "by the table after, or the one dropped"),
        },
    )
    rename_filter: str = FILTER(
        "How the table filter decides about RENAME",
        "cdc/puller/ddl_puller.go handleJob",
        "logservice/schemastore",
        values={
            "new-name": ("4.0–6.2", "by the new name"),
            "new-schema": ("6.3–6.5.3, 6.6–7.1.1, 7.2–7.3", "one pair by the old table's name in the new schema"),
            "old-name": ("6.5.4–6.5, 7.1.2–7.1, 7.4+", "by the old name, an error where only the new one matches"),
            "names-alone": ("new", "so, but no snapshot of tables is asked, and names may be swapped"),
        },
    )
    rename_errors_wrapped: frozenset[str] = FILTER(
        "Which errors of a RENAME are inside of a CDC:ErrHandleDDLFailed",
        "cdc/puller/ddl_puller.go",
        then=": of `one` pair that enters the filter, of `several`, of the schema `snapshot`.",
        elements={
            "6.5.4–6.5, 7.1.2–7.1, 7.4–7.5.1, 7.5.7+": {"snapshot"},
            "6.5.4–6.5, 7.1.2–7.1.5, 7.4–7.5.1, 7.5.7+": {"several"},
            "6.5.4–6.5.9, 7.1.2–7.1.5, 7.4–7.5.1, 7.6–8.0": {"one"},
        },
    )
    rename_error_values: str = FILTER(
        "What a RENAME inside of a CDC:ErrHandleDDLFailed says of its job",
        "pkg/errors/cdc_errors.go ErrHandleDDLFailed",
        values={
            "query": ("4.0–6.5.3, 6.6–7.1.1, 7.2–7.3, 7.5.2–7.5.6, 7.6+; new", "query and start-ts"),
            "job": ("6.5.4–6.5.9, 7.1.2–7.1.5, 7.4–7.5.1", "the job as TiDB prints it, too"),
            "shifted": ("6.5.10–6.5, 7.1.6–7.1, 7.5.7–7.5", "each value one place too early, the job being left out"),
        },
    )
    create_like_waits: bool = FILTER(
        "Whether CREATE TABLE … LIKE waits forever for a table that the filter leaves out",
        "logservice/schemastore/persist_storage_ddl_handlers.go buildDDLEventForNewTableDDL",
        "ticdc issue 5150",
        when="new 8.5.5–8.5.7, 26.3+",
    )
    exchange_passes_by_either: bool = FILTER(
        "Whether EXCHANGE PARTITION passes the table filter where one of its tables does; classic asks it for "
        "the database of the plain table and the name of the partitioned one",
        "logservice/schemastore/persist_storage_ddl_handlers.go buildDDLEventForExchangeTablePartition",
        when="new",
    )
    start_ts_discards_ddl: bool = FILTER(
        "Whether a DDL in ignore-txn-start-ts leaves TiCDC's schema as it was; elsewhere it is not sent, but applied",
        "pkg/filter/filter.go ShouldDiscardDDL",
        settings=("ignore-txn-start-ts",),
        when="6.5.4–6.5.7, 7.1.2–7.1.3, 7.4–7.5.0, 7.5.7–7.6, 8.5.4+",
    )
    system_schemas: frozenset[str] = FILTER(
        "Databases that are never replicated, in upper case and compared so",
        "pkg/filter/utils.go IsSysSchema",
        "tidb pkg/util/filter/schema.go",
        elements={
            "classic; new": {"INFORMATION_SCHEMA", "MYSQL", "PERFORMANCE_SCHEMA"},
            "4.0–4.0.4": {"METRIC_SCHEMA"},
            "4.0.5+; new": {"DM_HEARTBEAT", "INSPECTION_SCHEMA", "METRICS_SCHEMA", "SYS"},
        },
    )
    cdc_schemas: frozenset[str] = FILTER(
        "Databases of TiCDC's and Lightning's own that are never replicated",
        "pkg/filter/utils.go",
        elements={
            "6.5.9–6.5, 7.1.4–7.1, 7.5.1–7.5, 8.0+; new": {"tidb_cdc"},
            "8.2+; new": {"lightning_task_info"},
            "new 8.5+, 9.0.0-beta.2.pre": {"workload_schema"},
        },
    )
    cdc_schemas_in_any_case: bool = FILTER(
        "Whether databases of TiCDC's and Lightning's own are compared in lower case, not as they are written",
        "pkg/filter/utils.go",
        when="new 8.5+",
    )
    event_filter_names: frozenset[str] = EVENTS(
        "What `ignore-event` accepts",
        "pkg/filter/sql_event_filter.go SupportedEventTypes",
        then="; empty: no event filters.",
        elements={
            "6.2+; new": option_names.EVENTS_BY_SQL,
            "8.0+; new": option_names.EVENTS_BY_ACTION,
            "8.5.4+; new 8.5+": option_names.FOREIGN_KEY_EVENTS,
            "new 8.5+, 9.0.0-beta.2.pre": {"add fulltext index"},
            "new 8.5+": {"create hybrid index"},
        },
    )
    event_type_from_sql: bool = EVENTS(
        "Whether the event type of a DDL is read from its SQL text, not from its action type",
        "pkg/filter/utils.go ddlToEventType",
        when="6.2–7.6",
    )
    statement_again_at_checkpoint: bool = RESTART(
        "Whether a changefeed that starts again sends a statement at its very checkpoint once more; new begins "
        "after it",
        "cdc/owner/changefeed.go ddlStartTs",
        "logservice/schemastore/schema_store.go FetchTableTriggerDDLEvents",
        when="classic",
    )
    event_filter_discards: bool = EVENTS(
        "Whether a DDL that an event filter ignores leaves TiCDC's schema, too",
        "pkg/filter/filter.go ShouldDiscardDDL",
        when="6.5.4–6.5.7, 7.1.2–7.1.3, 7.4–7.5.0, 7.6",
    )
    event_filter_rename: str = EVENTS(
        "By which name event filters judge a RENAME",
        "pkg/filter/sql_event_filter.go shouldSkipDDL",
        "cdc/puller/ddl_puller.go",
        values={
            "new-name": "4.0–6.5.3, 6.5.8–6.5.11, 6.6–7.1.1, 7.1.4–7.3, 7.5.1–7.5.5, 8.0–8.5.0",
            "both-names": (
                "6.5.4–6.5.7, 7.1.2–7.1.3, 7.4–7.5.0, 7.6",
                "as the table filter does, where both are ignored it is skipped, where the old one alone is it "
                "is CDC:ErrSyncRenameTableFailed",
            ),
            "old-name": "6.5.12–6.5, 7.5.6–7.5, 8.5.1+; new",
        },
    )
    event_filter_ddl: bool = EVENTS(
        "Whether event filters look at statements at all",
        "logservice/schemastore/persist_storage_ddl_handlers.go",
        when="classic; new 8.5+",
    )
    unclassified_events: frozenset[str] = EVENTS(
        "Names that pass `ignore-event`'s check and then are no valid event type, and whose DDLs fail in every "
        "event filter that matches their table",
        "pkg/binlog-filter/filter.go ClassifyEvent",
        elements={
            "new 8.5+, 9.0.0-beta.2.pre": {"add fulltext index"},
            "new 8.5+": option_names.FOREIGN_KEY_EVENTS | {"create hybrid index"},
        },
    )
    event_matcher_folds_case: bool = EVENTS(
        "Whether the matcher of an event filter follows `case-sensitive`; classic always minds the case",
        "pkg/filter/sql_event_filter.go",
        when="new",
    )
    event_filter_sees_sent_text: bool = EVENTS(
        "Whether `ignore-sql` looks at the text that is sent; classic at the statement before it is restored",
        "logservice/schemastore/utils.go transformDDLJobQuery",
        "cdc/owner/ddl_manager.go",
        when="new",
    )
    event_filter_needs_old_name: bool = EVENTS(
        "Whether a RENAME that is judged by an old name which TiCDC does not know is CDC:ErrTableIneligible; new "
        "takes the new name",
        "pkg/filter/sql_event_filter.go shouldSkipDDL",
        when="classic",
    )
    bad_event_filter_stops: bool = EVENTS(
        "Whether an `ignore-sql` that is no regular expression, or an `ignore-event` that is no valid event "
        "type, is CDC:ErrFilterRuleInvalid; classic logs it and goes on without the rule's `ignore-event` and "
        "`ignore-sql`",
        "pkg/filter/sql_event_filter.go newSQLEventRule",
        when="new",
    )
    checks_expressions_first: bool = EVENTS(
        "Whether the expressions of event filters are checked against every table before anything is sent; new "
        "looks at one when a row needs it",
        "pkg/filter/expr_filter.go verify",
        "pkg/filter/filter.go Verify",
        when="classic",
    )
