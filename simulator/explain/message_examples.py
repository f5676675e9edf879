"""Examples of topics, partitions, messages, their order, and of statements in different releases, by the field of Release."""

from __future__ import annotations

from collections.abc import Iterator

from simulator.explain.playback import CANAL, OPEN, ReleaseExample
from simulator.explain.row_examples import ONE, VIRTUAL_HANDLE, Examples

SEVERAL = "protocol=open-protocol&partition-num=16"
DISPATCH = "[sink]\ndispatchers = [{matcher = ['*.*'], %s}]"
OLD_DISPATCH = DISPATCH % "dispatcher = '%s'"
BY = DISPATCH % "partition = '%s'"
BY_COLUMNS = DISPATCH % "partition = 'columns', columns = ['%s']"
TO = DISPATCH % "topic = '%s'"
LEAVING = "column-selectors = [{matcher = ['*.*'], columns = ['*', '!%s']}]"
SELECT = "[sink]\n" + LEAVING
TWO_COLUMNS = "CREATE TABLE t (id INT PRIMARY KEY, a INT)"
UNIQUE = "CREATE TABLE t (id INT PRIMARY KEY, a INT UNIQUE)"
VIRTUAL = "CREATE TABLE t (id INT PRIMARY KEY, v INT AS (id) VIRTUAL, a INT, b INT)"
NO_OLD = "enable-old-value = false"
RAW = "[sink.kafka-config]\noutput-raw-change-event = true"
NO_DELETES = "[[filter.event-filters]]\nmatcher = ['*.*']\nignore-event = ['delete']"
FOLDED = "CREATE TABLE t (a VARCHAR(9) COLLATE utf8mb4_general_ci PRIMARY KEY)"
ONE_ONE, INSERT_A_B = "INSERT INTO t VALUES (1, 1)", "INSERT INTO t (id, a, b) VALUES (1, 2, 3)"

MOVED = "UPDATE t SET a = 2 WHERE id = 1"
HAS_ONE = f"{UNIQUE}; INSERT INTO t VALUES (1, 1)"

PLACES: Examples = {
    "dispatchers": (
        ReleaseExample(ONE, uri=SEVERAL, config=OLD_DISPATCH % "index-value"),
        ReleaseExample(ONE, uri=SEVERAL, config=BY_COLUMNS % "id"),
    ),
    "default_dispatcher": (ReleaseExample(ONE, uri=SEVERAL), ReleaseExample(ONE, uri=SEVERAL, config=NO_OLD)),
    "rowid_is_row_id": (ReleaseExample(ONE, uri=SEVERAL, config=OLD_DISPATCH % "rowid"),),
    "dispatch_needs_index": (ReleaseExample(uri=SEVERAL, config=BY % "index-value", warns=True),),
    "dispatch_ignores_case": (ReleaseExample(ONE, uri=SEVERAL, config=BY_COLUMNS % "ID"),),
    "dispatch_lowers_names": (ReleaseExample(ONE, "CREATE TABLE t (ID INT PRIMARY KEY)", SEVERAL, BY_COLUMNS % "ID"),),
    "dispatch_skips_virtual": (ReleaseExample(INSERT_A_B, VIRTUAL, SEVERAL, BY_COLUMNS % "a"),),
    "dispatch_refuses_virtual": (ReleaseExample(INSERT_A_B, VIRTUAL, SEVERAL, BY_COLUMNS % "v"),),
    "dispatch_nulls": (
        ReleaseExample("INSERT INTO t VALUES (1, NULL)", TWO_COLUMNS, SEVERAL, BY_COLUMNS % "a"),
        ReleaseExample("INSERT INTO t (a, b) VALUES (1, 1)", VIRTUAL_HANDLE, SEVERAL, BY % "index-value"),
    ),
    "dispatch_time_fraction": (
        ReleaseExample(
            "INSERT INTO t VALUES (1, '01:02:03.456')",
            "CREATE TABLE t (id INT PRIMARY KEY, a TIME(3))",
            SEVERAL,
            BY_COLUMNS % "a",
        ),
    ),
    "topic_rules": tuple(
        ReleaseExample(ONE, config=TO % topic) for topic in ("of_{schema}", "plain", "{schema}_{table}_")
    ),
    "column_selectors": (
        ReleaseExample(ONE_ONE, TWO_COLUMNS, config=SELECT % "a"),
        ReleaseExample(
            ONE_ONE,
            "CREATE TABLE t (id INT PRIMARY KEY, a INT NOT NULL UNIQUE)",
            SEVERAL,
            BY % "index-value" + "\n" + LEAVING % "id",
        ),
    ),
    "selectors_checked": (ReleaseExample(ONE_ONE, TWO_COLUMNS, SEVERAL, BY_COLUMNS % "a" + "\n" + LEAVING % "a"),),
    "selectors_want_key": (ReleaseExample(ONE, "CREATE TABLE t (a INT NOT NULL UNIQUE)", config=SELECT % "a"),),
}

SPLITS: Examples = {
    "update_split": (
        ReleaseExample(MOVED, HAS_ONE),
        ReleaseExample(f"BEGIN; {MOVED}; INSERT INTO t VALUES (2, 3); COMMIT", HAS_ONE),
    ),
    "split_by_text": (
        ReleaseExample(
            "UPDATE t SET a = 'null'",
            "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(9) UNIQUE); INSERT INTO t VALUES (1, NULL)",
        ),
    ),
    "split_interleaved": (
        ReleaseExample(
            f"BEGIN; {MOVED}; UPDATE t SET a = 5 WHERE id = 2; INSERT INTO t VALUES (3, 6); COMMIT",
            f"{UNIQUE}; INSERT INTO t VALUES (1, 1), (2, 4)",
        ),
        ReleaseExample(f"BEGIN; INSERT INTO t VALUES (0, 6); {MOVED}; COMMIT", HAS_ONE),
    ),
    "raw_change_events": (ReleaseExample(MOVED, HAS_ONE, config=RAW),),
    "filters_halves": (ReleaseExample(MOVED, HAS_ONE, config=NO_DELETES),),
    "handle_split": (
        ReleaseExample("UPDATE t SET a = UPPER(a)", f"{FOLDED}; INSERT INTO t VALUES ('a'), ('b')", config=NO_OLD),
    ),
    "updates_before_inserts": (
        ReleaseExample(
            "BEGIN; INSERT INTO t VALUES (1, 1); UPDATE t SET a = 3 WHERE id = 2; COMMIT",
            f"{TWO_COLUMNS}; INSERT INTO t VALUES (2, 2)",
        ),
    ),
}

SHARED: Examples = {
    "group_by_partition_key": (
        ReleaseExample(
            f"BEGIN; {ONE}; INSERT INTO u VALUES (1); COMMIT",
            "CREATE TABLE t (id INT PRIMARY KEY); CREATE TABLE u (id INT PRIMARY KEY)",
        ),
    ),
    "flush_rows": (
        ReleaseExample(
            "SET cte_max_recursion_depth = 3000; INSERT INTO t WITH RECURSIVE n (id) AS "
            "(SELECT 1 UNION ALL SELECT id + 1 FROM n WHERE id < 2049) SELECT id FROM n",
            uri=f"{OPEN}&max-batch-size=1000",
        ),
    ),
}


TWO_OF_CANAL = "protocol=canal-json&partition-num=2"
TWO = "CREATE TABLE a (id INT PRIMARY KEY); CREATE TABLE b (id INT PRIMARY KEY)"
SHOP = "CREATE DATABASE Shop; CREATE DATABASE store; CREATE TABLE Shop.a (id INT PRIMARY KEY)"
SHOPS = SHOP + "; CREATE TABLE Shop.b (id INT PRIMARY KEY)"
PARENT = (
    "CREATE TABLE a (id INT PRIMARY KEY); "
    "CREATE TABLE b (id INT PRIMARY KEY, a INT, FOREIGN KEY (a) REFERENCES a (id) ON DELETE CASCADE)"
)
PARTITIONED = (
    "CREATE TABLE t (id INT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION `{}` VALUES LESS THAN (9)); "
    "CREATE TABLE u (id INT PRIMARY KEY)"
)
QUOTED = "CREATE TABLE `a``b` (id INT PRIMARY KEY)"
PLAIN = "CREATE TABLE t (id INT PRIMARY KEY)"
UNDER_MODE = "SET sql_mode = 'REAL_AS_FLOAT'; CREATE TABLE a (r REAL PRIMARY KEY)"
EXCHANGED = "ALTER TABLE t EXCHANGE PARTITION p WITH TABLE u WITHOUT VALIDATION"


def statement(text: str, given: str = PLAIN, uri: str = OPEN) -> tuple[ReleaseExample, ...]:
    return (ReleaseExample(text, given, uri),)


TEXTS: Examples = {
    "multi_schema_change": statement("ALTER TABLE t ADD COLUMN a INT, ADD COLUMN b INT"),
    "foreign_key_index": statement(
        "ALTER TABLE a ADD CONSTRAINT f FOREIGN KEY (b) REFERENCES b (id)",
        "CREATE TABLE b (id INT PRIMARY KEY); CREATE TABLE a (id INT PRIMARY KEY, b INT)",
    ),
    "foreign_key_checks": (
        ReleaseExample("INSERT INTO a VALUES (1); INSERT INTO b VALUES (7, 1); DELETE FROM a", PARENT),
    ),
    "rename_renews_ids": (
        ReleaseExample(
            "INSERT INTO t VALUES (1); RENAME TABLE t TO u; RENAME TABLE u TO t; INSERT INTO t VALUES (2)",
            "CREATE TABLE t (id INT NOT NULL UNIQUE)",
        ),
    ),
    "codes_search_indexes": statement(
        "ALTER TABLE t ADD FULLTEXT INDEX (a)", "CREATE TABLE t (id INT PRIMARY KEY, a TEXT)"
    ),
    "ddl_text": (
        *statement("create table a (id bigint primary key auto_random)"),
        *statement("create table a (id int primary key)"),
    ),
    "ddl_mark": statement("CREATE TABLE a (id INT NOT NULL UNIQUE) SHARD_ROW_ID_BITS = 2"),
    "ddl_text_placement": statement(
        "CREATE TABLE a (id INT PRIMARY KEY) PLACEMENT POLICY = p", "CREATE PLACEMENT POLICY p FOLLOWERS = 2"
    ),
    "ddl_text_ttl_off": statement("CREATE TABLE a (id INT PRIMARY KEY, d DATETIME) TTL = d + INTERVAL 1 DAY"),
    "ddl_text_charset": statement("SET NAMES utf8; CREATE TABLE a (id INT PRIMARY KEY, s VARCHAR(9) DEFAULT 'x')"),
    "ddl_text_mode": (ReleaseExample(UNDER_MODE), ReleaseExample(UNDER_MODE, config='sql-mode = "REAL_AS_FLOAT"')),
    "ddl_text_joined": (ReleaseExample("CREATE TABLE a (id INT PRIMARY KEY)", job_text=TWO),),
    "rebuilds_drop": statement("DROP TABLE IF EXISTS t"),
    "splits_renames": statement("RENAME TABLE a TO c, b TO d", TWO),
    "renames_in_lower_case": statement("RENAME TABLE Shop.a TO Shop.c, Shop.b TO Shop.d", SHOPS),
    "rebuilds_exchange": statement("ALTER TABLE t EXCHANGE PARTITION p WITH TABLE u", PARTITIONED.format("p")),
    "ddl_text_default_parentheses": statement("CREATE TABLE d (id INT PRIMARY KEY, a VARCHAR(40) DEFAULT (UUID()))"),
    "exchange_keeps_validation": statement(EXCHANGED, PARTITIONED.format("p")),
    "create_tables_code": (ReleaseExample(TWO, job_text=TWO),),
    "keeps_statement_end": statement("RENAME TABLE a TO c, b TO d", TWO),
    "escapes_rebuilt_names": statement("DROP TABLE `a``b`", QUOTED),
    "restores_rebuilt": (*statement("DROP TABLE `a``b`", QUOTED),),
    "rebuilds_rename": statement("RENAME TABLE t TO u"),
    "rename_as_written": (*statement("RENAME TABLE T TO u"), *statement("RENAME TABLE A TO c, B TO d", TWO)),
    "rename_quotes_names": statement("RENAME TABLE t TO `a``b`"),
    "rename_keeps_schemas": statement("RENAME TABLE SHOP.a TO SHOP.c, SHOP.b TO SHOP.d", SHOPS),
    "rename_finds_old_schema": (ReleaseExample("USE Shop; ALTER TABLE a RENAME TO store.a", SHOP),),
    "rename_event_in_lower_case": statement("RENAME TABLE Shop.a TO Shop.c", SHOP),
    "exchange_from_restored": (ReleaseExample(EXCHANGED, PARTITIONED.format("p"), job_text=f"{EXCHANGED} "),),
    "exchange_keeps_quotes": statement(
        "ALTER TABLE t EXCHANGE PARTITION `p``q` WITH TABLE u", PARTITIONED.format("p``q")
    ),
    "parses_index_splits": statement("ALTER TABLE t ADD INDEX i (id) PRE_SPLIT_REGIONS = 4", PLAIN),
    "create_like_finds_schema": (ReleaseExample("USE Shop; CREATE TABLE store.b LIKE a", SHOP),),
    "view_finds_schemas": (ReleaseExample("USE Shop; CREATE VIEW store.v AS SELECT id FROM a", SHOP),),
}


def each_code(uri: str, waits: bool = False) -> Iterator[ReleaseExample]:
    """Yield an example statement for each action type that releases treat differently."""
    for script, given in (
        ("ALTER TABLE t ADD COLUMN a INT", PLAIN),
        ("RENAME TABLE a TO c, b TO d", TWO),
        ("ALTER TABLE t CACHE", PLAIN),
        ("ALTER TABLE t ALTER INDEX k INVISIBLE", "CREATE TABLE t (id INT PRIMARY KEY, a INT, KEY k (a))"),
        ("ALTER TABLE t ADD COLUMN a INT, ADD COLUMN b INT", PLAIN),
        ("ALTER TABLE t REORGANIZE PARTITION p INTO (PARTITION q VALUES LESS THAN (9))", PARTITIONED.format("p")),
        ("ALTER TABLE t PARTITION BY HASH (id) PARTITIONS 2", PLAIN),
        ("ALTER TABLE t REMOVE PARTITIONING", PARTITIONED.format("p")),
    ):
        yield ReleaseExample(script, given, uri, waits=waits)


SENDING: Examples = {
    "single_table_ddl": tuple(each_code(OPEN, waits=True)),
    "watermark_after_ddl": (ReleaseExample("ALTER TABLE t ADD COLUMN a INT", watermarks=True),),
    "exchange_event_of_plain": statement("ALTER TABLE t EXCHANGE PARTITION p WITH TABLE u", PARTITIONED.format("p")),
    "canal_ddl_in_partition_0": statement("ALTER TABLE t ADD COLUMN a INT", uri=TWO_OF_CANAL),
    "tidb_extension": (ReleaseExample(ONE, uri=f"{CANAL}&enable-tidb-extension=true", watermarks=True),),
    "canal_build_time": (ReleaseExample(ONE, uri=CANAL),),
    "canal_renames": tuple(each_code(CANAL)),
    "canal_alters": tuple(each_code(CANAL)),
    "open_empty_names": statement("CREATE DATABASE shop"),
    "open_escapes_html": (
        ReleaseExample("INSERT INTO t VALUES (1, '<')", "CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(9))"),
    ),
}
