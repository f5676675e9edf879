"""Behaviours of messages: the partition of rows, the split of UPDATEs, which rows share a message, and checksums."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.releases.behaviour import ON_THE_WIRE, section

PLACE = section(ON_THE_WIRE, "where a row goes", sink="kafka")
SPLIT = section(ON_THE_WIRE, "UPDATEs as DELETE and INSERT, and the order of rows inside a transaction")
SHARED = section(ON_THE_WIRE, "which rows share a message", "open-protocol")


@dataclass(frozen=True, init=False, eq=False, repr=False)
class MessageBehaviours:
    """The messages that rows become."""

    dispatchers: frozenset[str] = PLACE(
        "Names of partition dispatchers that rules of `dispatchers` may give; any other is a warning, and "
        "`default` on Kafka",
        "cdc/sink/**/dispatcher",
        settings=("dispatchers",),
        elements={
            "classic; new": {"default", "rowid", "table", "ts"},
            "4.0.5+; new": {"index-value"},
            "7.5+; new": {"columns"},
        },
    )
    default_dispatcher: str = PLACE(
        "What the dispatcher `default` is",
        "cdc/sink/**/dispatcher",
        values={
            "single-column": (
                "4.0–4.0.4",
                "the value of the table's only unique column, where it has one, else `table`",
            ),
            "old-value": (
                "4.0.5–7.1.3, 7.2–7.3",
                "with enable-old-value `table`; without it `index-value` for tables with one unique index, "
                "nullable ones counted, else `table`",
            ),
            "table": ("7.1.4–7.1, 7.4+; new", "always"),
        },
    )
    rowid_is_row_id: bool = PLACE(
        "Whether the dispatcher `rowid` takes the row id modulo the partitions; later it is another name of "
        "`index-value`",
        "cdc/sink/dispatcher/rowid.go",
        settings=("dispatchers",),
        when="4.0–4.0.4",
    )
    dispatch_needs_index: bool = PLACE(
        "Whether `cdc cli changefeed create` refuses `index-value` without `index`",
        "cdc/sink/dmlsink/mq/dispatcher/event_router.go VerifyTables",
        settings=("dispatchers",),
        when="7.5–7.5.1, 7.6",
    )
    dispatch_ignores_case: bool = PLACE(
        "Whether `columns` and `index` of a dispatcher are found in any letter case; elsewhere a name in another "
        "case is not found",
        "cdc/model/schema_storage.go GetIndex, OffsetsByNames",
        settings=("dispatchers",),
        when="7.5.7–7.5, 8.5.3+; new 8.5+, 9.0.0-beta.2.pre",
    )
    dispatch_lowers_names: bool = PLACE(
        "Whether the names of columns are hashed in lower case",
        "downstreamadapter/sink/eventrouter/partition",
        settings=("dispatchers",),
        when="new 9.0.0-beta.2.pre",
    )
    dispatch_skips_virtual: bool = PLACE(
        "Whether the dispatchers `columns` and `index-value` with `index` look values up among the visible columns",
        "cdc/model/schema_storage.go IndexByName, OffsetsByNames",
        then=". Elsewhere they take the table's column offset, so that after a virtual generated column the value of a later "
        "column is hashed.",
        settings=("dispatchers",),
        when="new",
    )
    dispatch_refuses_virtual: bool = PLACE(
        "Whether `columns` that name a virtual generated column are an error, `found virtual generated columns "
        "when dispatch event`",
        "cdc/model/schema_storage.go OffsetsByNames",
        settings=("dispatchers",),
        when="8.5.4+; new 8.5+",
    )
    dispatch_nulls: frozenset[str] = PLACE(
        "Where a NULL is hashed, as the text `null`",
        "downstreamadapter/sink/eventrouter/partition",
        then=": in columns of the `handle` key, in those that `columns` or `index` of a rule `names`; elsewhere such a column "
        "is left out of the hash.",
        settings=("dispatchers", "enable-old-value"),
        elements={"classic; new 8.5–8.5.5, 26.3+, 9.0.0-beta.1, 9.0.0-beta.2.pre": {"handle"}, "classic": {"names"}},
    )
    dispatch_time_fraction: bool = PLACE(
        "Whether a TIME is hashed with its fraction of a second",
        "pkg/common/helper.go ExtractColVal",
        settings=("dispatchers", "enable-old-value"),
        when="classic; new 8.5.6+",
    )
    topic_rules: str = PLACE(
        "What a dispatch rule's `topic` may be",
        "cdc/sink/mq.go",
        "cdc/sink/mq/dispatcher/topic/expression.go",
        settings=("dispatchers.topic",),
        values={
            "none": ("4.0–5.4", "there is no such key"),
            "idle": (
                "6.0",
                "`{schema}` with letters around it, or `{schema}_{table}`, checked and then not used: everything "
                "goes to the default topic",
            ),
            "schema": ("6.1–6.5.6, 6.6–7.1.3, 7.2–7.3", "an expression that has `{schema}`"),
            "any": ("6.5.7–6.5, 7.1.4–7.1, 7.4+; new", "a plain name too, or an expression without `{schema}`"),
        },
    )
    column_selectors: str = PLACE(
        "What `[sink] column-selectors` do",
        "cdc/sink/dmlsink/mq/mq_dml_sink.go",
        "downstreamadapter/sink/kafka",
        settings=("column-selectors",),
        values={
            "nothing": ("4.0–7.4", "they are read and not used"),
            "rows": (
                "7.5+",
                "they take columns out of rows before the dispatcher looks, and stop at a row whose table keeps "
                "neither its primary key nor a unique one whole",
            ),
            "messages": ("new", "the dispatcher sees all columns"),
        },
    )
    selectors_checked: bool = PLACE(
        "Whether the tables that a changefeed begins with are checked against column selectors",
        "cdc/sink/dmlsink/mq/transformer/columnselector VerifyTables",
        sink="",
        settings=("column-selectors",),
        when="7.5+; new 8.5+",
    )
    selectors_want_key: bool = PLACE(
        "Whether a table without primary key must keep a unique one whole",
        "downstreamadapter/sink/columnselector verifyIndices",
        sink="",
        settings=("column-selectors",),
        when="new 26.3.4–26.3",
    )
    update_split: str = SPLIT(
        "Which UPDATEs that change a unique key or the handle key are sent as DELETE and INSERT",
        "cdc/model/sink.go trySplitAndSortUpdateEvent",
        "pkg/eventservice/event_scanner.go appendRow",
        values={
            "never": "4.0–6.5.3, 6.6–7.1.1, 7.2–7.3; new 9.0.0-beta.1",
            "several": ("6.5.4", "those in a transaction of two or more rows of the table"),
            "all": "6.5.5–6.5, 7.1.2–7.1, 7.4+; new 8.5+, 9.0.0-beta.2.pre",
        },
    )
    split_by_text: bool = SPLIT(
        "Whether NULL and the text `null` in a key are the same when an UPDATE is looked at for a changed key; "
        "new compares the values",
        "cdc/model/sink.go ColumnValueString",
        "pkg/common/event/codec.go IsUKChanged",
        when="classic",
    )
    split_interleaved: bool = SPLIT(
        "Whether the DELETE of a split UPDATE takes its place among the UPDATEs, and its INSERT stands after all "
        "others; classic sorts DELETEs first, UPDATEs, then INSERTs, and the halves between them",
        "pkg/eventservice/event_scanner.go commitTxn",
        when="new",
    )
    raw_change_events: bool = SPLIT(
        "Whether `output-raw-change-event` leaves UPDATEs whole",
        "cdc/model/sink.go",
        "pkg/eventservice/event_scanner.go",
        settings=("output-raw-change-event",),
        when="6.5.10–6.5, 7.1.6–7.1, 7.5.3–7.5, 8.1.1+; new 8.5+",
    )
    filters_halves: bool = SPLIT(
        "Whether event filters look at the DELETE and the INSERT of a split UPDATE, each by itself; classic "
        "filters the UPDATE and splits what is left",
        "pkg/common/event/dml_event.go AppendRow",
        settings=("event-filters",),
        when="new 8.5+",
    )
    handle_split: str = SPLIT(
        "What becomes of an UPDATE without old value",
        "cdc/entry/mounter.go",
        "cdc/processor/pipeline/sink.go",
        "cdc/processor/sinkmanager/table_sink_wrapper.go",
        settings=("enable-old-value",),
        values={
            "sorted": (
                "4.0–4.0.14, 5.0–5.0.3, 5.1.0",
                "one that changes the handle key is DELETE and INSERT, DELETEs standing first, and others lose "
                "their old row",
            ),
            "in place": (
                "4.0.15–4.0, 5.0.4–5.0, 5.1.1–6.5.4, 6.6–7.1.1, 7.2–7.3",
                "the same, the halves after each other",
            ),
            "as any": ("6.5.5–6.5, 7.1.2–7.1, 7.4+; new", "as with old value, which it keeps"),
        },
    )
    updates_before_inserts: bool = SPLIT(
        "Whether the UPDATEs of a transaction stand before its INSERTs; elsewhere both go by row key, after the "
        "DELETEs",
        "cdc/sorter/encoding/key.go",
        "cdc/processor/sourcemanager/engine/pebble/encoding/key.go",
        when="6.1.6–6.1, 6.5.2–6.5, 7.1+; new",
    )
    group_by_partition_key: bool = SHARED(
        "Whether rows in one Open Protocol message share the dispatcher's partition key",
        "cdc/sink/dmlsink/mq/worker.go",
        then=": table, hash or commit-ts; elsewhere a message mixes the tables of its partition in commit order.",
        when="7.4+; new",
    )
    flush_rows: int = SHARED(
        "How many rows of a partition are encoded at a time, a message holding rows of one such flush alone",
        "cdc/sink/mq_flush_worker.go",
        "cdc/sink/mq.go runWorker",
        then="; 0: as many as come until the next watermark.",
        values={0: "4.0–5.4", 2048: "6.0+; new"},
    )


CHECKSUMS = section(
    "Row checksums", "of rows in Simple and Avro", "simple", "avro", settings=("integrity-check-level",)
)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ChecksumBehaviours:
    """Row checksums."""

    checksum_version: int = CHECKSUMS(
        "The version of the checksum that TiDB of the same release stores with a row; the checksum in messages "
        "is that of the columns in any case",
        "cdc/entry/mounter.go verifyChecksum",
        values={0: "4.0–8.2", 1: "8.3", 2: "8.4+; new"},
    )
    checksum_sorts_columns: bool = CHECKSUMS(
        "Whether checksums go through the columns by their ids; elsewhere in table order",
        "cdc/entry/mounter.go calculateColumnChecksum",
        when="classic",
    )
