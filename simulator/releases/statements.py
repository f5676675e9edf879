"""Behaviours of the sending and filtering of DDL statements."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.releases.behaviour import ON_THE_WIRE, section

SENDING = section(ON_THE_WIRE, "where and how a statement goes")
FILTER = section("what is sent at all", "which statements are sent")
RESTART = section("what is sent at all", "what a restart sends again")
EVENTS = section("what is sent at all", "event filters", settings=("event-filters",))


@dataclass(frozen=True, init=False, eq=False, repr=False)
class StatementBehaviours:
    """The sending and filtering of DDL statements."""

    single_table_ddl: frozenset[int] = SENDING(
        "Action types that hold back only their own table, not all of them ((6.5.2+, 7.0+: %s))",
        "cdc/owner/ddl_manager.go nonGlobalDDLs",
        first=frozenset(),
    )
    watermark_after_ddl: bool = SENDING(
        "Whether a watermark follows a DDL at once ((6.1+: %s))", "cdc/owner/ddl_sink.go"
    )
    exchange_event_of_plain: bool = SENDING(
        "Whether the event of EXCHANGE PARTITION is the plain table's, in the topic of the partitioned one ((new: "
        "%s)); classic the other way round",
        "logservice/schemastore/persist_storage_ddl_handlers.go buildDDLEventForExchangeTablePartition",
    )
    canal_ddl_in_partition_0: bool = SENDING(
        "Whether Canal-JSON's DDL goes to partition 0 alone ((5.4+: %s, later GetDDLDispatchRuleByProtocol of %s))",
        "cdc/sink/mq.go",
        "cdc/sink/**/mq",
        protocols=("canal-json",),
        sink="kafka",
    )
    tidb_extension: bool = SENDING(
        "Whether Canal-JSON knows `enable-tidb-extension`",
        "cdc/sink/codec/canal_flat.go",
        then=": `_tidb` and watermarks (5.4+: %s).",
        protocols=("canal-json",),
        settings=("enable-tidb-extension",),
    )
    canal_build_time: bool = SENDING(
        "Whether Canal-JSON's `ts` is the time of encoding ((5.4+: %s)); 0 before",
        "cdc/sink/codec/canal_flat.go",
        protocols=("canal-json",),
    )
    canal_renames: frozenset[int] = SENDING(
        "Action types that are Canal-JSON's RENAME ((%s))",
        "pkg/sink/codec/canal/canal_entry.go convertDdlEventType",
        first=frozenset({14}),
        protocols=("canal-json",),
    )
    canal_alters: frozenset[int] = SENDING(
        "Action types that are Canal-JSON's ALTER ((there))",
        "pkg/sink/codec/canal/canal_entry.go",
        first=frozenset({5, 6, 12, 13, 15, 17, 18, 19, 20, 22, 23, 37, 38}),
        protocols=("canal-json",),
    )
    open_empty_names: bool = SENDING(
        "Whether a DDL's key in Open Protocol has `scm` and `tbl` where they are empty ((new: %s))",
        "pkg/sink/codec/open/codec.go",
        protocols=("open-protocol",),
    )
    open_escapes_html: bool = SENDING(
        "Whether Open Protocol escapes `<`, `>`, `&`, U+2028, U+2029 and invalid UTF-8 ((%s, classic)); the new "
        "architecture's writer ((%s)) does not",
        "encoding/json",
        "pkg/util/json_writer.go",
        first=True,
        protocols=("open-protocol",),
    )
    allowed_ddl: frozenset[int] = FILTER(
        "Action types that are replicated at all ((`ddlWhiteListMap`, %s; new: %s))",
        "pkg/filter/filter.go",
        "pkg/filter/ddl.go",
        first=frozenset({*range(1, 9), 11, 12, 14, 15, *range(17, 27), 32, 33}),
    )
    sends_rewritten_rows: bool = FILTER(
        "Whether the rows that MODIFY COLUMN writes again, in transactions of 256 before the statement, are sent as "
        "UPDATEs without a difference ((TiDB 5.1.0–6.5.2, 6.6, 7.0: tidb %s; tiflow issues 2434 and 8686)); TiKV hides "
        "them elsewhere, and TiDB before does not change a type",
        "ddl/column.go updateColumnWorker",
    )
    partition_ddl_loses_rows: bool = FILTER(
        "Whether ADD, DROP or TRUNCATE PARTITION of a table without a valid index makes its partitions ineligible, "
        "although force-replicate is on, so that its later rows are lost ((up to 4.0.15, 5.0.5, 5.1.3, 5.2.1: %s; tiflow "
        "issue 2834))",
        "cdc/entry/schema_storage.go updatePartition",
        first=True,
        settings=("force-replicate",),
    )
    eligibility: str = FILTER(
        "What becomes of a DDL on a table without a valid index, without force-replicate",
        "cdc/entry/schema_storage.go",
        "cdc/owner",
        "cdc/entry/schema/snapshot.go",
        "cdc/puller/ddl_puller.go checkIneligibleTableDDL",
        "pkg/filter/filter.go",
        values={
            "stays": "a table that once had none is ignored until it is dropped, its DROP TABLE is sent ((up to 6.0: "
            "%s))",
            "after": "the table after the DDL decides ((5.1.5, 6.1+: %s, %s))",
            "error": "so, but a changefeed error where the DDL takes the last valid index away ((6.5.10+, 7.1.6, "
            "7.5.2+, 8.1+: %s))",
            "silent": "by the table after, or the one dropped ((new: %s))",
        },
        first="stays",
    )
    rename_filter: str = FILTER(
        "How the table filter decides about RENAME",
        "cdc/puller/ddl_puller.go handleJob",
        "logservice/schemastore",
        values={
            "new-name": "by the new name ((up to 6.2))",
            "new-schema": "one pair by the old table's name in the new schema ((6.3–6.5.3, 6.6, 7.0–7.1.1, 7.2, 7.3: "
            "%s))",
            "old-name": "by the old name, an error where only the new one matches ((6.5.4+, 7.1.2+, 7.4+))",
            "names-alone": "so, but no snapshot of tables is asked, and names may be swapped ((new: %s))",
        },
        first="new-name",
    )
    rename_errors_wrapped: frozenset[str] = FILTER(
        "Which errors of a RENAME are inside of a CDC:ErrHandleDDLFailed ((%s))",
        "cdc/puller/ddl_puller.go",
        then=(
            ": of `one` pair that enters the filter, of `several`, of the schema `snapshot`. All in 6.5.4–6.5.9, "
            "7.1.2–7.1.5, 7.4–7.5.1, 7.6, 8.0; not `one` in 6.5.10+, 7.5.7, 8.1+; `snapshot` alone in 7.1.6; none "
            "elsewhere."
        ),
        first=frozenset(),
    )
    rename_error_values: str = FILTER(
        "What a RENAME inside of a CDC:ErrHandleDDLFailed says of its job",
        "pkg/errors/cdc_errors.go ErrHandleDDLFailed",
        values={
            "query": "query and start-ts ((7.6, 8.0+))",
            "job": "the job as TiDB prints it, too ((6.5.4–6.5.9, 7.1.2–7.1.5, 7.4–7.5.1: %s))",
            "shifted": "each value one place too early, the job being left out ((6.5.10+, 7.1.6, 7.5.7))",
        },
        first="query",
    )
    create_like_waits: bool = FILTER(
        "Whether CREATE TABLE … LIKE waits forever for a table that the filter leaves out ((new 8.5.5–8.5.7, "
        "26.3.1–26.3.4: %s; ticdc issue 5150))",
        "logservice/schemastore/persist_storage_ddl_handlers.go buildDDLEventForNewTableDDL",
    )
    exchange_passes_by_either: bool = FILTER(
        "Whether EXCHANGE PARTITION passes the table filter where one of its tables does ((new: %s)); classic asks "
        "it for the database of the plain table and the name of the partitioned one",
        "logservice/schemastore/persist_storage_ddl_handlers.go buildDDLEventForExchangeTablePartition",
    )
    start_ts_discards_ddl: bool = FILTER(
        "Whether a DDL in ignore-txn-start-ts leaves TiCDC's schema as it was ((6.5.4–6.5.7, 7.1.2–7.1.3, 7.4–7.5.0, "
        "7.5.7, 7.6, 8.5.4+: %s)); elsewhere it is not sent, but applied",
        "pkg/filter/filter.go ShouldDiscardDDL",
        settings=("ignore-txn-start-ts",),
    )
    system_schemas: frozenset[str] = FILTER(
        "Databases that are never replicated, in upper case and compared so ((%s; tidb %s))",
        "pkg/filter/utils.go IsSysSchema",
        "pkg/util/filter/schema.go",
        first=frozenset({"INFORMATION_SCHEMA", "PERFORMANCE_SCHEMA", "MYSQL", "METRIC_SCHEMA"}),
    )
    cdc_schemas: frozenset[str] = FILTER(
        "Databases of TiCDC's and Lightning's own that are never replicated ((%s: tidb_cdc from 6.5.9, 7.1.4, 7.5.1, "
        "8.0; lightning_task_info from 8.2))",
        "pkg/filter/utils.go",
        first=frozenset(),
    )
    cdc_schemas_in_any_case: bool = FILTER(
        "Whether databases of TiCDC's and Lightning's own are compared in lower case ((new from 8.5.4: %s)), not as "
        "they are written",
        "pkg/filter/utils.go",
    )
    event_filter_names: frozenset[str] = EVENTS(
        "What `ignore-event` accepts ((6.2+: %s))",
        "pkg/filter/sql_event_filter.go SupportedEventTypes",
        then="; empty: no event filters.",
        first=frozenset(),
    )
    event_type_from_sql: bool = EVENTS(
        "Whether the event type of a DDL is read from its SQL text ((6.2–7.6: %s)), not from its action type",
        "pkg/filter/utils.go ddlToEventType",
    )
    statement_again_at_checkpoint: bool = RESTART(
        "Whether a changefeed that starts again sends a statement at its very checkpoint once more ((classic: %s)); "
        "new begins after it ((%s))",
        "cdc/owner/changefeed.go ddlStartTs",
        "logservice/schemastore/schema_store.go FetchTableTriggerDDLEvents",
        first=True,
    )
    event_filter_discards: bool = EVENTS(
        "Whether a DDL that an event filter ignores leaves TiCDC's schema, too ((6.5.4–6.5.7, 7.1.2–7.1.3, 7.4, "
        "7.5.0, 7.6: %s))",
        "pkg/filter/filter.go ShouldDiscardDDL",
    )
    event_filter_rename: str = EVENTS(
        "By which name event filters judge a RENAME",
        "pkg/filter/sql_event_filter.go shouldSkipDDL",
        "cdc/puller/ddl_puller.go",
        values={
            "new-name": "((6.2–6.5.3, 6.5.8–6.5.11, 6.6–7.1.1, 7.1.4–7.1.6, 7.2, 7.3, 7.5.1–7.5.5, 8.0–8.5.0: %s))",
            "both-names": "as the table filter does, where both are ignored it is skipped, where the old one alone is "
            "it is CDC:ErrSyncRenameTableFailed ((6.5.4–6.5.7, 7.1.2–7.1.3, 7.4, 7.5.0, 7.6: %s))",
            "old-name": "((6.5.12, 7.5.6+, 8.5.1+, new: there))",
        },
        first="new-name",
    )
    event_filter_ddl: bool = EVENTS(
        "Whether event filters look at statements at all ((not in new 9.0.0-beta.1, -beta.2: %s))",
        "logservice/schemastore/persist_storage_ddl_handlers.go",
        first=True,
    )
    unclassified_events: frozenset[str] = EVENTS(
        "Names that pass `ignore-event`'s check and then are no valid event type, and whose DDLs fail in every event "
        "filter that matches their table ((new: %s))",
        "pkg/binlog-filter/filter.go ClassifyEvent",
        first=frozenset(),
    )
    event_matcher_folds_case: bool = EVENTS(
        "Whether the matcher of an event filter follows `case-sensitive` ((new: %s)); classic always minds the case",
        "pkg/filter/sql_event_filter.go",
    )
    event_filter_sees_sent_text: bool = EVENTS(
        "Whether `ignore-sql` looks at the text that is sent ((new: %s)); classic at the statement before it is "
        "restored ((%s))",
        "logservice/schemastore/utils.go transformDDLJobQuery",
        "cdc/owner/ddl_manager.go",
    )
    event_filter_needs_old_name: bool = EVENTS(
        "Whether a RENAME that is judged by an old name which TiCDC does not know is CDC:ErrTableIneligible "
        "((classic: %s)); new takes the new name",
        "pkg/filter/sql_event_filter.go shouldSkipDDL",
        first=True,
    )
    bad_event_filter_stops: bool = EVENTS(
        "Whether an `ignore-sql` that is no regular expression, or an `ignore-event` that is no valid event type, is "
        "CDC:ErrFilterRuleInvalid ((new: %s)); classic logs it and goes on without the rule's `ignore-event` and "
        "`ignore-sql`",
        "pkg/filter/sql_event_filter.go newSQLEventRule",
    )
    checks_expressions_first: bool = EVENTS(
        "Whether the expressions of event filters are checked against every table before anything is sent ((classic: "
        "%s)); new looks at one when a row needs it ((%s))",
        "pkg/filter/expr_filter.go verify",
        "pkg/filter/filter.go Verify",
        first=True,
    )
