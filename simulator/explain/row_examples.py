"""Examples of rows whose messages differ between releases, by the field of Release."""

from __future__ import annotations

from collections.abc import Mapping

from simulator.explain.playback import AVRO, CANAL, DEBEZIUM, OPEN, REGISTRY, SIMPLE, SIMPLE_AVRO, ReleaseExample

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

ONE, TWO, NO_MODE = "INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (1), (2)", "SET sql_mode = ''; "
BY_ID = "INSERT INTO t (id) VALUES (1)"
VIRTUAL_HANDLE = "CREATE TABLE t (a INT NOT NULL, b INT NOT NULL, v INT AS (a) VIRTUAL NOT NULL, UNIQUE KEY x (v), UNIQUE KEY y (a, b))"
MIDNIGHT, SHANGHAI = "'2025-01-01 00:00:00'", "Asia/Shanghai"


def inserted(type: str, literal: str, uri: str = OPEN, config: str = "", zone: str = "") -> ReleaseExample:
    """Return an example of a value in a column `a`."""
    script = f"INSERT INTO t VALUES (1, {literal})"
    return ReleaseExample(script, f"CREATE TABLE t (id INT PRIMARY KEY, a {type})", uri, config, zone)


def updated(type: str, before: str, after: str, uri: str = OPEN, config: str = "") -> ReleaseExample:
    """Return an example of a value in a column `a` that another one replaces."""
    given = f"CREATE TABLE t (id INT PRIMARY KEY, a {type}); INSERT INTO t VALUES (1, {before})"
    return ReleaseExample(f"UPDATE t SET a = {after}", given, uri, config)


def deleted(given: str = "CREATE TABLE t (id INT PRIMARY KEY)", uri: str = OPEN, config: str = "") -> ReleaseExample:
    """Return an example of a row that is deleted."""
    return ReleaseExample("DELETE FROM t", f"{given}; INSERT INTO t VALUES (1)", uri, config)


Examples = Mapping[str, tuple[ReleaseExample, ...]]

ROWS: Examples = {
    "short_control_escapes": (inserted("VARCHAR(9)", "CHAR(8, 12)"),),
    "rows_in_server_zone": (inserted("TIMESTAMP", MIDNIGHT, zone=SHANGHAI),),
    "primary_is_unique": (ReleaseExample(ONE, "CREATE TABLE t (id INT, PRIMARY KEY (id) NONCLUSTERED)"),),
    "float_widened": (inserted("FLOAT", "3.14"),),
    "zerofill_bit": (inserted("INT ZEROFILL", "1"),),
    "generated_get_key_bits": (
        ReleaseExample(BY_ID, "CREATE TABLE t (id INT PRIMARY KEY, a INT AS (id) STORED, UNIQUE KEY (a, id))"),
    ),
    "handle_may_be_virtual": (ReleaseExample("INSERT INTO t (a, b) VALUES (1, 1)", VIRTUAL_HANDLE),),
    "handle_joins_unique": (
        ReleaseExample(
            "INSERT INTO t VALUES (1, 1)",
            "CREATE TABLE t (id INT, a INT NOT NULL, UNIQUE KEY (a), PRIMARY KEY (id) NONCLUSTERED)",
        ),
    ),
    "update_without_old_value": (updated("INT", "1", "2", config=NO_OLD),),
    "delete_without_old_value": (
        ReleaseExample(
            "DELETE FROM t", "CREATE TABLE t (id INT PRIMARY KEY, a INT); INSERT INTO t VALUES (1, 1)", config=NO_OLD
        ),
    ),
    "empty_changes": tuple(
        ReleaseExample(INSERTED_AND_DELETED, uri=uri, config="enable-old-value = true") for uri in (OPEN, CANAL)
    ),
    "empty_deletes": tuple(
        ReleaseExample(INSERTED_AND_DELETED, f"CREATE TABLE t (id INT, PRIMARY KEY (id){kind})", config=NO_OLD)
        for kind in ("", " NONCLUSTERED")
    ),
    "claim_check_by_row": (ReleaseExample(ONE, uri=LARGE.format(OPEN), config=CLAIMS),),
}

OPEN_ROWS: Examples = {
    "older_rows": (
        ReleaseExample(
            "DELETE FROM t",
            "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1); ALTER TABLE t ADD a INT NOT NULL DEFAULT 5; "
            "ALTER TABLE t ALTER a SET DEFAULT 6",
        ),
    ),
    "literal_defaults": tuple(
        ReleaseExample(
            "DELETE FROM t",
            "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1); "
            f"ALTER TABLE t ADD a {column} NOT NULL DEFAULT {literal}",
        )
        for column, literal in (("INT", "1.50"), ("DATE", "'2020-1-1'"), ("ENUM('x', 'y')", "2"))
    ),
    "older_timestamps_in_utc": (
        ReleaseExample(
            "DELETE FROM t",
            "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1); "
            "ALTER TABLE t ADD a TIMESTAMP DEFAULT '2025-01-01 00:00:00'",
            time_zone=SHANGHAI,
        ),
    ),
    "quoted_unicode": tuple(inserted("VARBINARY(9)", f"'{character}'") for character in "🫖🫠"),
    "record_overhead_counted": (ReleaseExample(TWO, uri=f"{OPEN}&max-message-bytes=280&max-batch-size=16"),),
    "size_error": (ReleaseExample(ONE, uri=LARGE.format(OPEN)),),
    "open_batch_size": (ReleaseExample(TWO, uri=f"{OPEN}&max-batch-size=1"),),
    "open_flags": (ReleaseExample(ONE),),
    "open_row_ids": (ReleaseExample(ONE),),
    "open_partition_ids": (ReleaseExample(ONE, "CREATE TABLE t (id INT PRIMARY KEY) PARTITION BY HASH (id)"),),
    "open_partition_last": (ReleaseExample(ONE, "CREATE TABLE t (id INT PRIMARY KEY) PARTITION BY HASH (id)"),),
    "open_old_values": (updated("INT", "1", "2"),),
    "open_generated": (ReleaseExample(BY_ID, GENERATED.format("STORED")),),
    "open_virtual": (ReleaseExample(BY_ID, GENERATED.format("VIRTUAL")),),
    "open_marks_unique": (inserted("INT NOT NULL UNIQUE", "1"),),
    "open_sorts_columns": (ReleaseExample("INSERT INTO t VALUES (1, 1)", "CREATE TABLE t (b INT PRIMARY KEY, a INT)"),),
    "open_strings_base64": (inserted("VARCHAR(9)", "'x'"),),
    "open_pads_exponents": (inserted("DOUBLE", "1e-7"),),
    "open_time_fraction": (inserted("TIME(3)", "'01:02:03.456'"),),
    "open_zero_is_null": (inserted("VARCHAR(9)", "''"),),
    "open_old_zero_is_null": (updated("VARCHAR(9)", "''", "'x'", OPEN + UPDATED),),
    "open_old_flags_raw": (updated("DATETIME", MIDNIGHT, "'2025-01-02 00:00:00'", OPEN + UPDATED),),
    "open_old_bits": (updated("BIT(8)", "1", "2", OPEN + UPDATED),),
    "open_old_nameless": (updated("INT", "1", "NULL", OPEN + UPDATED),),
    "open_old_always": (updated("INT", "1", "2", OPEN + UPDATED, WITHOUT_A),),
    "open_old_optional": (updated("INT", "1", "2", config="[sink.open]\noutput-old-value = false"),),
    "open_needs_columns": tuple(deleted(NO_KEY, LARGE.format(OPEN), config) for config in HANDLE_ALONE),
    "open_names_operation": (ReleaseExample(ONE, NO_KEY, config="force-replicate = true\n" + WITHOUT_A),),
    "open_location_repeats_ohk": (ReleaseExample(ONE, uri=LARGE.format(OPEN), config=CLAIMS),),
}

CANAL_ROWS: Examples = {
    "canal_column_order": (
        ReleaseExample("INSERT INTO t VALUES (1, 1)", "CREATE TABLE t (b INT PRIMARY KEY, a INT)", CANAL),
        ReleaseExample("INSERT INTO t VALUES (1, 1)", "CREATE TABLE t (a INT PRIMARY KEY, `a!` INT)", CANAL),
    ),
    "canal_old_first": (ReleaseExample(ONE, uri=CANAL),),
    "canal_old_everywhere": (deleted(uri=CANAL),),
    "canal_wide_sql_types": (inserted("TEXT", "'x'", CANAL),),
    "canal_unsigned_types": (inserted("INT UNSIGNED", "1", CANAL),),
    "canal_zerofill_types": (inserted("INT ZEROFILL", "1", CANAL),),
    "canal_latin1_strings": (inserted("VARBINARY(9)", "x'ff'", CANAL),),
    "canal_fails_on_unsigned_null": (inserted("INT UNSIGNED", "NULL", CANAL),),
    "canal_size_limit": (ReleaseExample(ONE, uri=LARGE.format(CANAL)),),
    "canal_ends_rows": (ReleaseExample(ONE, uri=CANAL),),
    "canal_text_null": (inserted("VARCHAR(9)", "'null'", CANAL),),
    "canal_zero_null": (inserted("VARCHAR(9)", "''", CANAL),),
    "canal_whole_seconds": (inserted("TIME(3)", "'01:02:03.456'", CANAL),),
    "canal_virtual_columns": (ReleaseExample(BY_ID, GENERATED.format("VIRTUAL"), CANAL),),
    "canal_blank_old_values": (updated("INT", "1", "2", CANAL, WITHOUT_A),),
    "canal_null_types": (
        ReleaseExample(
            "DELETE FROM t",
            f"{VIRTUAL_HANDLE}; INSERT INTO t (a, b) VALUES (1, 1)",
            CANAL,
            "[sink]\ndelete-only-output-handle-key-columns = true",
        ),
    ),
    "canal_compares_texts": (),  # TiDB stores -0 as 0 (pkg/util/codec/float.go), so that only an encoder by itself shows it
}

AVRO_ROWS: Examples = {
    "avro_records": tuple(inserted("DATE NOT NULL", "'2024-01-01'", AVRO, config) for config in ("", REGISTRY)),
    "avro_key": (ReleaseExample(ONE, "CREATE TABLE t (a INT NOT NULL UNIQUE)", AVRO, REGISTRY),),
    "avro_delete": (*(deleted(uri=AVRO + more, config=REGISTRY) for more in ("", AVRO_WATERMARKS)), deleted(uri=AVRO)),
    "avro_json_crashes": (inserted("JSON", "'1'", AVRO),),
    "avro_unsigned_crashes": (inserted("TINYINT UNSIGNED", "1", AVRO),),
    "avro_refuses_floats": (inserted("FLOAT", "1", AVRO),),
    "avro_zero_dates": (
        ReleaseExample(
            NO_MODE + "INSERT INTO t VALUES (1, '0000-00-00')", "CREATE TABLE t (id INT PRIMARY KEY, a DATE)", AVRO
        ),
    ),
    "avro_instants": (inserted("TIMESTAMP", MIDNIGHT, AVRO, zone=SHANGHAI),),
    "avro_virtual_columns": (ReleaseExample(BY_ID, GENERATED.format("VIRTUAL"), AVRO, REGISTRY),),
    "avro_selectors": (inserted("INT", "1", AVRO, REGISTRY + SELECTORS),),
    "avro_whole_bits": (inserted("BIT(16)", "1", AVRO, REGISTRY),),
    "avro_short_escapes": (ReleaseExample("CREATE DATABASE `\b`", uri=AVRO + AVRO_WATERMARKS, config=REGISTRY),),
    "avro_null_text": (inserted("VARCHAR(9) DEFAULT 'null'", "'x'", AVRO, REGISTRY),),
}

DEBEZIUM_ROWS: Examples = {
    "debezium_keys": (ReleaseExample(ONE, uri=DEBEZIUM),),
    "debezium_cleans_names": (inserted("ENUM('x,y')", "'x,y'", DEBEZIUM),),
    "debezium_defaults": (inserted("DATETIME DEFAULT '2024-01-01'", "NULL", DEBEZIUM),),
    "debezium_null_is_default": (inserted("INT DEFAULT 5", "NULL", DEBEZIUM),),
    "debezium_null_by_type": (inserted("YEAR DEFAULT 2024", "NULL", DEBEZIUM),),
    "debezium_null_enum": (inserted("ENUM('x') DEFAULT 'x'", "NULL", DEBEZIUM),),
    "debezium_moves_years": (inserted("DATE", "'0018-01-01'", DEBEZIUM),),
    "debezium_stops_at_odd_dates": (
        ReleaseExample(
            NO_MODE + "INSERT INTO t VALUES (1, '2024-01-00')",
            "CREATE TABLE t (id INT PRIMARY KEY, a DATETIME)",
            DEBEZIUM,
        ),
    ),
    "debezium_virtual_fields": (ReleaseExample(BY_ID, GENERATED.format("VIRTUAL"), DEBEZIUM),),
    "debezium_virtual_columns": (ReleaseExample(BY_ID, GENERATED.format("VIRTUAL"), DEBEZIUM),),
    "debezium_scaled_float_is_double": (inserted("FLOAT(5,2)", "1.5", DEBEZIUM),),
    "debezium_selectors": (inserted("INT", "1", DEBEZIUM, WITHOUT_A),),
    "debezium_statements": (ReleaseExample("CREATE DATABASE shop", uri=DEBEZIUM),),
    "debezium_source_extension": (ReleaseExample(ONE, uri=DEBEZIUM + "&enable-tidb-extension=true"),),
}

PARTITIONED = "CREATE TABLE t (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 2"
RANGES = "CREATE TABLE t (id INT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (9))"
ADDED = "ALTER TABLE t ADD PARTITION (PARTITION q VALUES LESS THAN (99))"
AT_START = "[sink]\nsend-all-bootstrap-at-start = true"

MAXWELL = "protocol=maxwell&partition-num=1"
MAXWELL_ROWS: Examples = {
    "maxwell_lengths": (ReleaseExample(ONE, uri=MAXWELL),),
    "maxwell_batches": (ReleaseExample(TWO, uri=MAXWELL),),
    "maxwell_crashes_on_databases": (ReleaseExample("CREATE DATABASE a", uri=MAXWELL),),
}

SIMPLE_ROWS: Examples = {
    "simple_origin_defaults": (
        ReleaseExample(
            "INSERT INTO t VALUES (1, 1)",
            "CREATE TABLE t (id INT PRIMARY KEY); ALTER TABLE t ADD COLUMN a INT NOT NULL",
            SIMPLE,
        ),
    ),
    "simple_partition_ids": (ReleaseExample(ONE, PARTITIONED, SIMPLE),),
    "simple_bootstraps_partitions": (ReleaseExample(TWO, PARTITIONED, SIMPLE),),
    "simple_implicit_primary": (ReleaseExample(ONE, "CREATE TABLE t (a INT NOT NULL UNIQUE)", SIMPLE),),
    "simple_location": (inserted("TIMESTAMP", MIDNIGHT, SIMPLE),),
    "simple_sorts_columns": (
        ReleaseExample(
            "INSERT INTO t VALUES (1, 1)",
            "CREATE TABLE t (id INT PRIMARY KEY); ALTER TABLE t ADD COLUMN a INT FIRST",
            SIMPLE,
        ),
    ),
    "simple_sorted": (
        ReleaseExample(
            f"INSERT INTO t VALUES ({MIDNIGHT}, 1)",
            "CREATE TABLE t (id INT PRIMARY KEY); ALTER TABLE t ADD COLUMN a TIMESTAMP FIRST",
            SIMPLE,
        ),
    ),
    "simple_short_escapes": (inserted("VARCHAR(9)", r"'\b'", SIMPLE),),
    "simple_float_exponents": (inserted("DOUBLE", "1e30", SIMPLE),),
    "simple_bit_texts": (inserted("BIT(8)", "5", SIMPLE_AVRO),),
    "simple_timestamp_scale": (inserted("TIMESTAMP", MIDNIGHT, SIMPLE_AVRO),),
    "simple_bootstrap_ids": (ReleaseExample(f"{ADDED}; INSERT INTO t VALUES (1), (10)", RANGES, SIMPLE),),
    "simple_start_bootstraps": (ReleaseExample(ONE, PARTITIONED, SIMPLE, AT_START),),
    "simple_first_form": (inserted("ENUM('x')", "'x'", SIMPLE),),
    "simple_first_partition": (ReleaseExample(ONE, uri="protocol=simple&partition-num=2"),),
    "simple_virtual_columns": (ReleaseExample(BY_ID, GENERATED.format("VIRTUAL"), SIMPLE),),
    "simple_decimal_signs": (inserted("DECIMAL(8, 2)", "1.50", SIMPLE_AVRO),),
    "simple_exchange_alters": (
        ReleaseExample(
            "ALTER TABLE t EXCHANGE PARTITION p WITH TABLE u", f"{RANGES}; CREATE TABLE u (id INT PRIMARY KEY)", SIMPLE
        ),
    ),
    "simple_tells_before": (ReleaseExample("ALTER TABLE t ADD COLUMN a INT", uri=SIMPLE),),
}
