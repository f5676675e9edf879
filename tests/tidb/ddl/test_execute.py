"""Execution of a statement: its jobs, its notes and the tables after it."""

from __future__ import annotations

import pytest
from support.evolving import assert_same_without_catalog, behind
from support.vectors.files import DEFAULT, files, kind, vectors

from simulator.errors import DdlError
from simulator.releases import V8_5, Release, find
from simulator.tidb.ddl.catalog import Catalog, build_catalog
from simulator.tidb.ddl.execute import execute
from simulator.tidb.ddl.session import ExecutionResult, Session
from simulator.tidb.parser.ddl import parse_ddl, parse_ddl_script

NOTHING = build_catalog((), ["test", "shop", "other"])


def known(*texts: str) -> Catalog:
    """Return the catalog after statements on the databases `test`, `shop` and `other`."""
    held = NOTHING
    for text in texts:
        statement = parse_ddl(text)
        assert statement is not None
        held = behind(statement, text, held)
    return held


TABLES = known(
    "CREATE TABLE t (a INT, b INT)",
    "CREATE TABLE parent (id INT PRIMARY KEY)",
    "CREATE TABLE shop.t (x INT)",
    "CREATE TABLE shop.p (x INT) PARTITION BY HASH (x) PARTITIONS 2",
    "CREATE VIEW v AS SELECT 1",
)


def executed(text: str, catalog: Catalog | None = TABLES, release: Release = V8_5) -> ExecutionResult:
    statement = parse_ddl(text)
    assert statement is not None
    return execute(statement, text, Session("test", catalog, release))


def steps(found: ExecutionResult) -> list[tuple[int, tuple[int, ...]]]:
    return [(job.code, job.sub_jobs) for job in found.jobs]


def names(found: ExecutionResult, schema: str = "test", table: str = "t") -> tuple[list[str], list[str]]:
    """Return the columns and the keys of a table after a statement."""
    assert found.catalog is not None
    there = found.catalog.table(schema, table)
    assert there is not None
    return [column.name for column in there.columns], [index.name for index in there.indexes]


def test_a_key_on_a_column_of_the_same_statement_is_refused_with_and_without_tables() -> None:
    for there in (TABLES, None):
        with pytest.raises(DdlError) as caught:
            executed("ALTER TABLE t ADD COLUMN c INT, ADD INDEX i (c)", there)
        assert (caught.value.code, caught.value.text) == ("ddl:1072", "column does not exist: c")


def test_a_check_of_a_new_column_is_ignored_but_leaves_a_multi_schema_change() -> None:
    for there in (TABLES, None):
        found = executed("ALTER TABLE t ADD COLUMN c INT, ADD CHECK (a > 0)", there)
        assert steps(found) == [(61, (5,))] and len(found.notes) == 1
    assert names(executed("ALTER TABLE t ADD COLUMN c INT, ADD CHECK (a > 0)")) == (["a", "b", "c"], [])


def test_a_foreign_key_and_its_missing_index_are_one_job() -> None:
    found = executed("ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (a) REFERENCES parent (id)")
    assert steps(found) == [(61, (7, 9))]
    assert names(found) == (["a", "b"], ["f"])


def test_a_hypothetical_index_is_neither_a_job_nor_in_the_table() -> None:
    found = executed("ALTER TABLE t ADD INDEX i (a) USING HYPO")
    assert (found.jobs, found.catalog) == ((), TABLES) and found.notes


def test_read_only_makes_the_whole_statement_no_job() -> None:
    """enable-table-lock is off, and TiDB skips the other specs."""
    found = executed("ALTER TABLE t ADD COLUMN c INT, READ ONLY")
    assert (found.jobs, found.catalog) == ((), TABLES) and found.notes


def test_a_new_name_without_a_database_is_in_the_current_one() -> None:
    """It is not in the database of the table. The same holds for EXCHANGE PARTITION."""
    found = executed("ALTER TABLE shop.t RENAME TO u")
    assert [(job.schema, job.table) for job in found.jobs] == [("test", "u")]
    assert names(found, "test", "u") == (["x"], [])
    with pytest.raises(DdlError, match="schema:1146.*'test.nope' doesn't exist"):
        executed("ALTER TABLE shop.p EXCHANGE PARTITION p0 WITH TABLE nope")


def test_an_existing_unique_index_is_not_created_again() -> None:
    there = known("CREATE TABLE t (a INT, UNIQUE KEY u (a))")
    found = executed("CREATE UNIQUE INDEX IF NOT EXISTS u ON t (a)", there)
    assert (found.jobs, found.catalog) == ((), there) and found.notes


@pytest.mark.parametrize(
    "text",
    [
        "DROP TABLE IF EXISTS v",
        "DROP SEQUENCE IF EXISTS t",
        "DROP INDEX IF EXISTS i ON nope",
        "DROP INDEX IF EXISTS i ON other.nope",
    ],
)
def test_if_exists_does_not_drop_objects_of_another_kind(text: str) -> None:
    """It does not drop parts of an unknown table, either."""
    found = executed(text)
    assert (found.jobs, found.catalog) == ((), TABLES) and found.notes


def test_an_unnamed_key_is_named_after_its_first_part() -> None:
    found = executed("ALTER TABLE t ADD INDEX (b, (a + 1)), ADD INDEX ((a + 1), b)")
    assert names(found) == (["a", "b"], ["b", "expression_index"])


def test_convert_to_the_same_charset_is_a_job_if_a_column_has_another() -> None:
    there = known("CREATE TABLE t (a VARCHAR(5) CHARACTER SET utf8)")
    assert steps(executed("ALTER TABLE t CHARSET utf8mb4", there)) == [(22, ())]
    assert not executed("ALTER TABLE t CHARSET utf8mb4").jobs


def test_without_a_catalog_the_result_has_none() -> None:
    assert executed("DROP TABLE t", None).catalog is None


def test_an_invalid_statement_has_no_jobs_in_a_release_without_multi_schema_change() -> None:
    """The specs do not matter."""
    with pytest.raises(DdlError, match="Unsupported multi schema change$"):
        executed("ALTER TABLE t ADD COLUMN c INT, DROP COLUMN nope", release=find("v6.1.0"))
    assert steps(executed("ALTER TABLE t DROP COLUMN a, DROP COLUMN IF EXISTS c", release=find("v6.1.0"))) == [(38, ())]


WORLDS = (
    known(
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
    ),
    known(
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
    ),
    known("DROP DATABASE shop", "CREATE TABLE t1 (id INT)", "DROP TABLE t1"),
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
