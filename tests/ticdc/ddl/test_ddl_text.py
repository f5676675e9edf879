"""Text that TiCDC sends: rules that no vector shows, what releases do differently; a text sent is sent as it is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from simulator import TiCDC
from simulator.errors import DdlError
from simulator.reader.decode import DdlEvent
from simulator.releases import Release, find, parse_release
from simulator.ticdc.ddl.events import job_events, sent_query
from simulator.ticdc.ddl.sent_text import execute_text, sent_text
from simulator.tidb.ddl.session import Session

TEXTS = r"""
# databases
create schema d encryption = 'y'
    CREATE DATABASE `d` ENCRYPTION = 'y'
alter database charset utf8mb3
    ALTER DATABASE CHARACTER SET = utf8
alter database d set tiflash replica 2 location labels 'a', 'b'
    ALTER DATABASE `d` SET TIFLASH REPLICA 2 LOCATION LABELS 'a', 'b'
create database d placement policy p charset utf8
    CREATE DATABASE `d`  CHARACTER SET = utf8
# tables
flashback cluster to tso 5
    FLASHBACK CLUSTER TO TSO 5
unlock table
    UNLOCK TABLES
# indexes
create unique index if not exists i using btree on d.t (a(5), (a + 1)) comment 'c' lock = shared
    CREATE UNIQUE INDEX IF NOT EXISTS `i` ON `d`.`t` (`a`(5), (`a`+1)) USING BTREE COMMENT 'c' LOCK = SHARED
create index i on t (a) lock default algorithm inplace
    CREATE INDEX `i` ON `t` (`a`) ALGORITHM = INPLACE
drop index if exists i on t
    DROP INDEX /*T! IF EXISTS  */`i` ON `t`
drop index i on t algorithm = instant lock = none
    DROP INDEX `i` ON `t` ALGORITHM = INSTANT LOCK = NONE
# views and sequences
create sequence if not exists s increment 2 start = 5 nominvalue no cycle nocache comment 'c'
    CREATE SEQUENCE IF NOT EXISTS `s` INCREMENT BY 2 START WITH 5 NO MINVALUE NOCYCLE NOCACHE COMMENT = 'c'
alter sequence s restart with -5
    ALTER SEQUENCE `s` RESTART WITH -5
# what only TiDB has, as a whole
create placement policy p regions='a' followers=2
    /*T![placement] CREATE PLACEMENT POLICY `p`   */
drop placement policy if exists p
    /*T![placement] DROP PLACEMENT POLICY IF EXISTS `p` */
# ALTER TABLE: columns and keys
alter table t alter check c not enforced
    ALTER TABLE `t` ALTER CHECK `c` NOT ENFORCED
alter table t alter a set default -1
    ALTER TABLE `t` ALTER COLUMN `a` SET DEFAULT (-1)
alter table t alter a set default (1)
    ALTER TABLE `t` ALTER COLUMN `a` SET DEFAULT 1
alter table t alter a set default null
    ALTER TABLE `t` ALTER COLUMN `a` SET DEFAULT NULL
alter table t alter a set default (1 + 2)
    ALTER TABLE `t` ALTER COLUMN `a` SET DEFAULT (1+2)
alter table t order by a desc, t.b asc
    ALTER TABLE `t` ORDER BY `a` DESC,`t`.`b`
# ALTER TABLE: settings
alter table t charset utf8 collate utf8_bin
    ALTER TABLE `t` CHARACTER SET UTF8 COLLATE UTF8_BIN
alter table t collate utf8_bin charset utf8
    ALTER TABLE `t` DEFAULT COLLATE = UTF8_BIN DEFAULT CHARACTER SET = UTF8
alter table t placement policy p comment 'x'
    ALTER TABLE `t`  COMMENT = 'x'
alter table t placement policy p, comment 'x'
    ALTER TABLE `t` COMMENT = 'x'
alter table t attributes 'x', comment 'y'
    ALTER TABLE `t` COMMENT = 'y'
alter table t stats_options 'a=1', algorithm copy, lock = none, read only
    ALTER TABLE `t` STATS_OPTIONS='a=1', ALGORITHM = COPY, LOCK = NONE, READ ONLY
alter table t add stats_extended s correlation (a, b), drop stats_extended if exists u
    ALTER TABLE `t` ADD STATS_EXTENDED `s` CORRELATION(`a`, `b`), DROP STATS_EXTENDED IF EXISTS `u`
alter table t set hypo tiflash replica 1 location labels 'z'
    ALTER TABLE `t` SET TIFLASH REPLICA 1 LOCATION LABELS 'z'
alter table t cache, nocache, enable keys, with validation, secondary_load
    ALTER TABLE `t` CACHE, NOCACHE, ENABLE KEYS, WITH VALIDATION, SECONDARY_LOAD
alter table t
    (nothing)
# ALTER TABLE: partitions
alter table t import partition a tablespace
    ALTER TABLE `t` IMPORT PARTITION `a` TABLESPACE
alter table t comment 'x', discard tablespace
    ALTER TABLE `t` COMMENT = 'x' DISCARD TABLESPACE
alter table t reorganize partition a, b into (partition c values less than (5))
    ALTER TABLE `t` REORGANIZE PARTITION `a`,`b` INTO (PARTITION `c` VALUES LESS THAN (5))
alter table t comment 'x' remove partitioning
    ALTER TABLE `t` COMMENT = 'x' REMOVE PARTITIONING
alter table t comment 'x' partition by hash (a) partitions 2
    ALTER TABLE `t` COMMENT = 'x' PARTITION BY HASH (`a`) PARTITIONS 2
alter table t last partition less than (5) local
    ALTER TABLE `t` LAST PARTITION LESS THAN (5) NO_WRITE_TO_BINLOG
alter table t first partition less than (5) if exists
    ALTER TABLE `t` FIRST PARTITION LESS THAN (5)
alter table t partition p comment 'c' placement policy q
    ALTER TABLE `t` /*T![placement] PARTITION `p` COMMENT = 'c'  */
alter table t partition p
    (nothing)
alter table t partition p attributes 'x'
    ALTER TABLE `t`
"""
"""Statements, and below each what is sent of it."""

LINES = [line for line in TEXTS.splitlines() if line and not line.startswith("#")]
RESTORED = {text: sent[4:].replace("(nothing)", "") for text, sent in zip(LINES[::2], LINES[1::2], strict=True)}

REFUSED = ("/*T![placement] CREATE PLACEMENT POLICY `p`   */", "ALTER TABLE `t` COMMENT = 'x' DISCARD TABLESPACE")
"""What TiDB writes and itself refuses: no option is left of the policy, no comma stands before DISCARD."""

PLACEMENT = ("  CHARACTER SET", "  COMMENT", "'c'  */")
"""The blanks that placement leaves behind go at the second time."""


@pytest.mark.parametrize("text", RESTORED)
def test_a_statement_is_written_back_as_tidb_does_and_then_reads_as_itself(text: str) -> None:
    """TiDB's own parser and writer say so (pkg/parser/ast/ddl.go), for what is inside TiDB's comments too."""
    sent = RESTORED[text]
    assert sent_text(text, find("v8.5.3")) == sent
    if sent not in (*REFUSED, "", "ALTER TABLE `t`") and not any(part in sent for part in PLACEMENT):
        assert sent_text(sent, find("v8.5.3")) == sent


BY_RELEASE = r"""
v4.0.1 create table t (a int) shard_row_id_bits=2;
    create table t (a int) shard_row_id_bits=2;
v4.0.4 create table t (a int) shard_row_id_bits=2;
    create table t (a int) /*!90000 shard_row_id_bits=2 */ ;
v5.3.0 create table t (a int) shard_row_id_bits=2 engine=innodb pre_split_regions=2;
    create table t (a int) /*T! shard_row_id_bits=2 pre_split_regions=2 */ engine=innodb ;
v5.3.0 create table t (a int auto_random ( 3 ) primary key) auto_random_base = 100;
    create table t (a int /*T![auto_rand] auto_random ( 3 ) */ primary key) /*T![auto_rand_base] auto_random_base = 100 */ ;
v5.1.0 create table t (a int, primary key (a) clustered)
    create table t (a int, primary key (a) /*T![clustered_index] clustered */ )
v5.1.0 create table t (a int) /*T![auto_id_cache] auto_id_cache=5 */ shard_row_id_bits=2
    create table t (a int) /*T![auto_id_cache] auto_id_cache=5 */ shard_row_id_bits=2
v5.1.0 Drop Table t;
    Drop Table t;
v5.2.4 drop table t;
    DROP TABLE `t`
v5.4.0 create table t (a int) placement policy = p partition by hash (a) partitions 2
    CREATE TABLE `t` (`a` INT) /*T![placement] PLACEMENT POLICY = `p` */ PARTITION BY HASH (`a`) PARTITIONS 2
v6.0.0 create table t (a int) placement policy = p partition by hash (a) partitions 2
    CREATE TABLE `t` (`a` INT)  PARTITION BY HASH (`a`) PARTITIONS 2
v5.4.0 alter table t placement policy = default
    ALTER TABLE `t` /*T![placement] PLACEMENT POLICY = `default` */
v5.4.0 alter table t partition p placement policy q
    ALTER TABLE `t` /*T![placement] PARTITION `p` PLACEMENT POLICY = `q` */
v5.4.0 alter database d placement policy p
    /*T![placement] ALTER DATABASE `d` PLACEMENT POLICY = `p` */
v5.4.0 alter database d placement policy p charset utf8
    ALTER DATABASE `d` /*T![placement] PLACEMENT POLICY = `p` */ CHARACTER SET = utf8
v5.4.0 alter placement policy p regions = 'a,b' followers 2
    /*T![placement] ALTER PLACEMENT POLICY `p` REGIONS = 'a,b' FOLLOWERS = 2 */
v5.4.0 alter table t attributes 'x'
    ALTER TABLE `t` ATTRIBUTES='x'
v5.4.0 alter table t partition p attributes default
    ALTER TABLE `t` PARTITION `p` ATTRIBUTES=DEFAULT
v5.4.0 alter table t add partition (partition p values less than (5) placement policy q)
    ALTER TABLE `t` ADD PARTITION (PARTITION `p` VALUES LESS THAN (5) /*T![placement] PLACEMENT POLICY = `q` */)
v5.4.0 alter table t
    ALTER TABLE `t`
v6.5.0 alter table t ttl = c + interval 1 day ttl_enable = 'ON'
    ALTER TABLE `t` /*T![ttl] TTL = `c` + INTERVAL 1 DAY */ /*T![ttl] TTL_ENABLE = 'ON' */
v7.0.0 alter table t ttl = c + interval 1 day ttl_enable = 'ON'
    ALTER TABLE `t` /*T![ttl] TTL = `c` + INTERVAL 1 DAY */ /*T![ttl] TTL_ENABLE = 'OFF' */
v6.5.0 alter table t ttl_enable = 'on'
    ALTER TABLE `t` /*T![ttl] TTL_ENABLE = 'ON' */
"""


@pytest.mark.parametrize("place", range(0, len(BY_RELEASE.splitlines()) - 1, 2))
def test_each_release_writes_as_it_did(place: int) -> None:
    """As typed, then marked, then written back: with placement before 6.0, with TTL_ENABLE as it was before 7.0."""
    statement, sent = BY_RELEASE.splitlines()[1:][place : place + 2]
    release, _, text = statement.partition(" ")
    assert sent_text(text, find(release)) == sent[4:]


@pytest.mark.parametrize(
    ("release", "introducer"),
    [("v6.5.1", "_UTF8MB4"), ("v6.5.2", "_LATIN1"), ("v7.0.0", "_UTF8MB4"), ("v7.1.0", "_LATIN1")],
)
def test_strings_carry_the_charset_of_the_job_where_the_release_looks_at_it(release: str, introducer: str) -> None:
    """An introducer that the statement itself has stays."""
    text = "create table t (a char(9) default 'x' check (a > _utf8mb4'y'))"
    assert sent_text(text, find(release), "latin1") == (
        f"CREATE TABLE `t` (`a` CHAR(9) DEFAULT {introducer}'x' CHECK(`a`>_UTF8MB4'y') ENFORCED)"
    )


@pytest.mark.parametrize(
    ("release", "names", "introducer"),
    [("v6.5.1", "latin1", "_UTF8MB4"), ("v8.5.3", "latin1", "_LATIN1"), ("v8.5.3", "utf8mb4", "_UTF8MB4")],
)
def test_the_charset_of_a_job_is_that_of_its_connection(release: str, names: str, introducer: str) -> None:
    with TiCDC(release) as ticdc:
        ticdc.execute(f"SET NAMES {names}; CREATE TABLE t (a INT PRIMARY KEY, b CHAR(9) DEFAULT 'x')")
        sent = [event.query for event in ticdc.events() if isinstance(event, DdlEvent)]
    assert set(sent) == {f"CREATE TABLE `t` (`a` INT PRIMARY KEY,`b` CHAR(9) DEFAULT {introducer}'x')"}


def test_several_statements_in_one_job_stop_classic_and_are_joined_in_the_new_architecture() -> None:
    """Restores of backups make such jobs; they are split before they come here."""
    text = "create table a (x int); create table b (x int);"
    with pytest.raises(DdlError) as caught:
        sent_text(text, find("v8.5.3"))
    assert caught.value.code == "CDC:ErrUnexpected"
    assert sent_text(text, find("v8.5.4", "new")) == "CREATE TABLE `a` (`x` INT);CREATE TABLE `b` (`x` INT)"


def test_a_text_that_tidb_cannot_parse_stops_the_changefeed() -> None:
    """With TiDB's code; as typed it would have gone through."""
    with pytest.raises(DdlError) as caught:
        sent_text("drop tabel t", find("v8.5.3"))
    assert caught.value.code == "parser:1064"
    assert sent_text("drop tabel t", find("v4.0.9")) == "drop tabel t"


# -- a job as events: behaviours that came with one release are asked each by its own field ------------------------------

NEW = find("v8.5.7", "new")

VIEW = "CREATE ALGORITHM = UNDEFINED DEFINER = CURRENT_USER SQL SECURITY DEFINER VIEW `far`.`v` AS "

CAME = {
    "RENAME TABLE t TO u": "RENAME TABLE `Shop`.`t` TO `Shop`.`u`",
    "ALTER TABLE t EXCHANGE PARTITION `a``b` WITH TABLE u": "ALTER TABLE `Shop`.`t` EXCHANGE PARTITION `a``b` WITH TABLE `Shop`.`u`",
    "CREATE TABLE far.t LIKE u": "CREATE TABLE `far`.`t` LIKE `Shop`.`u`",
    "CREATE VIEW far.v AS SELECT a FROM u": f"{VIEW}SELECT `a` AS `a` FROM `Shop`.`u`",
}
"""What of statements is sent, the current database being Shop."""


def sent_of(text: str, release: Release, database: str = "Shop") -> str:
    (job,) = execute_text(text, Session(database, None, release)).jobs
    (event,) = job_events(job, release)
    return sent_query(event, release)


@pytest.mark.parametrize(
    ("without", "text", "other"),
    [
        (replace(NEW, rename_finds_old_schema=False), "RENAME TABLE t TO u", "RENAME TABLE `shop`.`t` TO `Shop`.`u`"),
        (
            replace(NEW, exchange_keeps_quotes=False),
            "ALTER TABLE t EXCHANGE PARTITION `a``b` WITH TABLE u",
            "ALTER TABLE `Shop`.`t` EXCHANGE PARTITION `ab` WITH TABLE `Shop`.`u`",
        ),
        (replace(NEW, create_like_finds_schema=False), "CREATE TABLE far.t LIKE u", "CREATE TABLE `far`.`t` LIKE `u`"),
        (replace(NEW, view_finds_schemas=False), "CREATE VIEW far.v AS SELECT a FROM u", f"{VIEW}SELECT `a` FROM `u`"),
    ],
)
def test_what_came_with_8_5_7_is_decided_by_a_field_for_each_statement(without: Release, text: str, other: str) -> None:
    """With one of them off, the others' statements are sent as before."""
    assert {text: sent_of(text, NEW) for text in CAME} == CAME
    assert {text: sent_of(text, without) for text in CAME} == {**CAME, text: other}


def test_a_statement_that_is_written_anew_is_restored_by_its_own_field() -> None:
    (job,) = execute_text("RENAME TABLE a TO b, c TO d", Session("shop", None, NEW)).jobs

    assert [event.as_is for event in job_events(job, NEW)] == [True, True]
    assert [event.as_is for event in job_events(job, replace(NEW, restores_rebuilt=True))] == [False, False]


def test_the_event_of_an_exchange_is_of_one_table_in_the_topic_of_the_other() -> None:
    (job,) = execute_text("ALTER TABLE s.parts EXCHANGE PARTITION p WITH TABLE r.plain", Session("", None, NEW)).jobs
    (event,), (other,) = (job_events(job, replace(NEW, exchange_event_of_plain=plain)) for plain in (True, False))

    assert (event.schema, event.table, event.old) == ("r", "plain", ("s", "parts"))
    assert (other.schema, other.table, other.old) == ("s", "parts", ("r", "plain"))


SPLIT = "ALTER TABLE `t` ADD INDEX `i`(`a`) /*T![pre_split] PRE_SPLIT_REGIONS = 4 */"


@pytest.mark.parametrize("tag", ["v8.5.0", "v8.5.5", "new:v8.5.4", "new:v8.5.5"])
@pytest.mark.parametrize(
    "text",
    [
        SPLIT,
        "CREATE INDEX i ON t (a) PRE_SPLIT_REGIONS = (BY (1), (2))",
        "CREATE TABLE t (a INT, KEY (a) PRE_SPLIT_REGIONS = 4)",
        "ALTER TABLE t ADD (b INT, KEY (b) PRE_SPLIT_REGIONS = 4)",
    ],
)
def test_the_regions_of_an_index_stop_a_ticdc_whose_parser_does_not_know_them(tag: str, text: str) -> None:
    with pytest.raises(DdlError, match="cannot parse PRE_SPLIT_REGIONS of an index, and stops"):
        sent_text(text, parse_release(tag))


@pytest.mark.parametrize("tag", ["v8.5.6", "new:v8.5.6", "new:v26.3.1", "new:v9.0.0-beta.1"])
def test_the_regions_of_an_index_are_sent_where_they_are_known(tag: str) -> None:
    assert sent_text("alter table t add index i (a) pre_split_regions 4", parse_release(tag)) == SPLIT
    table = "CREATE TABLE `t` (`a` INT) /*T! SHARD_ROW_ID_BITS = 4 */ /*T! PRE_SPLIT_REGIONS = 2 */"
    assert sent_text(table, find("v8.5.5")) == table


@pytest.mark.parametrize(
    ("before", "since"), [("v6.5.8", "v6.5.9"), ("v7.1.4", "v7.1.5"), ("v7.5.1", "v7.5.2"), ("v8.0.0", "v8.1.0")]
)
def test_some_releases_drop_without_validation(before: str, since: str) -> None:
    """They write the statement anew and forget it; 6.5.3 sends what was written."""
    text = "ALTER TABLE s.parts EXCHANGE PARTITION p WITH TABLE r.plain WITHOUT VALIDATION"
    rebuilt = "ALTER TABLE `s`.`parts` EXCHANGE PARTITION `p` WITH TABLE `r`.`plain`"
    found = [sent_of(text, find(release), "") for release in (before, since, "v6.5.3")]
    assert found[:2] == [rebuilt, f"{rebuilt} WITHOUT VALIDATION"] and found[2].endswith(" WITHOUT VALIDATION")


@pytest.mark.parametrize(("release", "default"), [("v8.0.0", "NEXTVAL(`s`)"), ("v8.2.0", "(NEXTVAL(`s`))")])
def test_a_function_as_a_default_has_the_parentheses_of_tidbs_parser(release: str, default: str) -> None:
    created, modified = (
        "CREATE TABLE t (n INT DEFAULT (NEXT VALUE FOR s))",
        "ALTER TABLE t MODIFY n INT DEFAULT NEXTVAL(s)",
    )
    column = f"`n` INT DEFAULT {default}"
    assert sent_of(created, find(release), "s") == f"CREATE TABLE `t` ({column})"
    assert sent_of(modified, find(release), "s") == f"ALTER TABLE `t` MODIFY COLUMN {column}"
