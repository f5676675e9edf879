"""CREATE TABLE as TiCDC sends it: every spelling comes back as TiDB writes it, and what TiDB refuses is refused."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from support import table_texts

from simulator.errors import SchemaError
from simulator.tidb.parser.create_table import parse_create_table
from simulator.tidb.parser.splitting import parse_tokens
from simulator.tidb.parser.tokens import tokenize
from simulator.tidb.restore.tables import restore_table


def sent(text: str) -> str:
    return restore_table(parse_tokens(text, tokenize(text), parse_create_table))


@pytest.mark.parametrize(
    ("definition", "expected"),
    [
        ("a integer(5) unsigned zerofill", "`a` INT(5) UNSIGNED ZEROFILL"),
        ("a bool unsigned, b year(4) unsigned, c bit", "`a` TINYINT(1) UNSIGNED,`b` YEAR(4),`c` BIT(1)"),
        ("a float(24), b float(25), c float(7,2), d real", "`a` FLOAT,`b` DOUBLE,`c` FLOAT(7,2),`d` DOUBLE"),
        ("a time(3), b datetime, c timestamp(6)", "`a` TIME(3),`b` DATETIME,`c` TIMESTAMP(6)"),
        ("a char, b binary(3), c varbinary(3), d nchar(5)", "`a` CHAR,`b` BINARY(3),`c` VARBINARY(3),`d` CHAR(5)"),
        (
            "a varchar(5) charset utf8mb3 binary, b varchar(5) character set binary",
            "`a` VARCHAR(5) BINARY CHARACTER SET UTF8,`b` VARBINARY(5)",
        ),
        ("a text byte, b long varbinary, c long, d tinyblob", "`a` BLOB,`b` MEDIUMBLOB,`c` MEDIUMTEXT,`d` TINYBLOB"),
        ("a enum('it''s', 'b\\\\c ') charset latin1, b set(0x41)", "`a` ENUM('it''s','b\\c'),`b` SET('A')"),
        ("a vector<float>(3), b json", "`a` VECTOR(3),`b` JSON"),
        ("a serial", "`a` BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE KEY"),
    ],
)
def test_types_come_back_without_synonyms(definition: str, expected: str) -> None:
    """Lengths only where they are said; the charset of ENUM and SET is lost."""
    assert f"CREATE TABLE `t` ({expected})" == sent(f"create table t ({definition})")


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("default 'a' 'b\\\\'", "DEFAULT _UTF8MB4'ab\\\\'"),
        ("default n'é'", "DEFAULT _UTF8'é'"),
        ("default -007", "DEFAULT -7"),
        ("default +1.50", "DEFAULT +1.50"),
        ("default 1e5", "DEFAULT 1e+05"),
        ("default X'4a'", "DEFAULT x'4a'"),
        ("default b'0010'", "DEFAULT b'10'"),
        ("default true", "DEFAULT TRUE"),
        ("default localtime", "DEFAULT CURRENT_TIMESTAMP()"),
        ("default ((now(3)))", "DEFAULT CURRENT_TIMESTAMP(3)"),
        ("default uuid()", "DEFAULT (UUID())"),
        ("default (1)", "DEFAULT 1"),
        ("default curdate()", "DEFAULT (CURRENT_DATE())"),
        ("default next value for d.s", "DEFAULT (NEXTVAL(`d`.`s`))"),
        ("default replace('a', 'b', a)", "DEFAULT (REPLACE(_UTF8MB4'a', _UTF8MB4'b', `a`))"),
        ("on update now()", "ON UPDATE CURRENT_TIMESTAMP()"),
        ("comment 'it''s \\\\'", "COMMENT 'it''s \\\\'"),
        ("collate UTF8MB3_bin", "COLLATE utf8_bin"),
        ("key clustered", "PRIMARY KEY /*T![clustered_index] CLUSTERED */"),
        ("unique global", "UNIQUE KEY GLOBAL"),
        ("auto_random(3, 54)", "/*T![auto_rand] AUTO_RANDOM(3, 54) */"),
        ("check (a>1) not null", "CHECK(`a`>1) ENFORCED NOT NULL"),
        ("as (a + 1)", "GENERATED ALWAYS AS(`a`+1) VIRTUAL"),
        ("constraint c check (a<>1) not enforced", "CONSTRAINT `c` CHECK(`a`!=1) NOT ENFORCED"),
        (
            "references d.s (x) on update cascade on delete set null",
            "REFERENCES `d`.`s`(`x`) ON DELETE SET NULL ON UPDATE CASCADE",
        ),
    ],
)
def test_options_of_a_column_come_back_in_their_order(option: str, expected: str) -> None:
    """Literals with their charset, functions in parentheses, what is TiDB's in comments."""
    assert f"CREATE TABLE `t` (`a` INT NULL {expected})" == sent(f"create table t (a int null {option})")


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("key k using hash (a(3) desc, (a + 1))", "INDEX `k`(`a`(3) DESC, (`a`+1)) USING HASH"),
        ("constraint c unique index k (t.a)", "UNIQUE `c`(`t`.`a`)"),
        (
            "constraint primary key p (a) comment 'x' key_block_size 5 nonclustered using btree visible",
            "PRIMARY KEY `p`(`a`) /*T![clustered_index] NONCLUSTERED */ KEY_BLOCK_SIZE=5 USING BTREE COMMENT 'x' VISIBLE",
        ),
        (
            "key (a) comment 'x' comment '' global local invisible",
            "INDEX(`a`) COMMENT 'x' /*T![global_index] GLOBAL */ INVISIBLE",
        ),
        (
            "key (a) pre_split_regions = (between (1) and (9) regions 4)",
            "INDEX(`a`) /*T![pre_split] PRE_SPLIT_REGIONS = (BETWEEN (1) AND (9) REGIONS 4) */",
        ),
        ("fulltext f (a) with parser ngram", "FULLTEXT `f`(`a`) WITH PARSER `ngram`"),
        ("vector index v ((vec_l2_distance(a))) using hnsw", "VECTOR INDEX `v`((VEC_L2_DISTANCE(`a`))) USING HNSW"),
        (
            "foreign key f (a) references s (b) match full",
            "CONSTRAINT `f` FOREIGN KEY (`a`) REFERENCES `s`(`b`) MATCH FULL",
        ),
        ("constraint c foreign key f (a) references s", "CONSTRAINT `c` FOREIGN KEY (`a`) REFERENCES `s`"),
        ("foreign key if not exists (a) references s", "CONSTRAINT FOREIGN KEY IF NOT EXISTS (`a`) REFERENCES `s`"),
    ],
)
def test_keys_come_back_behind_the_columns_their_options_in_tidb_s_order(key: str, expected: str) -> None:
    """The constraint's name wins; an option said twice counts once."""
    assert f"CREATE TABLE `t` (`a` INT,{expected})" == sent(f"create table t ({key}, a int)")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            "engine=InnoDB, charset 'UTF8' collate utf8_BIN",
            "ENGINE = InnoDB DEFAULT CHARACTER SET = UTF8 DEFAULT COLLATE = UTF8_BIN",
        ),
        (
            "force auto_increment 5 force auto_random_base=6",
            "/*T![force_inc] FORCE */ AUTO_INCREMENT = 5 "
            "/*T![force_inc] FORCE */ /*T![auto_rand_base] AUTO_RANDOM_BASE = 6 */",
        ),
        (
            "ttl_enable='on' ttl=a + interval '1' sql_tsi_day ttl_job_interval='1h'",
            "/*T![ttl] TTL = `a` + INTERVAL _UTF8MB4'1' DAY */ /*T![ttl] TTL_ENABLE = 'OFF' */ "
            "/*T![ttl] TTL_JOB_INTERVAL = '1h' */",
        ),
        ("placement policy=p comment 'it''s' placement policy set default", " COMMENT = 'it''s' "),
        (
            "stats_persistent=1 union (a, d.b)",
            "STATS_PERSISTENT = DEFAULT /* TableOptionStatsPersistent is not supported */  UNION = (`a`,`d`.`b`)",
        ),
        (
            "storage engine `x` storage disk tablespace ts secondary_engine null",
            "ENGINE = x STORAGE DISK TABLESPACE = `ts` SECONDARY_ENGINE = NULL",
        ),
        (
            "/*T! shard_row_id_bits=4 */ /*!90000 pre_split_regions 2 */ /*T![unknown] x */ affinity='table'",
            "/*T! SHARD_ROW_ID_BITS = 4 */ /*T! PRE_SPLIT_REGIONS = 2 */ /*T![affinity] AFFINITY = 'table' */",
        ),
    ],
)
def test_options_of_a_table_come_back_each_behind_a_blank(options: str, expected: str) -> None:
    """Placement leaves its blank behind; time to live is turned off; versioned comments are opened."""
    assert f"CREATE TABLE `t` (`a` INT) {expected}" == sent(f"create table t (a int) {options}")


@pytest.mark.parametrize(
    ("partitioning", "expected"),
    [
        ("hash(a)", "HASH (`a`) PARTITIONS 1"),
        ("linear key algorithm=2 (a, t.b) partitions 3", "LINEAR KEY ALGORITHM = 2 (`a`,`t`.`b`) PARTITIONS 3"),
        (
            "range fields (a) (partition p values less than (1 + 1) comment 'x', partition q values less than maxvalue)",
            "RANGE COLUMNS (`a`) "
            "(PARTITION `p` VALUES LESS THAN (1+1) COMMENT = 'x',PARTITION `q` VALUES LESS THAN (MAXVALUE))",
        ),
        (
            "list columns (a,b) (partition p values in ((1,'x'),row(2,3)), partition q values in (default))",
            "LIST COLUMNS (`a`,`b`) (PARTITION `p` VALUES IN ((1, _UTF8MB4'x'), (2, 3)),PARTITION `q` DEFAULT)",
        ),
        (
            "range (a) subpartition by key (b) (partition p values less than (1) placement policy x engine y "
            "(subpartition s1, subpartition s2 comment 'z'))",
            "RANGE (`a`) SUBPARTITION BY KEY (`b`) SUBPARTITIONS 2 (PARTITION `p` VALUES LESS THAN (1)  ENGINE = y "
            "(SUBPARTITION `s1`,SUBPARTITION `s2` COMMENT = 'z'))",
        ),
        (
            "range (a) interval (1 month) first partition less than (1) last partition less than (9) null partition",
            "RANGE (`a`) INTERVAL (1 MONTH) FIRST PARTITION LESS THAN (1) LAST PARTITION LESS THAN (9) NULL PARTITION",
        ),
        (
            "system_time interval 1 day (partition p history, partition q current)",
            "SYSTEM_TIME INTERVAL 1 DAY (PARTITION `p` HISTORY,PARTITION `q` CURRENT)",
        ),
        (
            "hash(a) partitions 2 update indexes (k global, l local)",
            "HASH (`a`) PARTITIONS 2 UPDATE INDEXES (`k` GLOBAL,`l` LOCAL)",
        ),
    ],
)
def test_partitions_come_back_with_their_number_or_written_out(partitioning: str, expected: str) -> None:
    """Every kind, with subpartitions and intervals."""
    text = f"create table t (a int) partition by {partitioning}"
    assert f"CREATE TABLE `t` (`a` INT) PARTITION BY {expected}" == sent(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("create table if not exists d.`x``y` like s", "CREATE TABLE IF NOT EXISTS `d`.`x``y` LIKE `s`"),
        ("create temporary table t (like d.s)", "CREATE TEMPORARY TABLE `t` LIKE `d`.`s`"),
        (
            "create global temporary table t (a int) on commit preserve rows",
            "CREATE GLOBAL TEMPORARY TABLE `t` (`a` INT) ON COMMIT PRESERVE ROWS",
        ),
        ("create table t (a int) ignore as select 1", "CREATE TABLE `t` (`a` INT) IGNORE AS SELECT 1"),
        ("create table t select 1", "CREATE TABLE `t` AS SELECT 1"),
    ],
)
def test_tables_made_in_other_ways_come_back_too(text: str, expected: str) -> None:
    """Temporary ones, copies, and those of a query, which TiDB reads and then refuses."""
    assert expected == sent(text)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("create table select (a int)", 14),
        ("create table t (t.a.b.c int)", 22),
        ("create table t (a int(1) signed 2)", 33),
        ("create table t (a varchar)", 19),
        ("create table t (a double(5))", 19),
        ("create table t (a enum('x') charset ucs2)", 19),
        ("create table t (a int default 1 + 1)", 33),
        ("create table t (a int default (1 + 1))", 34),
        ("create table t (a int default -'1')", 32),
        ("create table t (a int on update 5)", 33),
        ("create table t (a int as (1) default 2)", 17),
        ("create table t (a int auto_random(1,2,3))", 38),
        ("create table t (a int, key k (a) using b)", 40),
        ("create table t (a int, foreign key (a))", 39),
        ("create table t (a int, spatial (a))", 24),
        ("create table t (a int) , engine x", 24),
        ("create table t (a int) engine x,", 33),
        ("create table t (a int) comment x", 32),
        ("create table t (a int) auto_increment '5'", 39),
        ("create table t (a int) row_format x", 35),
        ("create table t (a int) encryption 'x'", 35),
        ("create table t (a int) ttl_enable 'x'", 35),
        ("create table t (a int) ttl = a + interval 1 + 1 day", 45),
        ("create table t (a int) partition by hash(a) partitions 2 engine x", 58),
        ("create table t (a int) partition by hash(not a)", 42),
        ("create table t (a int) partition by hash(a) partitions 0", 56),
        ("create table t (a int) partition by range(a) (partition p values in (1))", 37),
        ("create table t (a int) on commit delete rows", 1),
        ("create global temporary table t (a int)", 1),
        ("create table t like s engine x", 23),
    ],
)
def test_what_tidb_s_grammar_refuses_is_refused_at_its_place(text: str, column: int) -> None:
    """And nothing but SchemaError is raised."""
    with pytest.raises(SchemaError, match=f"^line 1, column {column}: "):
        sent(text)


@pytest.mark.slow
@settings(
    max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), phases=(Phase.explicit, Phase.generate)
)
@given(table_texts.create_table)
@example("create table t (a int as (1) stored) ttl = a + interval 1 day partition by key () partitions 2")
def test_what_comes_back_reads_as_the_same(text: str) -> None:
    """Reading the restored text gives the restored text again, for every shape of the grammar."""
    once = sent(text)
    assert once == sent(once)
