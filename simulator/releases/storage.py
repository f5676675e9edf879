"""Behaviours beside the messages of Kafka: the files of a storage sink, and TiCDC's OpenAPI v2."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.releases.behaviour import section

STORAGE = section("what can be asked for", "files on storage", sink="storage")


@dataclass(frozen=True, init=False, eq=False, repr=False)
class StorageBehaviours:
    """The files of a storage sink."""

    storage_sink: str = STORAGE(
        "What TiCDC does with a sink-uri of a storage",
        "cdc/sink/sink.go",
        "cdc/sinkv2/eventsink/cloudstorage",
        values={
            "cdclog": ("4.0–5.3", "that of S3 gets cdclog, which is not simulated; others are refused"),
            "none": ("5.4–6.3", "it is refused"),
            "experiment": ("6.4", "an experiment, which is not simulated"),
            "files": ("6.5+; new", "it writes rows, schema files and checkpoints"),
        },
    )
    storage_minimums: tuple[int, int] = STORAGE(
        "The least flush-interval of a storage sink in ms, and the least file-size",
        "pkg/sink/cloudstorage/config.go",
        values={(2000, 1048576): "classic; new 9.0.0-beta.1, 9.0.0-beta.2.pre", (100, 1024): "new 8.5+"},
    )
    storage_defaults: tuple[str, bool] = STORAGE(
        "The defaults of date-separator and enable-partition-separator",
        "pkg/config/replica_config.go",
        values={("none", False): "4.0–6.5.1, 6.6–7.0", ("none", True): "6.5.2", ("day", True): "6.5.3–6.5, 7.1+; new"},
    )
    storage_old_errors: bool = STORAGE(
        "Whether errors speak of `cloud storage`, with CDC:ErrCloudStorageInvalidConfig",
        "pkg/errors/cdc_errors.go",
        when="4.0–6.5.1, 6.6",
    )
    storage_schema_names: bool = STORAGE(
        "Whether schema files are `meta/schema_{version}_{checksum}.json` of a table, or of a database; "
        "elsewhere `schema.json` beside the rows of a version, and a statement on a database has none",
        "pkg/sink/cloudstorage/path.go",
        when="6.5.3–6.5, 7.1+; new",
    )
    storage_index: str = STORAGE(
        "Where the index of a directory is, and when it is written",
        "cdc/**/cloudstorage/dml_worker.go",
        "downstreamadapter/sink/cloudstorage/writer.go",
        values={
            "none": ("4.0–6.5.1, 6.6", "there is none"),
            "beside": ("6.5.2, 7.0", "`CDC.index` beside the rows, before the file that it names"),
            "first": (
                "6.5.3–6.5, 7.1+; new 8.5.4, 9.0.0-beta.1, 9.0.0-beta.2.pre",
                "`meta/CDC.index`, before the file that it names",
            ),
            "last": ("new 8.5.5+", "`meta/CDC.index`, after the file that it names"),
        },
    )
    storage_next_number: str = STORAGE(
        "How the first file of a changefeed that goes on in a directory is numbered",
        "pkg/sink/cloudstorage/path.go",
        values={
            "named": (
                "classic; new 8.5.4, 9.0.0-beta.1, 9.0.0-beta.2.pre",
                "after the file that the index names, or as that one if it is missing or empty",
            ),
            "index": ("new 8.5.5", "after the file that the index names, even over an existing one"),
            "hangs": ("new 8.5.6, 26.3–26.3.2", "as `index`, but TiCDC hangs if there is such a file"),
            "free": (
                "new 8.5.7–8.5, 26.3.3+",
                "after the file that the index names, with the first number that is free",
            ),
        },
    )
    storage_exceeds_size: bool = STORAGE(
        "Whether a file is complete when it is larger than file-size; elsewhere when it has that size",
        "cdc/**/cloudstorage/dml_worker.go",
        when="4.0–6.5.2, 6.6–7.1.0",
    )
    storage_one_partition: bool = STORAGE(
        "Whether the rows of all partitions are in the same files, in the directory of the table's id",
        "cdc/sinkv2/eventsink/cloudstorage/cloud_storage_dml_sink.go",
        when="4.0–6.5.1, 6.6",
    )
    storage_version_is_update_ts: bool = STORAGE(
        "Whether the version of a table without a schema file is TiDB's UpdateTS; elsewhere the commit-ts of the "
        "last job",
        "downstreamadapter/sink/cloudstorage/dml_writers.go",
        when="new 9.0.0-beta.2.pre",
    )
    storage_dispatcher_names: bool = STORAGE(
        "Whether names of files have the dispatcher with enable-table-across-nodes",
        "pkg/sink/cloudstorage/path.go generateDataFileName",
        settings=("enable-table-across-nodes",),
        when="new 8.5.5+",
    )
    storage_column_defaults: bool = STORAGE(
        "Whether schema files have the defaults of columns",
        "pkg/sink/cloudstorage/table_definition.go",
        when="6.5.3–6.5, 7.1.1+; new",
    )
    storage_origin_default: bool = STORAGE(
        "Whether a column without a default has that of rows older than the column in schema files",
        "cdc/entry/mounter.go GetDDLDefaultDefinition",
        "cdc/model/schema_storage.go GetColumnDefaultValue",
        when="6.5.3–6.5.11, 7.1.1–7.5.5, 7.6–8.5.1",
    )
    storage_elements: bool = STORAGE(
        "Whether schema files have the members of ENUM and SET",
        "pkg/sink/cloudstorage/table_definition.go",
        when="new 8.5+",
    )
    storage_exchange_of_plain: bool = STORAGE(
        "Whether the schema file of the plain table has the statement of EXCHANGE PARTITION; elsewhere that of "
        "the partitioned one",
        "downstreamadapter/sink/cloudstorage/sink.go writeDDLEvent",
        when="new 9.0.0-beta.1, 9.0.0-beta.2.pre",
    )
    storage_selectors: bool = STORAGE(
        "Whether column selectors have an effect on files",
        "downstreamadapter/sink/cloudstorage/dml_writers.go",
        settings=("column-selectors",),
        when="new 26.3.4–26.3",
    )
    csv_virtual_columns: bool = STORAGE(
        "Whether rows of CSV have virtual generated columns",
        "pkg/sink/codec/csv/csv_message.go",
        protocols=("csv",),
        when="new 9.0.0-beta.1, 9.0.0-beta.2.pre",
    )
    csv_header_lists_all: bool = STORAGE(
        "Whether the header of CSV names virtual generated columns, which no row has",
        "pkg/sink/codec/csv/csv_encoder.go setHeader",
        protocols=("csv",),
        settings=("output-field-header",),
        when="classic; new 8.5–26.3.3, 9.0.0-beta.1, 9.0.0-beta.2.pre",
    )
    csv_handle_key: bool = STORAGE(
        "Whether CSV has the handle with output-handle-key; elsewhere the setting has no effect",
        "pkg/sink/codec/csv/csv_message.go",
        protocols=("csv",),
        settings=("output-handle-key",),
        when="classic",
    )
    csv_delimiter_bytes: int = STORAGE(
        "How many bytes a delimiter of CSV may have",
        "pkg/config/sink.go CSVConfig",
        then="; 0: any number.",
        protocols=("csv",),
        settings=("delimiter",),
        values={0: "4.0–7.3", 1: "7.4–7.5", 3: "7.6+; new"},
    )
    storage_empty_terminator: bool = STORAGE(
        "Whether an empty terminator is one; elsewhere it is as none, CR and LF",
        "pkg/config/sink.go validateAndAdjust",
        settings=("terminator",),
        when="7.2+; new",
    )
    csv_delete_by_key: bool = STORAGE(
        "Whether enable-old-value = false leaves a DELETE in CSV its handle key alone; elsewhere it has all columns",
        "cdc/entry/mounter.go mountRowKVEntry",
        protocols=("csv",),
        settings=("enable-old-value",),
        when="4.0–6.5.2, 6.6–7.1.0",
    )
    csv_disables_old_value: bool = STORAGE(
        "Whether CSV turns enable-old-value off",
        "pkg/config/sink.go ForceDisableOldValueProtocols",
        protocols=("csv",),
        when="6.5.3–6.5, 7.1.1–7.3",
    )


API = section("what can be asked for", "OpenAPI v2")


@dataclass(frozen=True, init=False, eq=False, repr=False)
class ApiBehaviours:
    """The paths of the API, and what it says of a changefeed."""

    api_paths: frozenset[str] = API(
        "Which methods and paths below /api/v2 there are",
        "cdc/api/v2/api.go RegisterOpenAPIV2Routes",
        "api/v2/api.go",
        elements={
            "6.2+; new": {
                "POST /changefeeds",
                "PUT /changefeeds/{changefeed_id}",
                "POST /changefeeds/{changefeed_id}/resume",
                "POST /verify_table",
                "POST /tso",
                "GET /unsafe/metadata",
                "POST /unsafe/resolve_lock",
                "DELETE /unsafe/service_gc_safepoint",
            },
            "6.2+": {"GET /changefeeds/{changefeed_id}/meta_info"},
            "6.5.2+; new": {
                "GET /health",
                "GET /status",
                "POST /log",
                "GET /changefeeds",
                "GET /changefeeds/{changefeed_id}",
                "DELETE /changefeeds/{changefeed_id}",
                "POST /changefeeds/{changefeed_id}/pause",
                "GET /captures",
                "GET /processors",
                "GET /processors/{changefeed_id}/{capture_id}",
                "POST /owner/resign",
            },
            "6.5.2+": {"POST /captures/{capture_id}/drain"},
            "6.5.3–6.5, 7.1+; new 8.5+": {"GET /changefeeds/{changefeed_id}/status"},
            "6.5.8–6.5, 7.1.4–7.1, 7.5.1+; new": {"GET /changefeeds/{changefeed_id}/synced"},
            "new": {
                "GET /changefeeds/{changefeed_id}/tables",
                "GET /changefeeds/{changefeed_id}/get_dispatcher_count",
                "POST /changefeeds/{changefeed_id}/move_table",
            },
            "new 8.5+, 9.0.0-beta.2.pre": {
                "POST /changefeeds/{changefeed_id}/move_split_table",
                "POST /changefeeds/{changefeed_id}/split_table_by_region_count",
                "POST /changefeeds/{changefeed_id}/merge_table",
            },
            "new 8.5.6+": {"POST /log/redact", "POST /get_all_tables"},
        },
    )
    api_keyspaces: bool = API(
        "Whether a changefeed has a keyspace in place of a namespace, tasks are not told, and its `resolved_ts` is its "
        "`checkpoint_ts`",
        "api/v2/model.go",
        "api/v2/changefeed.go CfInfoToAPIModel",
        when="new",
    )
