"""Jobs that TiDB queues for a statement, with and without known tables, and the events that TiCDC sends for them."""

from __future__ import annotations

import pytest
from support.upstreams import after, assert_same_without_catalog, cases, grouped
from support.vectors.files import DEFAULT, files, kind, vectors

from simulator.errors import DdlError
from simulator.releases import V8_5, Release, find
from simulator.ticdc.ddl.events import job_events, sent_query
from simulator.ticdc.ddl.sent_text import execute_text
from simulator.tidb.ddl.catalog import Catalog, build_catalog
from simulator.tidb.ddl.execute import execute
from simulator.tidb.ddl.session import ExecutionResult, Job, Session
from simulator.tidb.ddl.table_definitions import create_table
from simulator.tidb.parser.ddl import parse_ddl_script
from simulator.tidb.syntax.expressions import TableName

CLASSIC, NEW, OLD = find("v8.5.3"), find("v8.5.7", "new"), find("v6.1.0")

SHOP = build_catalog(
    [
        create_table("CREATE TABLE Orders (Id INT PRIMARY KEY, note TEXT, KEY k (Id)) DEFAULT CHARSET utf8mb4", "Shop"),
        create_table("CREATE TABLE spread (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 4", "Shop"),
        create_table(
            "CREATE TABLE days (id INT) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (5), PARTITION p1"
            " VALUES LESS THAN (7))",
            "Shop",
        ),
        create_table("CREATE TABLE Week (id INT)", "Shop"),
    ],
    ["other"],
)
FAMILY = build_catalog(
    [
        create_table("CREATE TABLE parent (id INT PRIMARY KEY)", "shop"),
        create_table("CREATE TABLE child (a INT, b INT, KEY (a, b), id INT PRIMARY KEY)", "shop"),
    ]
)


def jobs_of(
    text: str, known: Catalog | None = None, release: Release = CLASSIC, database: str = "shop"
) -> tuple[Job, ...]:
    return execute_text(text, Session(database, known, release)).jobs


def steps(text: str, known: Catalog | None = None, release: Release = CLASSIC, database: str = "shop") -> str:
    """The codes of the jobs, with those of their sub-jobs: `5 61(7,9)`."""
    jobs = jobs_of(text, known, release, database)
    return " ".join(f"{job.code}({','.join(map(str, job.sub_jobs))})".replace("()", "") for job in jobs) or "(none)"


def queries(text: str, release: Release) -> list[str]:
    """Return the queries of all events."""
    return [sent_query(event, release) for job in jobs_of(text, SHOP, release) for event in job_events(job, release)]


def error_of(text: str, known: Catalog | None = None, release: Release = CLASSIC, database: str = "shop") -> str:
    with pytest.raises(DdlError) as caught:
        jobs_of(text, known, release, database)
    return f"{caught.value.code} {caught.value.text}"


JOBS = grouped("""
    DROP TABLE a, shop.b => 4 4
    DROP VIEW IF EXISTS v, w => 24 24
    DROP SEQUENCE s, t => 36 36
    RENAME TABLE a TO b | ALTER TABLE a RENAME TO b => 14
    RENAME TABLE a TO b, c TO d => 47
    ALTER DATABASE CHARSET utf8mb4 => 26
    ALTER DATABASE shop PLACEMENT POLICY p COLLATE utf8mb4_bin => 26 55
    ALTER TABLE t SHARD_ROW_ID_BITS 4 COMMENT 'c' CHARSET utf8mb4 COLLATE utf8mb4_bin => 16 17 22
    ALTER TABLE t PLACEMENT POLICY p COMMENT 'c' => 17 56
    ALTER TABLE t TTL = c + INTERVAL 1 DAY TTL_ENABLE = 'OFF' TTL_JOB_INTERVAL = '1h' => 65
    ALTER TABLE t ADD COLUMN a INT, LOCK = NONE, ALGORITHM = INPLACE | ALTER TABLE t ADD COLUMN (a INT) => 5
    ALTER TABLE t ADD COLUMN (a INT, b INT) | ALTER TABLE t ADD FULLTEXT INDEX (a), ADD COLUMN b INT => 61
    ALTER TABLE t ADD COLUMN a INT, ADD CHECK (a > 0) => 61
    ALTER TABLE t ADD COLUMN IF NOT EXISTS a INT, ADD INDEX (a) => 61
    ALTER TABLE t DROP INDEX `Primary` => 33
    ALTER TABLE t RENAME INDEX a TO a, ENGINE = InnoDB => (none)
    ALTER TABLE t ADD CHECK (a > 0), ALTER CHECK c NOT ENFORCED, DROP CHECK d => (none)
    ALTER TABLE t LAST PARTITION LESS THAN (10) => 19
    ALTER TABLE t ADD PARTITION PARTITIONS 4 => 64
    UNLOCK TABLES => 28
    FLASHBACK CLUSTER TO TIMESTAMP '2024-01-01 00:00:00' => 62
""")


@pytest.mark.parametrize(("text", "expected"), [*JOBS, ("", "(none)")])
def test_a_statement_has_these_jobs(text: str, expected: str) -> None:
    assert (" ".join(str(job.code) for job in jobs_of(text)) or "(none)") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ALTER TABLE t ADD COLUMN a INT, ADD COLUMN b INT", "37"),
        ("ALTER TABLE t ADD COLUMN (a INT, b INT)", "37"),
        ("ALTER TABLE t DROP COLUMN a, DROP COLUMN b", "38"),
        ("ALTER TABLE t DROP COLUMN a, DROP COLUMN IF EXISTS c", "38"),
        ("ALTER TABLE t DROP INDEX a, DROP PRIMARY KEY", "48"),
    ],
)
def test_before_multi_schema_change_specs_of_one_kind_are_one_job(text: str, expected: str) -> None:
    """Specs of several kinds are an error, whatever they are about."""
    assert steps(text, release=OLD) == expected
    error = "ddl:8200 Unsupported multi schema change"
    assert error_of("ALTER TABLE t ADD COLUMN a INT, DROP COLUMN b", release=OLD) == error
    assert error_of("ALTER TABLE orders ADD COLUMN c INT, DROP COLUMN nope", SHOP, OLD) == error


UNSUPPORTED = cases("""
    ALTER TABLE t ADD COLUMN a INT, CACHE => Unsupported multi schema change for alter table cache
    ALTER TABLE t ADD COLUMN a INT, RENAME TO b => Unsupported multi schema change for rename table
    ALTER TABLE t DROP COLUMN A, ADD COLUMN a INT => Unsupported operate same column 'a'
    ALTER TABLE t MODIFY a INT, ADD INDEX (A) => Unsupported operate same column 'a'
    ALTER TABLE t ADD COLUMN a INT, ADD COLUMN b INT AFTER a => Unsupported operate same column 'a'
    ALTER TABLE t DROP INDEX i, ADD INDEX I (a) => Unsupported operate same index 'i'
    ALTER TABLE t ADD INDEX (a), ADD INDEX (a) => Unsupported operate same index 'a'
    ALTER TABLE t FORCE => Unsupported Unsupported/unknown ALTER TABLE specification
    ALTER TABLE t REPAIR PARTITION p0 => Unsupported repair partition
    ALTER TABLE t MAX_ROWS = 10 => This type of ALTER TABLE is currently unsupported
    ALTER TABLE t ADD COLUMN a INT UNIQUE => unsupported add column 'a' constraint UNIQUE KEY when altering 'shop.t'
    CREATE FULLTEXT INDEX f ON t (a) => FULLTEXT and SPATIAL index is not supported
    FLASHBACK DATABASE shop TO TIMESTAMP '2024-01-01' => Unsupported FLASHBACK database TO TIMESTAMP
""")


@pytest.mark.parametrize(("text", "error"), UNSUPPORTED)
def test_an_unsupported_statement_raises_tidbs_error(text: str, error: str) -> None:
    assert error_of(text) == f"ddl:8200 {error}"


EMPTY = build_catalog((), ["test", "shop", "other"])
TABLES = after(
    "CREATE TABLE t (a INT, b INT)",
    "CREATE TABLE u (a INT, UNIQUE KEY u (a))",
    "CREATE TABLE parent (id INT PRIMARY KEY)",
    "CREATE TABLE shop.t (x INT)",
    "CREATE TABLE shop.p (x INT) PARTITION BY HASH (x) PARTITIONS 2",
    "CREATE TABLE old (a VARCHAR(5) CHARACTER SET utf8)",
    "CREATE VIEW v AS SELECT 1",
    start=EMPTY,
)


def executed(text: str, catalog: Catalog | None = TABLES, database: str = "test") -> ExecutionResult:
    return execute_text(text, Session(database, catalog, V8_5))


NO_JOBS = [
    *(
        (text, SHOP, "shop")
        for text in (
            "CREATE TABLE IF NOT EXISTS orders (a INT)",
            "DROP TABLE IF EXISTS nope",
            "DROP DATABASE IF EXISTS nope",
            "CREATE DATABASE IF NOT EXISTS SHOP",
            "ALTER TABLE orders ADD COLUMN IF NOT EXISTS NOTE INT",
            "ALTER TABLE orders DROP COLUMN IF EXISTS nope",
            "ALTER TABLE orders MODIFY COLUMN IF EXISTS nope INT",
            "DROP INDEX IF EXISTS nope ON orders",
            "CREATE INDEX IF NOT EXISTS K ON orders (note)",
            "ALTER TABLE orders CHARSET utf8mb4",
            "ALTER TABLE orders NOCACHE",
            "ALTER DATABASE shop COLLATE utf8mb4_bin",
            "ALTER TABLE orders REMOVE TTL",
            "ALTER TABLE orders ALTER INDEX k VISIBLE",
            "ALTER TABLE orders RENAME COLUMN note TO NOTE",
            "ALTER TABLE orders RENAME AS ORDERS",
            "ALTER TABLE days DROP PARTITION IF EXISTS p9",
            "DROP HYPO INDEX i ON t",
        )
    ),
    *(
        (text, TABLES, "test")
        for text in (
            "ALTER TABLE t ADD INDEX i (a) USING HYPO",
            "ALTER TABLE t ADD COLUMN c INT, READ ONLY",
            "CREATE UNIQUE INDEX IF NOT EXISTS u ON u (a)",
            "DROP TABLE IF EXISTS v",
            "DROP SEQUENCE IF EXISTS t",
            "DROP INDEX IF EXISTS i ON nope",
            "DROP INDEX IF EXISTS i ON other.nope",
        )
    ),
]


@pytest.mark.parametrize(("text", "known", "database"), NO_JOBS, ids=lambda cell: cell if isinstance(cell, str) else "")
def test_a_statement_without_effect_is_a_note_and_no_job(text: str, known: Catalog, database: str) -> None:
    """IF EXISTS does not drop objects of another kind, nor parts of an unknown table. With READ ONLY, TiDB skips the other specs,
    as enable-table-lock is off."""
    found = executed(text, known, database)
    assert (found.jobs, found.catalog, len(found.notes)) == ((), known, 1)


def test_objects_of_a_session_are_no_job() -> None:
    for text in ("CREATE TEMPORARY TABLE t (a INT)", "DROP TEMPORARY TABLE t"):
        found = executed(text, SHOP, "shop")
        notes = executed("DROP TEMPORARY TABLE t", SHOP, "shop").notes
        assert (found.jobs, found.catalog, found.notes) == ((), SHOP, notes)


def test_a_check_of_a_new_column_is_ignored_but_leaves_a_multi_schema_change() -> None:
    for there in (TABLES, None):
        found = executed("ALTER TABLE t ADD COLUMN c INT, ADD CHECK (a > 0)", there)
        assert [(job.code, job.sub_jobs) for job in found.jobs] == [(61, (5,))] and len(found.notes) == 1
        assert found.catalog is None or [c.name for c in found.catalog.tables["test", "t"].columns] == ["a", "b", "c"]


def test_an_unnamed_key_is_named_after_its_first_part() -> None:
    found = executed("ALTER TABLE t ADD INDEX (b, (a + 1)), ADD INDEX ((a + 1), b)").catalog
    assert found and [index.name for index in found.tables["test", "t"].indexes] == ["b", "expression_index"]


def test_convert_to_the_same_charset_is_a_job_if_a_column_has_another() -> None:
    assert steps("ALTER TABLE old CHARSET utf8mb4", TABLES, database="test") == "22"
    assert steps("ALTER TABLE t CHARSET utf8mb4", TABLES, database="test") == "(none)"


def test_a_new_name_without_a_database_is_in_the_current_one() -> None:
    """It is not in the database of the table. The same holds for EXCHANGE PARTITION."""
    found = executed("ALTER TABLE shop.t RENAME TO u2")
    assert [(job.schema, job.table) for job in found.jobs] == [("test", "u2")]
    assert found.catalog and found.catalog.table("test", "u2")
    error = error_of("ALTER TABLE shop.p EXCHANGE PARTITION p0 WITH TABLE nope", TABLES, database="test")
    assert error == "schema:1146 Table 'test.nope' doesn't exist"


def test_a_foreign_key_is_one_job_with_its_index() -> None:
    """No index is added if another begins with its columns. A clustered integer primary key is no index."""
    key = "ALTER TABLE child ADD CONSTRAINT f FOREIGN KEY (%s) REFERENCES parent (id)"
    assert steps(key % "A", FAMILY) == steps(key % "a") == "9"
    assert steps(key % "b", FAMILY) == steps(key % "id", FAMILY) == "61(7,9)"
    assert steps(f"{key % 'b'}, COMMENT 'c'", FAMILY) == "61(7,9,17)"
    assert steps(f"{key % 'a'}, COMMENT 'c'", FAMILY) == "61(9,17)"


def test_up_to_6_4_a_foreign_key_is_a_job_without_its_index() -> None:
    """The table gets the index nevertheless."""
    key = "ALTER TABLE child ADD FOREIGN KEY (b) REFERENCES parent (id)"
    assert [steps(key, FAMILY, find(tag)) for tag in ("v6.4.0", "v6.5.0")] == ["9", "61(7,9)"]
    behind = [execute_text(key, Session("shop", FAMILY, find(tag))).catalog for tag in ("v6.4.0", "v6.5.0")]
    assert behind[0] == behind[1] != FAMILY


def test_foreign_keys_with_an_index_are_sent_since_6_2_and_others_since_8_5_4() -> None:
    """The allow-list has code 61 since 6.2, and code 9 since 8.5.4."""
    allowed = [{61, 9} & set(find(release).allowed_ddl) for release in ("v6.5.0", "v8.5.3", "v8.5.4")]
    assert allowed == [{61}, {61}, {61, 9}]


ADDED = cases("""
    ADD INDEX (A) => ddl:1072 column does not exist: A
    ADD UNIQUE (id, a) => ddl:1072 column does not exist: a
    ADD INDEX ((a + 1)) => ddl:1054 Unknown column 'a' in 'expression'
    ADD FOREIGN KEY (a) REFERENCES spread (id) => ddl:1072 Key column 'a' doesn't exist in table
""")


@pytest.mark.parametrize("known", [None, SHOP], ids=["unknown", "known"])
@pytest.mark.parametrize(("clause", "error"), ADDED)
def test_specs_are_checked_against_the_table_before_it(known: Catalog | None, clause: str, error: str) -> None:
    """A column that the statement adds does not exist yet, in any order of the specs."""
    for added in ("ADD COLUMN a INT", "RENAME COLUMN note TO a", "CHANGE note a INT"):
        assert error_of(f"ALTER TABLE orders {added}, {clause}", known) == error
        assert error_of(f"ALTER TABLE orders {clause}, {added}", known) == error


def test_keys_inside_the_parentheses_of_add_column_are_checked_against_the_table() -> None:
    """Without a catalog, they are not checked."""
    text = "ALTER TABLE orders ADD COLUMN (a INT, INDEX (a))"
    assert steps(text) == "61(5,7)"
    assert error_of(text, SHOP) == "ddl:1072 column does not exist: a"


def test_partitions_are_added_to_hash_partitioned_tables_by_reorganizing() -> None:
    assert steps("ALTER TABLE spread ADD PARTITION (PARTITION p9)", SHOP) == "64"
    assert steps("ALTER TABLE days ADD PARTITION (PARTITION p9 VALUES LESS THAN (9))", SHOP) == "19"


def test_names_in_jobs_are_spelled_as_in_the_catalog() -> None:
    (job,) = jobs_of("ALTER TABLE ORDERS ADD x INT", SHOP, CLASSIC, "SHOP")
    assert (job.schema, job.table) == ("Shop", "Orders")
    (job,) = jobs_of("RENAME TABLE orders TO tmp, days TO orders, tmp TO Days", SHOP, CLASSIC)
    assert job.renames == (
        (TableName("Shop", "Orders"), TableName("Shop", "tmp")),
        (TableName("Shop", "days"), TableName("Shop", "orders")),
        (TableName("Shop", "tmp"), TableName("Shop", "Days")),
    )


def test_recover_table_by_job_finds_the_table_that_the_job_dropped() -> None:
    session = Session("shop", None, CLASSIC, dropped={7: TableName("shop", "old")})
    (job,) = execute_text("RECOVER TABLE BY JOB 7", session).jobs
    assert (job.code, job.schema, job.table) == (25, "shop", "old")


def test_without_a_database_a_name_must_be_qualified() -> None:
    assert [job.schema for job in jobs_of("DROP TABLE a.b", database="")] == ["a"]
    assert error_of("DROP TABLE b", database="").startswith("planner:1046 ")
    assert executed("DROP TABLE t", None).catalog is None


def test_full_text_indexes_have_ticdcs_own_code_in_the_new_architecture() -> None:
    assert steps("ALTER TABLE t ADD FULLTEXT INDEX (a)", release=NEW) == "230"
    assert steps("ALTER TABLE t COMMENT 'add fulltext index'", release=NEW) == "230"
    assert steps("ALTER TABLE t /* add fulltext index */ ADD COLUMN a INT", release=NEW) == "230"
    assert steps("CREATE HYBRID INDEX i ON t(a, b) PARAMETER '{}'", release=NEW) == "231"
    assert steps("ALTER TABLE t ADD FULLTEXT INDEX (a)") == "(none)"


def test_several_statements_in_one_text_are_one_job_if_they_create_tables() -> None:
    (job,) = jobs_of("CREATE TABLE a (i INT); CREATE TABLE b (i INT)", None, CLASSIC)
    assert (job.code, [table.name for table in job.tables]) == (60, ["a", "b"])
    assert error_of("DROP TABLE a; DROP TABLE b").startswith("CDC:ErrUnexpected")


REWRITTEN = cases("""
    drop table if exists orders, days => DROP TABLE `Shop`.`Orders` | DROP TABLE `Shop`.`days`
        => DROP TABLE `Shop`.`Orders` | DROP TABLE `Shop`.`days`
    rename table orders to a => RENAME TABLE `orders` TO `a` => RENAME TABLE `Shop`.`orders` TO `Shop`.`a`
    rename table orders to a, days to b => RENAME TABLE `Shop`.`Orders` TO `Shop`.`a` | RENAME TABLE `Shop`.`days` TO `Shop`.`b`
        => RENAME TABLE `Shop`.`orders` TO `Shop`.`a`; | RENAME TABLE `Shop`.`days` TO `Shop`.`b`;
    alter table days exchange partition p0 with table week without validation => ALTER TABLE `Shop`.`days` EXCHANGE PARTITION `p0` WITH TABLE `Shop`.`Week` WITHOUT VALIDATION
        => ALTER TABLE `Shop`.`days` EXCHANGE PARTITION `p0` WITH TABLE `Shop`.`Week` WITHOUT VALIDATION
    create table a (i int); create table b (i int) => CREATE TABLE `a` (`i` INT) | CREATE TABLE `b` (`i` INT)
        => CREATE TABLE `a` (`i` INT); | CREATE TABLE `b` (`i` INT);
    create table other.a like orders => CREATE TABLE `other`.`a` LIKE `orders`
        => CREATE TABLE `other`.`a` LIKE `Shop`.`orders`
    create table a like orders => CREATE TABLE `a` LIKE `orders` => CREATE TABLE `a` LIKE `orders`
    ALTER TABLE orders ADD COLUMN c INT, ADD CHECK (c > 0)
        => ALTER TABLE `orders` ADD COLUMN `c` INT, ADD CHECK(`c`>0) ENFORCED => ALTER TABLE `orders` ADD COLUMN `c` INT, ADD CHECK(`c`>0) ENFORCED
""")


@pytest.mark.parametrize(("text", "classic", "new"), REWRITTEN)
def test_queries_of_events_are_rewritten(text: str, classic: str, new: str) -> None:
    """Clauses without a sub-job stay."""
    assert (" | ".join(queries(text, CLASSIC)), " | ".join(queries(text, NEW))) == (classic, new)


VIEWS = cases("""
    CREATE VIEW v AS SELECT id FROM t => SELECT `id` FROM `t`
    CREATE VIEW v AS SELECT t.id FROM t => SELECT `shop`.`t`.`id` AS `id` FROM `shop`.`t`
    CREATE VIEW o.v AS SELECT id, a.x FROM t a => SELECT `id` AS `id`,`a`.`x` AS `x` FROM `shop`.`t` AS `a`
    CREATE VIEW o.v AS SELECT t.a, p.c.b AS n FROM t JOIN p.c ON t.c = c.a
        => SELECT `shop`.`t`.`a` AS `a`,`p`.`c`.`b` AS `n` FROM `shop`.`t` JOIN `p`.`c` ON `shop`.`t`.`c`=`p`.`c`.`a`
    CREATE VIEW o.v AS SELECT a + 1 FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a)
        => SELECT `a`+1 AS `a + 1` FROM `shop`.`t` WHERE EXISTS (SELECT 1 FROM `shop`.`u` WHERE `shop`.`u`.`a`=`t`.`a`)
    CREATE VIEW o.v AS SELECT * FROM o.t => SELECT * FROM `o`.`t`
""")


@pytest.mark.parametrize(("text", "query"), VIEWS)
def test_the_new_architecture_names_the_databases_of_a_views_tables(text: str, query: str) -> None:
    """TiCDC 8.5.7 takes the query that TiDB stores; earlier releases send the statement unchanged."""
    (sent,) = [event for job in jobs_of(text, None, NEW) for event in job_events(job, NEW)]
    assert sent_query(sent, NEW).endswith(f"VIEW {'`v`' if 'VIEW v' in text else '`o`.`v`'} AS {query}")
    before = find("v8.5.6", "new")
    (job,) = jobs_of(text, None, before)
    assert job_events(job, before)[0].query == text


def test_exchange_partition_is_an_event_of_another_table_in_each_architecture() -> None:
    text = "ALTER TABLE days EXCHANGE PARTITION p0 WITH TABLE week"
    found = [job_events(jobs_of(text, SHOP, release)[0], release)[0] for release in (CLASSIC, NEW)]
    assert [(event.table, event.old and event.old.name) for event in found] == [("days", "Week"), ("Week", "days")]


def test_classic_copies_the_name_of_an_exchanged_partition_with_its_back_quotes() -> None:
    text = "ALTER TABLE days EXCHANGE PARTITION `p0` WITH TABLE week"
    (job,) = jobs_of(text, SHOP, CLASSIC)
    assert "PARTITION ``p0`` WITH" in job_events(job, CLASSIC)[0].query
    assert "PARTITION `p0` WITH" in job_events(job, NEW)[0].query


def test_a_single_rename_of_classic_has_its_database_in_lower_case() -> None:
    def schemas(text: str, release: Release) -> list[str]:
        return [event.schema for job in jobs_of(text, SHOP, release) for event in job_events(job, release)]

    assert schemas("RENAME TABLE orders TO a", CLASSIC) == ["shop"]
    assert schemas("RENAME TABLE orders TO a, days TO b", CLASSIC) == ["Shop", "Shop"]
    assert schemas("RENAME TABLE orders TO a", NEW) == schemas("RENAME TABLE orders TO a", find("v6.5.3")) == ["Shop"]


def test_the_events_of_one_job_come_in_the_order_of_its_tables() -> None:
    (job,) = jobs_of("RENAME TABLE a TO b, c TO d", None, CLASSIC)
    assert [(event.type_code, event.old) for event in job_events(job, CLASSIC)] == [
        (14, TableName("shop", "a")),
        (14, TableName("shop", "c")),
    ]


def test_before_6_1_several_renames_are_one_event_without_a_table() -> None:
    (job,) = jobs_of("RENAME TABLE a TO b, c TO d", None, find("v6.0.0"))
    (event,) = job_events(job, find("v6.0.0"))
    assert (event.type_code, event.schema, event.table) == (47, "shop", "")


WORLDS = (
    after(
        "CREATE TABLE t1 (id INT, a INT, b INT, c1 INT, c2 INT, created_at DATETIME, PRIMARY KEY (id) NONCLUSTERED,"
        " KEY idx_a (a), KEY idx_b (b), KEY idx (c1), UNIQUE KEY uk (a))",
        "CREATE TABLE tp (id INT, v INT) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1"
        " VALUES LESS THAN (20), PARTITION p2 VALUES LESS THAN (30), PARTITION pm VALUES LESS THAN (40))",
        "CREATE TABLE th (id INT) PARTITION BY HASH (id) PARTITIONS 4",
        "CREATE TABLE a (id INT)",
        "CREATE TABLE c (id INT)",
        "CREATE TABLE t2 (id INT)",
        "CREATE TABLE shop.Orders (id INT PRIMARY KEY)",
        "CREATE VIEW v1 AS SELECT 1",
        "CREATE VIEW shop.v AS SELECT 1",
        "CREATE SEQUENCE s1",
        "CREATE TABLE parent (id INT PRIMARY KEY)",
        "CREATE TABLE child (id INT, pid INT, KEY (pid), CONSTRAINT fk1 FOREIGN KEY (pid) REFERENCES parent (id))",
        start=EMPTY,
    ),
    after(
        "CREATE TABLE t1 (id INT, b INT, c INT, d INT, t DATETIME, KEY i1 (b), KEY i2 (c), KEY a (d), KEY c (b, c))"
        " CHARSET utf8 TTL = t + INTERVAL 1 DAY",
        "CREATE TABLE tp (id INT) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (5), PARTITION p1 VALUES LESS"
        " THAN (10), PARTITION p2 VALUES LESS THAN (20))",
        "CREATE TABLE nt (id INT)",
        "CREATE TABLE a (id INT)",
        "CREATE TABLE b (id INT)",
        "CREATE TABLE `a b` (id INT)",
        "CREATE TABLE `select` (id INT)",
        "CREATE TABLE 表 (id INT)",
        "CREATE TABLE shop.Orders (a INT, b INT)",
        "CREATE TABLE parent (id INT PRIMARY KEY)",
        "CREATE TABLE child (pid INT, KEY (pid))",
        "CREATE SEQUENCE s1",
        "CREATE SEQUENCE s2",
        start=EMPTY,
    ),
    after("DROP DATABASE shop", "CREATE TABLE t1 (id INT)", "DROP TABLE t1", start=EMPTY),
)


def test_every_statement_of_the_vectors_has_the_same_jobs_with_and_without_tables() -> None:
    """Both must succeed, without notes about the tables."""
    compared = set()
    facts = (fact for path in files(DEFAULT) if kind(path) == "facts.ddl_statements" for fact in vectors(path))
    for text, database in {(fact.data["sql"], fact.data["current_database"]) for fact in facts if fact.data.get("sql")}:
        for world in WORLDS:
            try:
                (statement,) = parse_ddl_script(text)
                found = execute(statement, text, Session(database, world, V8_5))
            except (DdlError, ValueError):
                continue
            if assert_same_without_catalog(statement, text, database, found):
                compared.add(text)
    assert len(compared) > 100
