"""Rows that show what releases do differently with a row's message, by the field of Release."""

from __future__ import annotations

from collections.abc import Mapping

from simulator.explain.examples.played import CANAL, OPEN, Example, Row, delete, insert, update

NO_OLD = "enable-old-value = false"
UPDATED = "&only-output-updated-columns=true"
NO_KEY = "CREATE TABLE t (a INT)"
WITHOUT_A = "[sink]\ncolumn-selectors = [{matcher = ['*.*'], columns = ['*', '!a']}]"
GENERATED = "CREATE TABLE t (id INT PRIMARY KEY, a INT AS (id) {})"
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


def column(type: str, *events: tuple[Row, ...], uri: str = OPEN, config: str = "") -> tuple[Example, ...]:
    """Of a table with `id` and a column `a`."""
    return (Example(events, f"CREATE TABLE t (id INT PRIMARY KEY, a {type})", uri, config),)


def valued(type: str, value: object, uri: str = OPEN) -> tuple[Example, ...]:
    """A new row."""
    return column(type, insert(id=1, a=value), uri=uri)


def changed(type: str, before: object, after: object, uri: str = OPEN, config: str = "") -> tuple[Example, ...]:
    """A row of which `a` changes."""
    return column(type, update(dict(id=1, a=before), dict(id=1, a=after)), uri=uri, config=config)


ROWS: Mapping[str, tuple[Example, ...]] = {
    "short_control_escapes": valued("VARCHAR(9)", "\b\f"),
    "primary_is_unique": (Example((insert(id=1),), "CREATE TABLE t (id INT, PRIMARY KEY (id) NONCLUSTERED)"),),
    "float_widened": valued("FLOAT", 3.14),
    "zerofill_bit": valued("INT ZEROFILL", 1),
    "generated_get_key_bits": (
        Example((insert(id=1, a=1),), "CREATE TABLE t (id INT PRIMARY KEY, a INT AS (id) STORED, UNIQUE KEY (a, id))"),
    ),
    "handle_may_be_virtual": (
        Example(
            (insert(a=1, b=1),),
            "CREATE TABLE t (a INT NOT NULL, b INT NOT NULL, v INT AS (a) VIRTUAL NOT NULL,"
            " UNIQUE KEY x (v), UNIQUE KEY y (a, b))",
        ),
    ),
    "handle_joins_unique": (
        Example(
            (insert(id=1, a=1),),
            "CREATE TABLE t (id INT, a INT NOT NULL, UNIQUE KEY (a), PRIMARY KEY (id) NONCLUSTERED)",
        ),
    ),
    "update_without_old_value": changed("INT", 1, 2, config=NO_OLD),
    "delete_without_old_value": column("INT", delete(id=1, a=1), config=NO_OLD),
    "claim_check_by_row": (Example((insert(id=1),), uri=LARGE.format(OPEN), config=CLAIMS),),
}

OPEN_ROWS: Mapping[str, tuple[Example, ...]] = {
    "quoted_unicode": (
        *valued("VARBINARY(9)", {"hex": "🫖".encode().hex()}),
        *valued("VARBINARY(9)", {"hex": "🫠".encode().hex()}),
    ),
    "record_overhead_counted": (
        Example((insert(id=1), insert(id=2)), uri=f"{OPEN}&max-message-bytes=280&max-batch-size=16"),
    ),
    "size_error": (Example((insert(id=1),), uri=LARGE.format(OPEN)),),
    "open_batch_size": (Example((insert(id=1), insert(id=2)), uri=f"{OPEN}&max-batch-size=1"),),
    "open_flags": (Example((insert(id=1),)),),
    "open_row_ids": (Example((insert(id=1),)),),
    "open_partition_ids": (Example((insert(id=1),), "CREATE TABLE t (id INT PRIMARY KEY) PARTITION BY HASH (id)"),),
    "open_partition_last": (Example((insert(id=1),), "CREATE TABLE t (id INT PRIMARY KEY) PARTITION BY HASH (id)"),),
    "open_old_values": changed("INT", 1, 2),
    "open_generated": (Example((insert(id=1, a=1),), GENERATED.format("STORED")),),
    "open_virtual": (Example((insert(id=1),), GENERATED.format("VIRTUAL")),),
    "open_marks_unique": column("INT NOT NULL UNIQUE", insert(id=1, a=1)),
    "open_sorts_columns": (Example((insert(b=1, a=1),), "CREATE TABLE t (b INT PRIMARY KEY, a INT)"),),
    "open_strings_base64": valued("VARCHAR(9)", "x"),
    "open_pads_exponents": valued("DOUBLE", "1e-7"),
    "open_time_fraction": valued("TIME(3)", "01:02:03.456"),
    "open_zero_is_null": valued("VARCHAR(9)", ""),
    "open_old_zero_is_null": changed("VARCHAR(9)", "", "x", OPEN + UPDATED),
    "open_old_flags_raw": changed("DATETIME", "2025-01-01 00:00:00", "2025-01-02 00:00:00", OPEN + UPDATED),
    "open_old_bits": changed("BIT(8)", 1, 2, OPEN + UPDATED),
    "open_old_nameless": changed("INT", 1, None, OPEN + UPDATED),
    "open_old_always": changed("INT", 1, 1, OPEN + UPDATED),
    "open_old_optional": changed("INT", 1, 2, config="[sink.open]\noutput-old-value = false"),
    "open_needs_columns": tuple(Example((delete(a=1),), NO_KEY, LARGE.format(OPEN), config) for config in HANDLE_ALONE),
    "open_names_operation": (Example((insert(a=1),), NO_KEY, OPEN, "force-replicate = true\n" + WITHOUT_A),),
    "open_location_repeats_ohk": (Example((insert(id=1),), uri=LARGE.format(OPEN), config=CLAIMS),),
}

CANAL_ROWS: Mapping[str, tuple[Example, ...]] = {
    "canal_column_order": (
        Example((insert(b=1, a=1),), "CREATE TABLE t (b INT PRIMARY KEY, a INT)", CANAL),
        Example(((Row(None, {"a": 1, "a!": 1}),),), "CREATE TABLE t (a INT PRIMARY KEY, `a!` INT)", CANAL),
    ),
    "canal_old_first": (Example((insert(id=1),), uri=CANAL),),
    "canal_old_everywhere": (Example((delete(id=1),), uri=CANAL),),
    "canal_wide_sql_types": valued("TEXT", "x", CANAL),
    "canal_unsigned_types": valued("INT UNSIGNED", 1, CANAL),
    "canal_zerofill_types": valued("INT ZEROFILL", 1, CANAL),
    "canal_latin1_strings": valued("VARBINARY(9)", {"hex": "ff"}, CANAL),
    "canal_fails_on_unsigned_null": valued("INT UNSIGNED", None, CANAL),
    "canal_size_limit": (Example((insert(id=1),), uri=LARGE.format(CANAL)),),
    "canal_ends_rows": (Example((insert(id=1),), uri=CANAL),),
    "canal_text_null": valued("VARCHAR(9)", "null", CANAL),
    "canal_zero_null": valued("VARCHAR(9)", "", CANAL),
    "canal_whole_seconds": valued("TIME(3)", "01:02:03.456", CANAL),
    "canal_virtual_columns": (Example((insert(id=1),), GENERATED.format("VIRTUAL"), CANAL),),
    "canal_blank_old_values": changed("INT", 1, 2, CANAL, WITHOUT_A),
    "canal_null_types": (
        Example(
            (delete(a=1),),
            "CREATE TABLE t (a INT NOT NULL, v INT AS (a) VIRTUAL NOT NULL, UNIQUE KEY x (v), UNIQUE KEY y (a, v))",
            CANAL,
            "[sink]\ndelete-only-output-handle-key-columns = true",
        ),
    ),
    "canal_compares_texts": changed("DOUBLE", "-0", "0", CANAL + UPDATED),
}
