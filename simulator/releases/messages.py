"""Behaviours of messages: the partition of rows, the split of UPDATEs, and which rows share a message."""

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
        "Names of partition dispatchers that rules of `dispatchers` may give ((%s: `index-value` from 4.0.5, "
        "`columns` from 7.5)); any other is a warning, and `default` on Kafka",
        "cdc/sink/**/dispatcher",
        first=frozenset({"default", "table", "ts", "rowid"}),
        settings=("dispatchers",),
    )
    default_dispatcher: str = PLACE(
        "What the dispatcher `default` is ((there))",
        "cdc/sink/**/dispatcher",
        values={
            "single-column": "the value of the table's only unique column, where it has one, else `table` ((up to "
            "4.0.4))",
            "old-value": "with enable-old-value `table`; without it `index-value` for tables with one unique index, "
            "nullable ones counted, else `table` ((up to 6.5, 6.6, 7.0, 7.1.3, 7.2, 7.3))",
            "table": "always ((7.1.4+, 7.4+, new))",
        },
        first="single-column",
    )
    rowid_is_row_id: bool = PLACE(
        "Whether the dispatcher `rowid` takes the row id modulo the partitions ((up to 4.0.4: %s)); later it is "
        "another name of `index-value`",
        "cdc/sink/dispatcher/rowid.go",
        first=True,
        settings=("dispatchers",),
    )
    dispatch_needs_index: bool = PLACE(
        "Whether `cdc cli changefeed create` refuses `index-value` without `index` ((7.5.0, 7.5.1, 7.6: %s))",
        "cdc/sink/dmlsink/mq/dispatcher/event_router.go VerifyTables",
        settings=("dispatchers",),
    )
    dispatch_ignores_case: bool = PLACE(
        "Whether `columns` and `index` of a dispatcher are found in any letter case ((7.5.7, 8.5.3+, not "
        "9.0.0-beta.1: %s)); elsewhere a name in another case is not found",
        "cdc/model/schema_storage.go GetIndex, OffsetsByNames",
        settings=("dispatchers",),
    )
    dispatch_lowers_names: bool = PLACE(
        "Whether the names of columns are hashed in lower case ((new 9.0.0-beta.2: %s))",
        "downstreamadapter/sink/eventrouter/partition",
        settings=("dispatchers",),
    )
    dispatch_skips_virtual: bool = PLACE(
        "Whether the dispatchers `columns` and `index-value` with `index` look values up among the visible columns",
        "cdc/model/schema_storage.go IndexByName, OffsetsByNames",
        then=(
            ". Where not (classic), they take the table's column offset, so that after a virtual generated column "
            "the value of a later column is hashed (%s)."
        ),
        settings=("dispatchers",),
    )
    dispatch_refuses_virtual: bool = PLACE(
        "Whether `columns` that name a virtual generated column are an error, `found virtual generated columns when "
        "dispatch event` ((8.5.4+, not 9.0.0-beta: %s))",
        "cdc/model/schema_storage.go OffsetsByNames",
        settings=("dispatchers",),
    )
    dispatch_nulls: frozenset[str] = PLACE(
        "Where a NULL is hashed, as the text `null`",
        "downstreamadapter/sink/eventrouter/partition",
        then=(
            ": in columns of the `handle` key, in those that `columns` or `index` of a rule `names` (classic both, "
            "new 8.5.4, 8.5.5 and 26.3 the handle alone, 8.5.6+ neither: %s); elsewhere such a column is left out of "
            "the hash."
        ),
        first=frozenset({"handle", "names"}),
        settings=("dispatchers", "enable-old-value"),
    )
    dispatch_time_fraction: bool = PLACE(
        "Whether a TIME is hashed with its fraction of a second ((not in new 8.5.4, 8.5.5: %s))",
        "pkg/common/helper.go ExtractColVal",
        first=True,
        settings=("dispatchers", "enable-old-value"),
    )
    topic_rules: str = PLACE(
        "What a dispatch rule's `topic` may be",
        "cdc/sink/mq.go",
        "cdc/sink/mq/dispatcher/topic/expression.go",
        values={
            "none": "there is no such key ((up to 5.4))",
            "idle": "`{schema}` with letters around it, or `{schema}_{table}`, checked and then not used: everything "
            "goes to the default topic ((6.0: %s))",
            "schema": "an expression that has `{schema}` ((6.1–6.5.6, 6.6, 7.0–7.1.3, 7.2, 7.3: %s))",
            "any": "a plain name too, or an expression without `{schema}` ((6.5.7+, 7.1.4+, 7.4+))",
        },
        first="none",
        settings=("dispatchers.topic",),
    )
    column_selectors: str = PLACE(
        "What `[sink] column-selectors` do",
        "cdc/sink/dmlsink/mq/mq_dml_sink.go",
        "downstreamadapter/sink/kafka",
        values={
            "nothing": "they are read and not used ((up to 7.4))",
            "rows": "they take columns out of rows before the dispatcher looks, and stop at a row whose table keeps "
            "neither its primary key nor a unique one whole ((7.5+: %s))",
            "messages": "the dispatcher sees all columns ((new: %s))",
        },
        first="nothing",
        settings=("column-selectors",),
    )
    selectors_checked: bool = PLACE(
        "Whether the tables that a changefeed begins with are checked against column selectors ((7.5+, new from "
        "8.5.4: %s; not in 9.0.0-beta))",
        "cdc/sink/dmlsink/mq/transformer/columnselector VerifyTables",
        sink="",
        settings=("column-selectors",),
    )
    selectors_want_key: bool = PLACE(
        "Whether a table without primary key must keep a unique one whole ((new from 26.3.4: %s))",
        "downstreamadapter/sink/columnselector verifyIndices",
        sink="",
        settings=("column-selectors",),
    )
    update_split: str = SPLIT(
        "Which UPDATEs that change a unique key or the handle key are sent as DELETE and INSERT",
        "cdc/model/sink.go trySplitAndSortUpdateEvent",
        "pkg/eventservice/event_scanner.go appendRow",
        values={
            "never": "((up to 6.5.3, 6.6–7.1.1, 7.2, 7.3, 9.0.0-beta.1))",
            "several": "those in a transaction of two or more rows of the table ((6.5.4))",
            "all": "((6.5.5+, 7.1.2+, 7.4+: %s; new from 9.0.0-beta.2: %s))",
        },
        first="never",
    )
    split_by_text: bool = SPLIT(
        "Whether NULL and the text `null` in a key are the same when an UPDATE is looked at for a changed key "
        "((classic: %s)); new compares the values ((%s))",
        "cdc/model/sink.go ColumnValueString",
        "pkg/common/event/codec.go IsUKChanged",
        first=True,
    )
    split_interleaved: bool = SPLIT(
        "Whether the DELETE of a split UPDATE takes its place among the UPDATEs, and its INSERT stands after all "
        "others ((new: %s)); classic sorts DELETEs first, UPDATEs, then INSERTs, and the halves between them",
        "pkg/eventservice/event_scanner.go commitTxn",
    )
    raw_change_events: bool = SPLIT(
        "Whether `output-raw-change-event` leaves UPDATEs whole ((6.5.10+, 7.1.6, 7.5.3+, 8.1.1+, 8.2+: %s; new from "
        "8.5.4: %s))",
        "cdc/model/sink.go",
        "pkg/eventservice/event_scanner.go",
        settings=("output-raw-change-event",),
    )
    filters_halves: bool = SPLIT(
        "Whether event filters look at the DELETE and the INSERT of a split UPDATE, each by itself ((new from 8.5.4: "
        "%s)); classic filters the UPDATE and splits what is left",
        "pkg/common/event/dml_event.go AppendRow",
        settings=("event-filters",),
    )
    handle_split: str = SPLIT(
        "What becomes of an UPDATE without old value ((`enable-old-value = false`, up to 7.3))",
        "cdc/entry/mounter.go",
        "cdc/processor/pipeline/sink.go",
        "cdc/processor/sinkmanager/table_sink_wrapper.go",
        values={
            "sorted": "one that changes the handle key is DELETE and INSERT, DELETEs standing first, and others lose "
            "their old row ((up to 4.0.14, 5.0.3, 5.1.0: %s))",
            "in place": "the same, the halves after each other ((4.0.15+, 5.0.4+, 5.1.1+, up to 6.5.4 and 7.1.1, 7.2, "
            "7.3: %s, %s))",
            "as any": "as with old value, which it keeps ((6.5.5+, 7.1.2+))",
        },
        first="sorted",
        settings=("enable-old-value",),
    )
    updates_before_inserts: bool = SPLIT(
        "Whether the UPDATEs of a transaction stand before its INSERTs ((6.1.6+, 6.5.2+, 7.1+: %s, %s)); elsewhere "
        "both go by row key, after the DELETEs",
        "cdc/sorter/encoding/key.go",
        "cdc/processor/sourcemanager/engine/pebble/encoding/key.go",
    )
    group_by_partition_key: bool = SHARED(
        "Whether rows in one Open Protocol message share the dispatcher's partition key",
        "cdc/sink/dmlsink/mq/worker.go",
        then=(
            ": table, hash or commit-ts (7.4+: %s); elsewhere a message mixes the tables of its partition in commit "
            "order."
        ),
    )
    flush_rows: int = SHARED(
        "How many rows of a partition are encoded at a time, a message holding rows of one such flush alone ((2048 "
        "from 6.0: %s))",
        "cdc/sink/mq_flush_worker.go",
        "cdc/sink/mq.go runWorker",
        then="; 0: as many as come until the next watermark (up to 5.4: %s).",
        first=0,
    )
