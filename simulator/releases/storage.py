"""Behaviours of the storage sink: which files it writes, what they have, and what can be asked for."""

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
            "none": "it is refused ((up to 6.3: %s))",
            "cdclog": "that of S3 gets cdclog, which is not simulated; others are refused ((4.0 to 5.3: there))",
            "experiment": "an experiment, which is not simulated ((6.4: %s))",
            "files": "it writes rows, schema files and checkpoints ((6.5+: there))",
        },
        first="cdclog",
    )
    storage_minimums: tuple[int, int] = STORAGE(
        "The least flush-interval of a storage sink in ms, and the least file-size ((%s))",
        "pkg/sink/cloudstorage/config.go",
        first=(2000, 1 << 20),
    )
    storage_defaults: tuple[str, bool] = STORAGE(
        "The defaults of date-separator and enable-partition-separator ((none, false in 6.5.0, 6.5.1, 6.6, 7.0; none, "
        "true in 6.5.2: %s))",
        "pkg/config/replica_config.go",
        then="; elsewhere day, true.",
        first=("none", False),
    )
    storage_old_errors: bool = STORAGE(
        "Whether errors speak of `cloud storage`, with CDC:ErrCloudStorageInvalidConfig ((6.5.0, 6.5.1, 6.6: %s))",
        "pkg/errors/cdc_errors.go",
        first=True,
    )
    storage_schema_names: bool = STORAGE(
        "Whether schema files are `meta/schema_{version}_{checksum}.json` of a table, or of a database ((6.5.3+, 7.1+: "
        "%s)); elsewhere `schema.json` beside the rows of a version, and a statement on a database has none",
        "pkg/sink/cloudstorage/path.go",
    )
    storage_index: str = STORAGE(
        "Where the index of a directory is, and when it is written",
        "cdc/**/cloudstorage/dml_worker.go",
        "downstreamadapter/sink/cloudstorage/writer.go",
        values={
            "none": "there is none ((6.5.0, 6.5.1, 6.6))",
            "beside": "`CDC.index` beside the rows, before the file that it names ((6.5.2, 7.0: %s))",
            "first": "`meta/CDC.index`, before the file that it names ((6.5.3+, 7.1+: there))",
            "last": "`meta/CDC.index`, after the file that it names ((new 8.5.5+: %s))",
        },
        first="none",
    )
    storage_next_number: str = STORAGE(
        "How the first file of a changefeed that goes on in a directory is numbered",
        "pkg/sink/cloudstorage/path.go",
        values={
            "named": "after the file that the index names, or as that one if it is missing or empty ((%s))",
            "index": "after the file that the index names, even over an existing one ((new 8.5.5: there))",
            "hangs": "as `index`, but TiCDC hangs if there is such a file ((new 8.5.6, 26.3.1, 26.3.2: there))",
            "free": "after the file that the index names, with the first number that is free ((new 8.5.7+, 26.3.3+: "
            "there))",
        },
        first="named",
    )
    storage_exceeds_size: bool = STORAGE(
        "Whether a file is complete when it is larger than file-size ((6.5.0 to 6.5.2, 6.6 to 7.1.0: %s)); elsewhere "
        "when it has that size",
        "cdc/**/cloudstorage/dml_worker.go",
        first=True,
    )
    storage_one_partition: bool = STORAGE(
        "Whether the rows of all partitions are in the same files, in the directory of the table's id ((6.5.0, 6.5.1, "
        "6.6: %s))",
        "cdc/sinkv2/eventsink/cloudstorage/cloud_storage_dml_sink.go",
        first=True,
    )
    storage_version_is_update_ts: bool = STORAGE(
        "Whether the version of a table without a schema file is TiDB's UpdateTS ((new, 9.0.0-beta.2.pre: %s)); elsewhere "
        "the commit-ts of the last job",
        "downstreamadapter/sink/cloudstorage/dml_writers.go",
    )
    storage_dispatcher_names: bool = STORAGE(
        "Whether names of files have the dispatcher with enable-table-across-nodes ((new 8.5.5+: %s))",
        "pkg/sink/cloudstorage/path.go generateDataFileName",
        settings=("enable-table-across-nodes",),
    )
    storage_column_defaults: bool = STORAGE(
        "Whether schema files have the defaults of columns ((6.5.3+, 7.1.1+: %s))",
        "pkg/sink/cloudstorage/table_definition.go",
    )
    storage_origin_default: bool = STORAGE(
        "Whether a column without a default has that of rows older than the column in schema files ((6.5.3 to 6.5.11, "
        "7.1.1 to 7.5.5, 7.6 to 8.5.1: %s, %s))",
        "cdc/entry/mounter.go GetDDLDefaultDefinition",
        "cdc/model/schema_storage.go GetColumnDefaultValue",
    )
    storage_elements: bool = STORAGE(
        "Whether schema files have the members of ENUM and SET ((new 8.5.4+: %s))",
        "pkg/sink/cloudstorage/table_definition.go",
    )
    storage_exchange_of_plain: bool = STORAGE(
        "Whether the schema file of the plain table has the statement of EXCHANGE PARTITION ((new, 9.0 betas: %s)); "
        "elsewhere that of the partitioned one",
        "downstreamadapter/sink/cloudstorage/sink.go writeDDLEvent",
    )
    storage_selectors: bool = STORAGE(
        "Whether column selectors have an effect on files ((new 26.3.4+: %s))",
        "downstreamadapter/sink/cloudstorage/dml_writers.go",
        settings=("column-selectors",),
    )
    csv_virtual_columns: bool = STORAGE(
        "Whether rows of CSV have virtual generated columns ((new, 9.0 betas: %s))",
        "pkg/sink/codec/csv/csv_message.go",
        protocols=("csv",),
    )
    csv_header_lists_all: bool = STORAGE(
        "Whether the header of CSV names virtual generated columns ((new up to 8.5, up to 26.3.3: %s)), which no row has",
        "pkg/sink/codec/csv/csv_encoder.go setHeader",
        first=True,
        protocols=("csv",),
        settings=("output-field-header",),
    )
    csv_handle_key: bool = STORAGE(
        "Whether CSV has the handle with output-handle-key ((classic: %s)); elsewhere the setting has no effect",
        "pkg/sink/codec/csv/csv_message.go",
        first=True,
        protocols=("csv",),
        settings=("output-handle-key",),
    )
    csv_delimiter_bytes: int = STORAGE(
        "How many bytes a delimiter of CSV may have",
        "pkg/config/sink.go CSVConfig",
        then=": any number up to 7.3 (0), 1 in 7.4 and 7.5, 3 from 7.6 on (%s).",
        first=0,
        protocols=("csv",),
        settings=("delimiter",),
    )
    storage_empty_terminator: bool = STORAGE(
        "Whether an empty terminator is one ((7.2+: %s)); elsewhere it is as none, CR and LF",
        "pkg/config/sink.go validateAndAdjust",
        settings=("terminator",),
    )
    csv_delete_by_key: bool = STORAGE(
        "Whether enable-old-value = false leaves a DELETE in CSV its handle key alone ((6.5.0 to 6.5.2, 6.6 to 7.1.0: "
        "%s)); elsewhere it has all columns",
        "cdc/entry/mounter.go mountRowKVEntry",
        first=True,
        protocols=("csv",),
        settings=("enable-old-value",),
    )
    csv_disables_old_value: bool = STORAGE(
        "Whether CSV turns enable-old-value off ((6.5.3+, 7.1.1 to 7.3: %s))",
        "pkg/config/sink.go ForceDisableOldValueProtocols",
        protocols=("csv",),
    )
