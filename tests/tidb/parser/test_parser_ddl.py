"""Reading DDL: what TiDB's grammar takes, as TiDB writes it back, and what it refuses, and where the mistake is."""

from __future__ import annotations

import pytest
from support.upstreams import cases, grouped

from simulator.errors import DdlError
from simulator.tidb import syntax
from simulator.tidb.parser.ddl import parse_ddl, parse_ddl_script
from simulator.tidb.restore.ddl import restore_statement

T = syntax.TableName("", "t")


def written(text: str) -> str:
    """The statement as TiDB writes it back."""
    statement = parse_ddl(text)
    assert statement is not None
    return restore_statement(statement)


def specs(text: str) -> tuple[syntax.Spec, ...]:
    """The specs of `ALTER TABLE t` and the text."""
    statement = parse_ddl(f"ALTER TABLE t {text}")
    assert isinstance(statement, syntax.AlterTable)
    return statement.specs


def refused(text: str, code: str = "parser:1064") -> str:
    """What is said of a text that is no statement of DDL."""
    with pytest.raises(DdlError) as caught:
        parse_ddl(text)
    assert caught.value.code == code
    return caught.value.text


STATEMENTS = cases(r"""
    RENAME TABLE `we``ird`.`a b` TO Shop.`select`, t TO `表` => RENAME TABLE `we``ird`.`a b` TO `Shop`.`select`, `t` TO `表`
    DROP TEMPORARY TABLES IF EXISTS t, d.u CASCADE => DROP TEMPORARY TABLE IF EXISTS `t`, `d`.`u`
    drop view v restrict => DROP VIEW `v`
    FLASHBACK TABLE t TO t2 => FLASHBACK TABLE `t` TO `t2`
    FLASHBACK TABLE t, u TO TSO 5 => FLASHBACK TABLE `t`, `u` TO TSO 5
    FLASHBACK SCHEMA d TO TIMESTAMP 'now' => FLASHBACK DATABASE `d` TO TIMESTAMP 'now'
    FLASHBACK DATABASE d => FLASHBACK DATABASE `d`
    FLASHBACK DATABASE d TO e => FLASHBACK DATABASE `d` TO `e`
    FLASHBACK TABLE t TO timestamp => FLASHBACK TABLE `t` TO `timestamp`
    FLASHBACK TABLE t TO tso => FLASHBACK TABLE `t` TO `tso`
    FLASHBACK DATABASE t TO timestamp => FLASHBACK DATABASE `t` TO `timestamp`
    RECOVER TABLE t 2 => RECOVER TABLE `t` 2
    RECOVER TABLE BY JOB 7 => RECOVER TABLE BY JOB 7
    LOCK TABLE t READ LOCAL, d.u WRITE => LOCK TABLES `t` READ LOCAL, `d`.`u` WRITE
    ADMIN CLEANUP TABLE LOCK a, b => ADMIN CLEANUP TABLE LOCK `a`, `b`
    ADMIN REPAIR TABLE t CREATE TABLE t (a INT) => ADMIN REPAIR TABLE `t` CREATE TABLE `t` (`a` INT)
    ALTER DATABASE CHARACTER SET = utf8mb4 => ALTER DATABASE CHARACTER SET = utf8mb4
    ALTER SCHEMA DEFAULT COLLATE utf8mb4_bin => ALTER DATABASE COLLATE = utf8mb4_bin
    ALTER DATABASE encryption CHARSET utf8 => ALTER DATABASE `encryption` CHARACTER SET = utf8
    ALTER DATABASE d CHARSET 'UTF8MB3' COLLATE Utf8_General_CI
        => ALTER DATABASE `d` CHARACTER SET = utf8 COLLATE = utf8_general_ci
    CREATE UNIQUE INDEX i USING HASH ON t (a) USING BTREE LOCK NONE ALGORITHM = INPLACE
        => CREATE UNIQUE INDEX `i` ON `t` (`a`) USING BTREE ALGORITHM = INPLACE LOCK = NONE
    DROP HYPO INDEX IF EXISTS i ON t => DROP INDEX /*T! IF EXISTS  */`i` ON `t`
    CREATE VIEW v AS SELECT 1 => CREATE ALGORITHM = UNDEFINED DEFINER = CURRENT_USER SQL SECURITY DEFINER VIEW `v` AS SELECT 1
    CREATE ALGORITHM = MERGE DEFINER = root@LocalHost SQL SECURITY INVOKER VIEW v (a, b) AS SELECT 1, 2 WITH LOCAL CHECK OPTION
        => CREATE ALGORITHM = MERGE DEFINER = `root`@`localhost` SQL SECURITY INVOKER VIEW `v` (`a`,`b`) AS SELECT 1,2 WITH LOCAL CHECK OPTION
    ALTER SEQUENCE IF EXISTS s INCREMENT = -2 NOMINVALUE NO MAXVALUE CACHE 10 NO CYCLE RESTART WITH 5 RESTART
        => ALTER SEQUENCE IF EXISTS `s` INCREMENT BY -2 NO MINVALUE NO MAXVALUE CACHE 10 NOCYCLE RESTART WITH 5 RESTART
    CREATE RESOURCE GROUP g RU_PER_SEC = 500, PRIORITY = HIGH BURSTABLE QUERY_LIMIT = (EXEC_ELAPSED '60s', ACTION = SWITCH_GROUP(h), WATCH = SIMILAR DURATION = '10m') BACKGROUND = (TASK_TYPES 'br')
        => /*T![resource_group] CREATE RESOURCE GROUP `g` */
""")
ALTERATIONS = grouped(r"""
    COMMENT 'x' CHARSET utf8 AUTO_INCREMENT = 5 => COMMENT = 'x' DEFAULT CHARACTER SET = UTF8 AUTO_INCREMENT = 5
    COMMENT 'x', CHARSET utf8 => COMMENT = 'x', DEFAULT CHARACTER SET = UTF8
    FORCE, AUTO_INCREMENT = 1 => FORCE /* AlterTableForce is not supported */ , AUTO_INCREMENT = 1
    FORCE AUTO_INCREMENT = 1 => /*T![force_inc] FORCE */ AUTO_INCREMENT = 1
    ADD c INT NOT NULL DEFAULT 5 FIRST => ADD COLUMN `c` INT NOT NULL DEFAULT 5 FIRST
    ADD COLUMN IF NOT EXISTS (a INT, b INT, INDEX i (a)) => ADD COLUMN IF NOT EXISTS (`a` INT, `b` INT, INDEX `i`(`a`))
    ADD IF NOT EXISTS c INT AFTER t.b => ADD COLUMN IF NOT EXISTS `c` INT AFTER `t`.`b`
    DROP COLUMN IF EXISTS d.t.c RESTRICT, DROP KEY k => DROP COLUMN IF EXISTS `d`.`t`.`c`, DROP INDEX `k`
    CHANGE t.a b INT AFTER t.c => CHANGE COLUMN `t`.`a` `b` INT AFTER `t`.`c`
    MODIFY IF EXISTS a BIGINT => MODIFY COLUMN IF EXISTS `a` BIGINT
    ALTER COLUMN a SET DEFAULT ('x') | ALTER a SET DEFAULT 'x' => ALTER COLUMN `a` SET DEFAULT _UTF8MB4'x'
    ALTER a SET DEFAULT (UUID()) => ALTER COLUMN `a` SET DEFAULT (UUID())
    ALTER a DROP DEFAULT => ALTER COLUMN `a` DROP DEFAULT
    ADD UNIQUE KEY u (a) => ADD UNIQUE `u`(`a`)
    ADD CONSTRAINT c CHECK (a > 0) => ADD CONSTRAINT `c` CHECK(`a`>0) ENFORCED
    DROP KEY IF EXISTS i => DROP INDEX IF EXISTS `i`
    DROP PRIMARY KEY => DROP PRIMARY KEY
    DROP CONSTRAINT c | DROP CHECK c => DROP CHECK `c`
    RENAME KEY a TO b => RENAME INDEX `a` TO `b`
    RENAME TO d.u | RENAME AS d.u | RENAME = d.u | RENAME d.u => RENAME AS `d`.`u`
    DROP PARTITION IF EXISTS p0, p1 => DROP PARTITION IF EXISTS `p0`,`p1`
    TRUNCATE PARTITION ALL => TRUNCATE PARTITION ALL
    REBUILD PARTITION LOCAL p => REBUILD PARTITION NO_WRITE_TO_BINLOG `p`
    DISCARD PARTITION p TABLESPACE => DISCARD PARTITION `p` TABLESPACE
    DISCARD TABLESPACE => DISCARD TABLESPACE
    REORGANIZE PARTITION => REORGANIZE PARTITION
    ADD PARTITION IF NOT EXISTS NO_WRITE_TO_BINLOG PARTITIONS 3
        => ADD PARTITION IF NOT EXISTS NO_WRITE_TO_BINLOG PARTITIONS 3
    ADD PARTITION (PARTITION p VALUES IN (DEFAULT(a), 1, DEFAULT))
        => ADD PARTITION (PARTITION `p` VALUES IN (DEFAULT(`a`), 1, DEFAULT))
    EXCHANGE PARTITION p WITH TABLE u WITH VALIDATION => EXCHANGE PARTITION `p` WITH TABLE `u`
    EXCHANGE PARTITION p WITH TABLE u WITHOUT VALIDATION => EXCHANGE PARTITION `p` WITH TABLE `u` WITHOUT VALIDATION
    FIRST PARTITION LESS THAN (10 + 5) => FIRST PARTITION LESS THAN (10+5)
    LAST PARTITION LESS THAN (10 + 5) => LAST PARTITION LESS THAN (10+5)
    MERGE FIRST PARTITION LESS THAN (10 + 5) => MERGE FIRST PARTITION LESS THAN (10+5)
    SPLIT MAXVALUE PARTITION LESS THAN (10 + 5) => SPLIT MAXVALUE PARTITION LESS THAN (10+5)
    SET TIFLASH REPLICA 2 LOCATION LABELS 'a', 'b' => SET TIFLASH REPLICA 2 LOCATION LABELS 'a', 'b'
    REMOVE TTL => /*T![ttl] REMOVE TTL */
    CONVERT TO CHARSET DEFAULT => CONVERT TO CHARACTER SET DEFAULT
    CONVERT TO CHARACTER SET DEFAULT COLLATE utf8mb4_bin => CONVERT TO CHARACTER SET DEFAULT COLLATE UTF8MB4_BIN
    LOCK = none => LOCK = NONE
    order /* x */ by a | /*T! ORDER */ by a => ORDER BY `a`
    partition -- x¶ BY hash(a) | partition /*! by hash(a) */ => PARTITION BY HASH (`a`) PARTITIONS 1
    ADD CHECK (`COMMENT`(`a`)) => ADD CHECK(COMMENT(`a`)) ENFORCED
    ADD CHECK (`s`.`COMMENT`(`a`)) => ADD CHECK(`s`.`COMMENT`(`a`)) ENFORCED
    ADD CHECK (UNHEARD_OF(`a`)) => ADD CHECK(UNHEARD_OF(`a`)) ENFORCED
""")


@pytest.mark.parametrize(
    ("text", "expected"),
    [*STATEMENTS, *((f"ALTER TABLE t {text}", f"ALTER TABLE `t` {said}") for text, said in ALTERATIONS)],
)
def test_a_statement_is_read_as_tidb_writes_it_back(text: str, expected: str) -> None:
    """A moment of FLASHBACK begins with its word; an index type behind the columns wins; names keep their case; a default in
    parentheses is one without; a function is called by what is no word of the grammar, or is quoted or qualified. What is
    written reads as itself, but for that function, whose quotes are lost."""
    assert written(text) == expected
    assert "ADD CHECK (`COMMENT`" in text or written(expected) == expected


@pytest.mark.parametrize(
    ("definer", "read"),
    [
        ("root", "`root`@`%`"),
        ("'r'@'%'", "`r`@`%`"),
        ("`r` @ `H`", "`r`@`h`"),
        ("r@127.0.0.1", "`r`@`127.0.0.1`"),
        ("current_user()", "CURRENT_USER"),
        ("CURRENT_USER", "CURRENT_USER"),
    ],
)
def test_a_definer_is_read_as_tidb_reads_users(definer: str, read: str) -> None:
    """Hosts are in lower case."""
    assert f" DEFINER = {read} SQL " in written(f"CREATE DEFINER = {definer} VIEW v AS SELECT 1")


def test_what_is_not_written_back_is_read() -> None:
    """Attributes, placement, hypothetical indexes; PLACEMENT POLICY = DEFAULT and SET DEFAULT say the same."""
    assert specs("ATTRIBUTES = 'merge_option=deny'") == (syntax.Attributes("merge_option=deny"),)
    assert specs("ATTRIBUTES DEFAULT") == (syntax.Attributes(None),)
    assert isinstance(specs("PARTITION p ATTRIBUTES DEFAULT")[0], syntax.PartitionOptions)
    assert parse_ddl("DROP HYPO INDEX IF EXISTS i ON t") == syntax.DropIndex(T, "i", if_exists=True, hypothetical=True)
    default = parse_ddl("ALTER DATABASE d PLACEMENT POLICY = DEFAULT")
    assert default == parse_ddl("ALTER DATABASE d PLACEMENT POLICY SET DEFAULT")
    policy = parse_ddl("CREATE OR REPLACE PLACEMENT POLICY IF NOT EXISTS p REGIONS='a,b', FOLLOWERS=2")
    assert isinstance(policy, syntax.PlacementPolicy)
    assert (policy.verb, policy.or_replace, policy.exists, len(policy.options)) == ("CREATE", True, True, 2)


@pytest.mark.parametrize("text", ["", " \n\t", ";", ";;", "-- nothing", "/* nothing */ ;", "# nothing\n"])
def test_a_text_without_words_has_no_statement(text: str) -> None:
    assert parse_ddl(text) is None
    assert parse_ddl_script(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "TRUNCATE TABLE t",
        "truncate t",
        "/* why */ TrunCate /* not */ t -- now",
        "/*!40101 TRUNCATE */ TABLE t;",
        "/*T! TRUNCATE TABLE t */",
        "/*T![ttl] TRUNCATE TABLE */ `t` ; ;",
        "\n\tTRUNCATE\r\nTABLE\n\t`t`;\n",
        "TRUNCATE /*T![feature_of_tomorrow] nonsense */ t",
        "TRUNCATE TABLE /*! t",
        "TRUNCATE /*T! TABLE t",
        "TRUNCATE /*T![ttl,placement] t",
        "TRUNCATE t /*!50100",
        "TRUNCATE t /*!",
    ],
)
def test_case_blanks_comments_and_versioned_comments_change_nothing(text: str) -> None:
    """A versioned comment counts as what it holds, unless its feature is unknown, and may go on to the end."""
    assert parse_ddl(text) == syntax.TruncateTable(T)


def test_several_statements_can_be_read_in_order() -> None:
    """As for the job that creates several tables at once; one job has one statement otherwise."""
    assert parse_ddl_script("DROP TABLE a; ; TRUNCATE t;") == (
        syntax.DropTable((syntax.TableName("", "a"),)),
        syntax.TruncateTable(T),
    )
    error = refused("DROP TABLE a;\n  DROP TABLE b")
    assert error == "line 2, column 3: a second statement begins here; one is accepted"


MISTAKES = cases("""
    TRUNCATE t /* never => line 1, column 12: this comment has no '*/'
    TRUNCATE t /*t! x => line 1, column 12: this comment has no '*/'
    TRUNCATE t /*T![feature_of_tomorrow] x => line 1, column 12: this comment has no '*/'
    TRUNCATE t /*T![ttl => line 1, column 12: this '/*T![' has no ']'
    TRUNCATE t /*T![[ttl] */ => line 1, column 12: this '/*T![' has no list of features
    ALTR TABLE t1 ADD c INT => line 1, column 1: 'ALTR' is not expected here. Did you mean 'ALTER'? Accepted:
    CREATE TABEL t (id INT) => line 1, column 8: 'TABEL' is not expected here. Did you mean 'TABLE'? Accepted:
    DROP => line 1, column 5: the end of the statement is not expected here. Accepted: DATABASE,
    CREATE OR REPLACE TABLE t (a INT) => line 1, column 19: 'TABLE' is not expected here. Accepted: PLACEMENT,
    `ALTER` TABLE t => line 1, column 1: '`ALTER`' is not expected here. Accepted:
    RENAME TABLE a b => line 1, column 16: 'b' is not expected here. Accepted: 'TO'
    TRUNCATE TABLE a, b => line 1, column 17: ',' is not expected here. Accepted: the end of the statement
    ALTER TABLE t¶ ADD COLUMN => line 2, column 12: the end of the statement is not expected here.
    ALTER TABLE t¶¶ ADDD COLUMN c INT => line 3, column 2: 'ADDD' is not expected here. Did you mean 'ADD'?
    DROP TABLE t RESTRICTED => line 1, column 14: 'RESTRICTED' is not expected here.
    ALTER VIEW v AS SELECT 1 => line 1, column 7: 'VIEW' is not expected here.
    DROP TABLE 'unclosed => line 1, column 12:
    DROP TABLE t /* unclosed => line 1, column 14:
""")


@pytest.mark.parametrize(("text", "message"), MISTAKES)
def test_a_mistake_is_shown_with_line_and_column_and_what_is_accepted(text: str, message: str) -> None:
    """Bad syntax has TiDB's code 1064."""
    assert refused(text).startswith(message)


@pytest.mark.parametrize(
    "text",
    [
        "CREATE TABLE l (a INT) PARTITION BY LIST (a) (PARTITION p VALUES IN (1, MAXVALUE))",
        "ALTER TABLE l ADD PARTITION (PARTITION p VALUES IN (MAXVALUE))",
        "CREATE TABLE select (id INT)",
        "CREATE INDEX ON t (a)",
        "DROP TABLE table",
        "CREATE TABLE schema (a INT)",
        "DROP TABLE schemas",
        "ALTER TABLE t DROP dec",
        "ALTER TABLE t DROP PARTITION by",
        "CREATE TABLE t (a CHAR BYTE)",
        "ALTER TABLE t ADD a VARCHAR(10) ASCII",
        "CREATE TABLE t (a CHAR(3) UNICODE)",
        "FLASHBACK TABLE t, u TO v",
        "FLASHBACK CLUSTER TO TSO 0",
        "ALTER TABLE t ADD CHECK (COMMENT(a))",
        "CREATE INDEX i ON t (a) LOCK = NONE LOCK = NONE",
        "CREATE SEQUENCE s RESTART",
        "ALTER SEQUENCE s",
        f"CREATE SEQUENCE s START {2**63}",
        "ALTER TABLE t ALTER a SET DEFAULT UUID()",
        "ALTER TABLE t LOCK = SOMETIMES",
        "ALTER TABLE t ALGORITHM = MAGIC",
        "CREATE DATABASE d CHARSET klingon",
    ],
)
def test_what_tidb_does_not_read_is_refused(text: str) -> None:
    """Reserved words as names, also in their other spellings; short charsets of what is no TEXT; options twice."""
    refused(text)
    parse_ddl("CREATE TABLE `schema` (`schemas` TEXT ASCII, `dec` DEC(3), v CHAR(3) AS (SCHEMA()))")


NOT_DDL = """
    SELECT 1 | (SELECT 1) | WITH a AS (SELECT 1) SELECT * FROM a | TABLE t | VALUES ROW(1) | EXPLAIN SELECT 1
    CREATE USER u | CREATE ROLE r | CREATE SESSION BINDING FOR SELECT 1 USING SELECT 1 | DROP BINDING FOR SELECT 1
    CREATE STATISTICS s (CARDINALITY) ON t (a) | CREATE PROCEDURE p() SELECT 1 | DROP PREPARE p | DROP ROLE r
    ALTER USER u IDENTIFIED BY 'x' | ALTER INSTANCE RELOAD TLS | ALTER RANGE global PLACEMENT POLICY = p
    RENAME USER a TO b | LOCK STATS t | UNLOCK STATS t | ADMIN SHOW DDL JOBS | SPLIT TABLE t BY (1) | DO 1
    OPTIMIZE TABLE t | IMPORT INTO t FROM 'x' | BACKUP DATABASE * TO 'x' | SET RESOURCE GROUP g | KILL 1
    ALTER TABLE t ANALYZE PARTITION p0 | ALTER TABLE t COMPACT TIFLASH REPLICA | SAVEPOINT s | use shop
    grant all on *.* to u | FLUSH TABLES | CALIBRATE RESOURCE | QUERY WATCH REMOVE 1 | CANCEL IMPORT JOB 1
"""


@pytest.mark.parametrize("text", [text.strip() for line in NOT_DDL.strip().splitlines() for text in line.split("|")])
def test_a_statement_that_changes_no_schema_is_not_ddl(text: str) -> None:
    """It has no code of an error: TiDB takes it, TiCDC never sees it."""
    assert "is not DDL" in refused(text, code="")


@pytest.mark.parametrize(
    "last",
    [
        "PARTITION BY HASH (a) PARTITIONS 2",
        "REMOVE PARTITIONING",
        "REMOVE TTL",
        "PARTITION p1 PLACEMENT POLICY p2",
        "REORGANIZE PARTITION p0 INTO (PARTITION p0 VALUES LESS THAN (5))",
        "PARTITION p ATTRIBUTES 'x'",
        "SPLIT MAXVALUE PARTITION LESS THAN (60)",
        "MERGE FIRST PARTITION LESS THAN (60)",
    ],
)
def test_some_specs_stand_alone_or_behind_all_others_without_a_comma(last: str) -> None:
    """TiDB takes no comma before them, and nothing behind."""
    assert (len(specs("")), len(specs(last)), len(specs(f"ADD d TEXT(50) {last}"))) == (0, 1, 2)
    refused(f"ALTER TABLE t ADD d TEXT(50), {last}")
    refused(f"ALTER TABLE t {last}, ADD d TEXT(50)")


def test_a_whole_table_is_read_by_the_reader_of_tables() -> None:
    """CREATE TABLE, its temporary kinds, LIKE and SELECT."""
    for text in (
        "CREATE TABLE t (a INT)",
        "CREATE TEMPORARY TABLE t (a INT)",
        "CREATE TABLE t LIKE d.u",
        "CREATE GLOBAL TEMPORARY TABLE t (a INT) ON COMMIT DELETE ROWS",
        "CREATE TABLE t AS SELECT 1",
    ):
        assert isinstance(parse_ddl(text), syntax.CreateTable)
