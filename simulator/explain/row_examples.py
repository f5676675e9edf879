"""Examples of rows whose messages differ between releases, by the field of Release."""

from __future__ import annotations

from collections.abc import Mapping

from simulator.explain.playback import (
    AVRO,
    CANAL,
    DEBEZIUM,
    OPEN,
    REGISTRY,
    SIMPLE,
    SIMPLE_AVRO,
    ExampleRow,
    ReleaseExample,
    delete,
    insert,
    update,
)

NO_OLD = "enable-old-value = false"
INSERTED_AND_DELETED = "BEGIN; INSERT INTO t VALUES (1); DELETE FROM t WHERE id = 1; COMMIT"
UPDATED = "&only-output-updated-columns=true"
NO_KEY = "CREATE TABLE t (a INT)"
SELECTORS = "\ncolumn-selectors = [{matcher = ['*.*'], columns = ['*', '!a']}]"
WITHOUT_A = "[sink]" + SELECTORS
GENERATED = "CREATE TABLE t (id INT PRIMARY KEY, a INT AS (id) {})"
AVRO_WATERMARKS = "&enable-tidb-extension=true&avro-enable-watermark=true"
LARGE = "{}&max-message-bytes=100"
KEYS = "[sink.kafka-config.large-message-handle]\nlarge-message-handle-option = 'handle-key-only'"
CLAIMS = (
    "[sink.kafka-config.large-message-handle]\nlarge-message-handle-option = 'claim-check'\n"
    "claim-check-storage-uri = 'memory://claims'"
)
HANDLE_ALONE = (
    "force-replicate = true\n" + KEYS,
    "force-replicate = true\n[sink]\ndelete-only-output-handle-key-columns = true",
    "force-replicate = true\n[sink]\nlarge-message-only-handle-key-columns = true",
)


def table_with_column(
    type: str, *events: tuple[ExampleRow, ...], uri: str = OPEN, config: str = ""
) -> tuple[ReleaseExample, ...]:
    """Return an example of a table with `id` and a column `a`."""
    return (ReleaseExample(events, f"CREATE TABLE t (id INT PRIMARY KEY, a {type})", uri, config),)


def inserted_value(type: str, value: object, uri: str = OPEN) -> tuple[ReleaseExample, ...]:
    return table_with_column(type, insert(id=1, a=value), uri=uri)


def updated_value(
    type: str, before: object, after: object, uri: str = OPEN, config: str = ""
) -> tuple[ReleaseExample, ...]:
    return table_with_column(type, update(dict(id=1, a=before), dict(id=1, a=after)), uri=uri, config=config)


TABLE_OF_TIMES, SHANGHAI = "CREATE TABLE t (id INT PRIMARY KEY, a TIMESTAMP)", "Asia/Shanghai"

ROWS: Mapping[str, tuple[ReleaseExample, ...]] = {
    "short_control_escapes": inserted_value("VARCHAR(9)", "\b\f"),
    "rows_in_server_zone": (
        ReleaseExample((insert(id=1, a="2025-01-01 00:00:00"),), TABLE_OF_TIMES, time_zone=SHANGHAI),
    ),
    "primary_is_unique": (ReleaseExample((insert(id=1),), "CREATE TABLE t (id INT, PRIMARY KEY (id) NONCLUSTERED)"),),
    "float_widened": inserted_value("FLOAT", 3.14),
    "zerofill_bit": inserted_value("INT ZEROFILL", 1),
    "generated_get_key_bits": (
        ReleaseExample(
            (insert(id=1, a=1),), "CREATE TABLE t (id INT PRIMARY KEY, a INT AS (id) STORED, UNIQUE KEY (a, id))"
        ),
    ),
    "handle_may_be_virtual": (
        ReleaseExample(
            (insert(a=1, b=1),),
            "CREATE TABLE t (a INT NOT NULL, b INT NOT NULL, v INT AS (a) VIRTUAL NOT NULL,"
            " UNIQUE KEY x (v), UNIQUE KEY y (a, b))",
        ),
    ),
    "handle_joins_unique": (
        ReleaseExample(
            (insert(id=1, a=1),),
            "CREATE TABLE t (id INT, a INT NOT NULL, UNIQUE KEY (a), PRIMARY KEY (id) NONCLUSTERED)",
        ),
    ),
    "update_without_old_value": updated_value("INT", 1, 2, config=NO_OLD),
    "delete_without_old_value": table_with_column("INT", delete(id=1, a=1), config=NO_OLD),
    "empty_changes": tuple(
        ReleaseExample((), uri=uri, config="enable-old-value = true", script=INSERTED_AND_DELETED)
        for uri in (OPEN, CANAL)
    ),
    "empty_deletes": tuple(
        ReleaseExample(
            (), f"CREATE TABLE t (id INT, PRIMARY KEY (id){kind})", OPEN, NO_OLD, script=INSERTED_AND_DELETED
        )
        for kind in ("", " NONCLUSTERED")
    ),
    "claim_check_by_row": (ReleaseExample((insert(id=1),), uri=LARGE.format(OPEN), config=CLAIMS),),
}

OPEN_ROWS: Mapping[str, tuple[ReleaseExample, ...]] = {
    "older_rows": (
        ReleaseExample(
            (),
            "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1); ALTER TABLE t ADD a INT NOT NULL DEFAULT 5; "
            "ALTER TABLE t ALTER a SET DEFAULT 6",
            OPEN,
            script="DELETE FROM t",
        ),
    ),
    "literal_defaults": tuple(
        ReleaseExample(
            (),
            "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1); "
            f"ALTER TABLE t ADD a {column} NOT NULL DEFAULT {literal}",
            OPEN,
            script="DELETE FROM t",
        )
        for column, literal in (("INT", "1.50"), ("DATE", "'2020-1-1'"), ("ENUM('x', 'y')", "2"))
    ),
    "older_timestamps_in_utc": (
        ReleaseExample(
            (),
            "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1); "
            "ALTER TABLE t ADD a TIMESTAMP DEFAULT '2025-01-01 00:00:00'",
            OPEN,
            script="DELETE FROM t",
            time_zone=SHANGHAI,
        ),
    ),
    "quoted_unicode": (
        *inserted_value("VARBINARY(9)", {"hex": "🫖".encode().hex()}),
        *inserted_value("VARBINARY(9)", {"hex": "🫠".encode().hex()}),
    ),
    "record_overhead_counted": (
        ReleaseExample((insert(id=1), insert(id=2)), uri=f"{OPEN}&max-message-bytes=280&max-batch-size=16"),
    ),
    "size_error": (ReleaseExample((insert(id=1),), uri=LARGE.format(OPEN)),),
    "open_batch_size": (ReleaseExample((insert(id=1), insert(id=2)), uri=f"{OPEN}&max-batch-size=1"),),
    "open_flags": (ReleaseExample((insert(id=1),)),),
    "open_row_ids": (ReleaseExample((insert(id=1),)),),
    "open_partition_ids": (
        ReleaseExample((insert(id=1),), "CREATE TABLE t (id INT PRIMARY KEY) PARTITION BY HASH (id)"),
    ),
    "open_partition_last": (
        ReleaseExample((insert(id=1),), "CREATE TABLE t (id INT PRIMARY KEY) PARTITION BY HASH (id)"),
    ),
    "open_old_values": updated_value("INT", 1, 2),
    "open_generated": (ReleaseExample((insert(id=1, a=1),), GENERATED.format("STORED")),),
    "open_virtual": (ReleaseExample((insert(id=1),), GENERATED.format("VIRTUAL")),),
    "open_marks_unique": table_with_column("INT NOT NULL UNIQUE", insert(id=1, a=1)),
    "open_sorts_columns": (ReleaseExample((insert(b=1, a=1),), "CREATE TABLE t (b INT PRIMARY KEY, a INT)"),),
    "open_strings_base64": inserted_value("VARCHAR(9)", "x"),
    "open_pads_exponents": inserted_value("DOUBLE", "1e-7"),
    "open_time_fraction": inserted_value("TIME(3)", "01:02:03.456"),
    "open_zero_is_null": inserted_value("VARCHAR(9)", ""),
    "open_old_zero_is_null": updated_value("VARCHAR(9)", "", "x", OPEN + UPDATED),
    "open_old_flags_raw": updated_value("DATETIME", "2025-01-01 00:00:00", "2025-01-02 00:00:00", OPEN + UPDATED),
    "open_old_bits": updated_value("BIT(8)", 1, 2, OPEN + UPDATED),
    "open_old_nameless": updated_value("INT", 1, None, OPEN + UPDATED),
    "open_old_always": updated_value("INT", 1, 1, OPEN + UPDATED),
    "open_old_optional": updated_value("INT", 1, 2, config="[sink.open]\noutput-old-value = false"),
    "open_needs_columns": tuple(
        ReleaseExample((delete(a=1),), NO_KEY, LARGE.format(OPEN), config) for config in HANDLE_ALONE
    ),
    "open_names_operation": (ReleaseExample((insert(a=1),), NO_KEY, OPEN, "force-replicate = true\n" + WITHOUT_A),),
    "open_location_repeats_ohk": (ReleaseExample((insert(id=1),), uri=LARGE.format(OPEN), config=CLAIMS),),
}

CANAL_ROWS: Mapping[str, tuple[ReleaseExample, ...]] = {
    "canal_column_order": (
        ReleaseExample((insert(b=1, a=1),), "CREATE TABLE t (b INT PRIMARY KEY, a INT)", CANAL),
        ReleaseExample(
            ((ExampleRow(None, {"a": 1, "a!": 1}),),), "CREATE TABLE t (a INT PRIMARY KEY, `a!` INT)", CANAL
        ),
    ),
    "canal_old_first": (ReleaseExample((insert(id=1),), uri=CANAL),),
    "canal_old_everywhere": (ReleaseExample((delete(id=1),), uri=CANAL),),
    "canal_wide_sql_types": inserted_value("TEXT", "x", CANAL),
    "canal_unsigned_types": inserted_value("INT UNSIGNED", 1, CANAL),
    "canal_zerofill_types": inserted_value("INT ZEROFILL", 1, CANAL),
    "canal_latin1_strings": inserted_value("VARBINARY(9)", {"hex": "ff"}, CANAL),
    "canal_fails_on_unsigned_null": inserted_value("INT UNSIGNED", None, CANAL),
    "canal_size_limit": (ReleaseExample((insert(id=1),), uri=LARGE.format(CANAL)),),
    "canal_ends_rows": (ReleaseExample((insert(id=1),), uri=CANAL),),
    "canal_text_null": inserted_value("VARCHAR(9)", "null", CANAL),
    "canal_zero_null": inserted_value("VARCHAR(9)", "", CANAL),
    "canal_whole_seconds": inserted_value("TIME(3)", "01:02:03.456", CANAL),
    "canal_virtual_columns": (ReleaseExample((insert(id=1),), GENERATED.format("VIRTUAL"), CANAL),),
    "canal_blank_old_values": updated_value("INT", 1, 2, CANAL, WITHOUT_A),
    "canal_null_types": (
        ReleaseExample(
            (delete(a=1),),
            "CREATE TABLE t (a INT NOT NULL, v INT AS (a) VIRTUAL NOT NULL, UNIQUE KEY x (v), UNIQUE KEY y (a, v))",
            CANAL,
            "[sink]\ndelete-only-output-handle-key-columns = true",
        ),
    ),
    "canal_compares_texts": updated_value("DOUBLE", "-0", "0", CANAL + UPDATED),
}

AVRO_ROWS: Mapping[str, tuple[ReleaseExample, ...]] = {
    "avro_records": tuple(
        example
        for config in ("", REGISTRY)
        for example in table_with_column("DATE NOT NULL", insert(id=1, a="2024-01-01"), uri=AVRO, config=config)
    ),
    "avro_key": (ReleaseExample((insert(a=1),), "CREATE TABLE t (a INT NOT NULL UNIQUE)", AVRO, REGISTRY),),
    "avro_delete": tuple(
        ReleaseExample((delete(id=1),), uri=AVRO + more, config=REGISTRY) for more in ("", AVRO_WATERMARKS)
    )
    + (ReleaseExample((delete(id=1),), uri=AVRO),),
    "avro_json_crashes": table_with_column("JSON", insert(id=1, a="1"), uri=AVRO),
    "avro_unsigned_crashes": table_with_column("TINYINT UNSIGNED", insert(id=1, a=1), uri=AVRO),
    "avro_refuses_floats": table_with_column("FLOAT", insert(id=1, a=1), uri=AVRO),
    "avro_zero_dates": table_with_column("DATE", insert(id=1, a="0000-00-00"), uri=AVRO),
    "avro_instants": (
        ReleaseExample((insert(id=1, a="2025-01-01 00:00:00"),), TABLE_OF_TIMES, AVRO, time_zone=SHANGHAI),
    ),
    "avro_virtual_columns": (ReleaseExample((insert(id=1),), GENERATED.format("VIRTUAL"), AVRO, REGISTRY),),
    "avro_selectors": table_with_column("INT", insert(id=1, a=1), uri=AVRO, config=REGISTRY + SELECTORS),
    "avro_whole_bits": table_with_column("BIT(16)", insert(id=1, a=1), uri=AVRO, config=REGISTRY),
    "avro_short_escapes": (ReleaseExample(("CREATE DATABASE `\b`",), uri=AVRO + AVRO_WATERMARKS, config=REGISTRY),),
    "avro_null_text": table_with_column("VARCHAR(9) DEFAULT 'null'", insert(id=1, a="x"), uri=AVRO, config=REGISTRY),
}

DEBEZIUM_ROWS: Mapping[str, tuple[ReleaseExample, ...]] = {
    "debezium_keys": (ReleaseExample((insert(id=1),), uri=DEBEZIUM),),
    "debezium_cleans_names": table_with_column("ENUM('x,y')", insert(id=1, a="x,y"), uri=DEBEZIUM),
    "debezium_defaults": table_with_column("DATETIME DEFAULT '2024-01-01'", insert(id=1, a=None), uri=DEBEZIUM),
    "debezium_null_is_default": inserted_value("INT DEFAULT 5", None, DEBEZIUM),
    "debezium_null_by_type": inserted_value("YEAR DEFAULT 2024", None, DEBEZIUM),
    "debezium_null_enum": inserted_value("ENUM('x') DEFAULT 'x'", None, DEBEZIUM),
    "debezium_moves_years": inserted_value("DATE", "0018-01-01", DEBEZIUM),
    "debezium_stops_at_odd_dates": inserted_value("DATETIME", "2024-01-00 00:00:00", DEBEZIUM),
    "debezium_virtual_fields": (ReleaseExample((insert(id=1),), GENERATED.format("VIRTUAL"), DEBEZIUM),),
    "debezium_virtual_columns": (ReleaseExample((insert(id=1),), GENERATED.format("VIRTUAL"), DEBEZIUM),),
    "debezium_scaled_float_is_double": inserted_value("FLOAT(5,2)", 1.5, DEBEZIUM),
    "debezium_selectors": table_with_column("INT", insert(id=1, a=1), uri=DEBEZIUM, config=WITHOUT_A),
    "debezium_statements": (ReleaseExample(("CREATE DATABASE shop",), uri=DEBEZIUM),),
    "debezium_source_extension": (ReleaseExample((insert(id=1),), uri=DEBEZIUM + "&enable-tidb-extension=true"),),
}

PARTITIONED = "CREATE TABLE t (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 2"
TWO_PARTITIONS = (insert(id=1), insert(id=2))
RANGES = "CREATE TABLE t (id INT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (9))"
ADDED = "ALTER TABLE t ADD PARTITION (PARTITION q VALUES LESS THAN (99))"
AT_START = "[sink]\nsend-all-bootstrap-at-start = true"

MAXWELL = "protocol=maxwell&partition-num=1"
MAXWELL_ROWS: Mapping[str, tuple[ReleaseExample, ...]] = {
    "maxwell_lengths": (ReleaseExample((insert(id=1),), uri=MAXWELL),),
    "maxwell_batches": (ReleaseExample((insert(id=1) + insert(id=2),), uri=MAXWELL),),
    "maxwell_crashes_on_databases": (ReleaseExample(("CREATE DATABASE a",), uri=MAXWELL),),
}

SIMPLE_ROWS: Mapping[str, tuple[ReleaseExample, ...]] = {
    "simple_origin_defaults": (
        ReleaseExample(
            (insert(id=1, a=1),), "CREATE TABLE t (id INT PRIMARY KEY); ALTER TABLE t ADD COLUMN a INT NOT NULL", SIMPLE
        ),
    ),
    "simple_partition_ids": (ReleaseExample((insert(id=1),), PARTITIONED, SIMPLE),),
    "simple_bootstraps_partitions": (ReleaseExample(TWO_PARTITIONS, PARTITIONED, SIMPLE),),
    "simple_implicit_primary": (ReleaseExample((insert(a=1),), "CREATE TABLE t (a INT NOT NULL UNIQUE)", SIMPLE),),
    "simple_location": inserted_value("TIMESTAMP", "2025-01-01 00:00:00", SIMPLE),
    "simple_sorts_columns": (
        ReleaseExample(
            (insert(id=1, a=1),), "CREATE TABLE t (id INT PRIMARY KEY); ALTER TABLE t ADD COLUMN a INT FIRST", SIMPLE
        ),
    ),
    "simple_sorted": (
        ReleaseExample(
            (insert(id=1, a="2025-01-01 00:00:00"),),
            "CREATE TABLE t (id INT PRIMARY KEY); ALTER TABLE t ADD COLUMN a TIMESTAMP FIRST",
            SIMPLE,
        ),
    ),
    "simple_short_escapes": inserted_value("VARCHAR(9)", "\b", SIMPLE),
    "simple_float_exponents": inserted_value("DOUBLE", "1e30", SIMPLE),
    "simple_bit_texts": inserted_value("BIT(8)", 5, SIMPLE_AVRO),
    "simple_timestamp_scale": inserted_value("TIMESTAMP", "2025-01-01 00:00:00", SIMPLE_AVRO),
    "simple_bootstrap_ids": (ReleaseExample((), RANGES, SIMPLE, script=f"{ADDED}; INSERT INTO t VALUES (1), (10)"),),
    "simple_start_bootstraps": (ReleaseExample((insert(id=1),), PARTITIONED, SIMPLE, AT_START),),
    "simple_first_form": inserted_value("ENUM('x')", "x", SIMPLE),
    "simple_first_partition": (ReleaseExample((insert(id=1),), uri="protocol=simple&partition-num=2"),),
    "simple_virtual_columns": (ReleaseExample((insert(id=1),), GENERATED.format("VIRTUAL"), SIMPLE),),
    "simple_decimal_signs": inserted_value("DECIMAL(8, 2)", "1.50", SIMPLE_AVRO),
    "simple_exchange_alters": (
        ReleaseExample(
            (),
            f"{RANGES}; CREATE TABLE u (id INT PRIMARY KEY)",
            SIMPLE,
            script="ALTER TABLE t EXCHANGE PARTITION p WITH TABLE u",
        ),
    ),
    "simple_tells_before": (ReleaseExample((), uri=SIMPLE, script="ALTER TABLE t ADD COLUMN a INT"),),
}
