"""CREATE TABLE as TiCDC sends it: every spelling comes back as TiDB writes it, and what TiDB refuses is refused."""

from __future__ import annotations

import re
from functools import cache

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from support.upstreams import cases, grouped

from simulator.errors import SchemaError
from simulator.tidb.parser.databases_and_tables import parse_create_table
from simulator.tidb.parser.script import parse_tokens
from simulator.tidb.parser.tokens import tokenize
from simulator.tidb.restore.tables import restore_table


def sent(text: str) -> str:
    return restore_table(parse_tokens(text, tokenize(text), parse_create_table))


TYPES = cases(r"""
    a integer(5) unsigned zerofill => `a` INT(5) UNSIGNED ZEROFILL
    a bool unsigned, b year(4) unsigned, c bit => `a` TINYINT(1) UNSIGNED,`b` YEAR(4),`c` BIT(1)
    a float(24), b float(25), c float(7,2), d real => `a` FLOAT,`b` DOUBLE,`c` FLOAT(7,2),`d` DOUBLE
    a time(3), b datetime, c timestamp(6) => `a` TIME(3),`b` DATETIME,`c` TIMESTAMP(6)
    a char, b binary(3), c varbinary(3), d nchar(5) => `a` CHAR,`b` BINARY(3),`c` VARBINARY(3),`d` CHAR(5)
    a varchar(5) charset utf8mb3 binary, b varchar(5) character set binary
        => `a` VARCHAR(5) BINARY CHARACTER SET UTF8,`b` VARBINARY(5)
    a text byte, b long varbinary, c long, d tinyblob => `a` BLOB,`b` MEDIUMBLOB,`c` MEDIUMTEXT,`d` TINYBLOB
    a enum('it''s', 'b\\c ') charset latin1, b set(0x41) => `a` ENUM('it''s','b\c'),`b` SET('A')
    a vector<float>(3), b json => `a` VECTOR(3),`b` JSON
    a serial => `a` BIGINT UNSIGNED NOT NULL AUTO_INCREMENT UNIQUE KEY
""")
OPTIONS = cases(r"""
    default 'a' 'b\\' => DEFAULT _UTF8MB4'ab\\'
    default n'é' => DEFAULT _UTF8'é'
    default -007 => DEFAULT -7
    default +1.50 => DEFAULT +1.50
    default 1e5 => DEFAULT 1e+05
    default X'4a' => DEFAULT x'4a'
    default b'0010' => DEFAULT b'10'
    default true => DEFAULT TRUE
    default localtime => DEFAULT CURRENT_TIMESTAMP()
    default ((now(3))) => DEFAULT CURRENT_TIMESTAMP(3)
    default uuid() => DEFAULT (UUID())
    default (1) => DEFAULT 1
    default curdate() => DEFAULT (CURRENT_DATE())
    default next value for d.s => DEFAULT (NEXTVAL(`d`.`s`))
    default replace('a', 'b', a) => DEFAULT (REPLACE(_UTF8MB4'a', _UTF8MB4'b', `a`))
    on update now() => ON UPDATE CURRENT_TIMESTAMP()
    comment 'it''s \\' => COMMENT 'it''s \\'
    collate UTF8MB3_bin => COLLATE utf8_bin
    key clustered => PRIMARY KEY /*T![clustered_index] CLUSTERED */
    unique global => UNIQUE KEY GLOBAL
    auto_random(3, 54) => /*T![auto_rand] AUTO_RANDOM(3, 54) */
    check (a>1) not null => CHECK(`a`>1) ENFORCED NOT NULL
    as (a + 1) => GENERATED ALWAYS AS(`a`+1) VIRTUAL
    constraint c check (a<>1) not enforced => CONSTRAINT `c` CHECK(`a`!=1) NOT ENFORCED
    references d.s (x) on update cascade on delete set null
        => REFERENCES `d`.`s`(`x`) ON DELETE SET NULL ON UPDATE CASCADE
""")
KEYS = cases("""
    key k using hash (a(3) desc, (a + 1)) => INDEX `k`(`a`(3) DESC, (`a`+1)) USING HASH
    constraint c unique index k (t.a) => UNIQUE `c`(`t`.`a`)
    constraint primary key p (a) comment 'x' key_block_size 5 nonclustered using btree visible
        => PRIMARY KEY `p`(`a`) /*T![clustered_index] NONCLUSTERED */ KEY_BLOCK_SIZE=5 USING BTREE COMMENT 'x' VISIBLE
    key (a) comment 'x' comment '' global local invisible
        => INDEX(`a`) COMMENT 'x' /*T![global_index] GLOBAL */ INVISIBLE
    key (a) pre_split_regions = (between (1) and (9) regions 4)
        => INDEX(`a`) /*T![pre_split] PRE_SPLIT_REGIONS = (BETWEEN (1) AND (9) REGIONS 4) */
    fulltext f (a) with parser ngram => FULLTEXT `f`(`a`) WITH PARSER `ngram`
    vector index v ((vec_l2_distance(a))) using hnsw => VECTOR INDEX `v`((VEC_L2_DISTANCE(`a`))) USING HNSW
    foreign key f (a) references s (b) match full => CONSTRAINT `f` FOREIGN KEY (`a`) REFERENCES `s`(`b`) MATCH FULL
    constraint c foreign key f (a) references s => CONSTRAINT `c` FOREIGN KEY (`a`) REFERENCES `s`
    foreign key if not exists (a) references s => CONSTRAINT FOREIGN KEY IF NOT EXISTS (`a`) REFERENCES `s`
""")
TABLE_OPTIONS = cases("""
    engine=InnoDB, charset 'UTF8' collate utf8_BIN
        => ENGINE = InnoDB DEFAULT CHARACTER SET = UTF8 DEFAULT COLLATE = UTF8_BIN
    force auto_increment 5 force auto_random_base=6
        => /*T![force_inc] FORCE */ AUTO_INCREMENT = 5 /*T![force_inc] FORCE */ /*T![auto_rand_base] AUTO_RANDOM_BASE = 6 */
    ttl_enable='on' ttl=a + interval '1' sql_tsi_day ttl_job_interval='1h'
        => /*T![ttl] TTL = `a` + INTERVAL _UTF8MB4'1' DAY */ /*T![ttl] TTL_ENABLE = 'OFF' */ /*T![ttl] TTL_JOB_INTERVAL = '1h' */
    stats_persistent=1 union (a, d.b)
        => STATS_PERSISTENT = DEFAULT /* TableOptionStatsPersistent is not supported */  UNION = (`a`,`d`.`b`)
    storage engine `x` storage disk tablespace ts secondary_engine null
        => ENGINE = x STORAGE DISK TABLESPACE = `ts` SECONDARY_ENGINE = NULL
    /*T! shard_row_id_bits=4 */ /*!90000 pre_split_regions 2 */ /*T![unknown] x */ affinity='table'
        => /*T! SHARD_ROW_ID_BITS = 4 */ /*T! PRE_SPLIT_REGIONS = 2 */ /*T![affinity] AFFINITY = 'table' */
""")
PARTITIONS = cases("""
    hash(a) => HASH (`a`) PARTITIONS 1
    linear key algorithm=2 (a, t.b) partitions 3 => LINEAR KEY ALGORITHM = 2 (`a`,`t`.`b`) PARTITIONS 3
    range fields (a) (partition p values less than (1 + 1) comment 'x', partition q values less than maxvalue)
        => RANGE COLUMNS (`a`) (PARTITION `p` VALUES LESS THAN (1+1) COMMENT = 'x',PARTITION `q` VALUES LESS THAN (MAXVALUE))
    list columns (a,b) (partition p values in ((1,'x'),row(2,3)), partition q values in (default))
        => LIST COLUMNS (`a`,`b`) (PARTITION `p` VALUES IN ((1, _UTF8MB4'x'), (2, 3)),PARTITION `q` DEFAULT)
    range (a) subpartition by key (b) (partition p values less than (1) placement policy x engine y (subpartition s1, subpartition s2 comment 'z'))
        => RANGE (`a`) SUBPARTITION BY KEY (`b`) SUBPARTITIONS 2 (PARTITION `p` VALUES LESS THAN (1)  ENGINE = y (SUBPARTITION `s1`,SUBPARTITION `s2` COMMENT = 'z'))
    range (a) interval (1 month) first partition less than (1) last partition less than (9) null partition
        => RANGE (`a`) INTERVAL (1 MONTH) FIRST PARTITION LESS THAN (1) LAST PARTITION LESS THAN (9) NULL PARTITION
    system_time interval 1 day (partition p history, partition q current)
        => SYSTEM_TIME INTERVAL 1 DAY (PARTITION `p` HISTORY,PARTITION `q` CURRENT)
    hash(a) partitions 2 update indexes (k global, l local)
        => HASH (`a`) PARTITIONS 2 UPDATE INDEXES (`k` GLOBAL,`l` LOCAL)
""")
TABLES = cases("""
    create table if not exists d.`x``y` like s => CREATE TABLE IF NOT EXISTS `d`.`x``y` LIKE `s`
    create temporary table t (like d.s) => CREATE TEMPORARY TABLE `t` LIKE `d`.`s`
    create global temporary table t (a int) on commit preserve rows
        => CREATE GLOBAL TEMPORARY TABLE `t` (`a` INT) ON COMMIT PRESERVE ROWS
    create table t (a int) ignore as select 1 => CREATE TABLE `t` (`a` INT) IGNORE AS SELECT 1
    create table t select 1 => CREATE TABLE `t` AS SELECT 1
""")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((f"create table t ({text})", f"CREATE TABLE `t` ({said})") for text, said in TYPES),
        *((f"create table t (a int null {text})", f"CREATE TABLE `t` (`a` INT NULL {said})") for text, said in OPTIONS),
        *((f"create table t ({text}, a int)", f"CREATE TABLE `t` (`a` INT,{said})") for text, said in KEYS),
        *((f"create table t (a int) {text}", f"CREATE TABLE `t` (`a` INT) {said}") for text, said in TABLE_OPTIONS),
        (
            "create table t (a int) placement policy=p comment 'it''s' placement policy set default",
            "CREATE TABLE `t` (`a` INT)  COMMENT = 'it''s' ",
        ),
        *(
            (f"create table t (a int) partition by {text}", f"CREATE TABLE `t` (`a` INT) PARTITION BY {said}")
            for text, said in PARTITIONS
        ),
        *TABLES,
    ],
)
def test_a_table_comes_back_as_tidb_writes_it(text: str, expected: str) -> None:
    """Types have lengths only where they are said, and no synonyms; the charset of ENUM and SET is lost. Literals have their
    charset, functions are in parentheses, what is TiDB's in comments. Keys come behind the columns, and their options in TiDB's
    order: the constraint's name wins, and an option said twice counts once. Placement leaves its blank behind; time to live is
    turned off; versioned comments are opened. Tables of a query TiDB reads and then refuses."""
    assert expected == sent(text)


REFUSED = grouped("""
    create table select (a int) => 14
    create table t (t.a.b.c int) => 22
    create table t (a int(1) signed 2) | create table t (a int default 1 + 1) => 33
    create table t (a int on update 5) | create table t (a int) engine x, => 33
    create table t (a varchar) | create table t (a double(5)) | create table t (a enum('x') charset ucs2) => 19
    create table t (a int default (1 + 1)) => 34
    create table t (a int default -'1') | create table t (a int) comment x => 32
    create table t (a int as (1) default 2) => 17
    create table t (a int auto_random(1,2,3)) => 38
    create table t (a int, key k (a) using b) => 40
    create table t (a int, foreign key (a)) | create table t (a int) auto_increment '5' => 39
    create table t (a int, spatial (a)) | create table t (a int) , engine x => 24
    create table t (a int) row_format x | create table t (a int) encryption 'x' => 35
    create table t (a int) ttl_enable 'x' => 35
    create table t (a int) ttl = a + interval 1 + 1 day => 45
    create table t (a int) partition by hash(a) partitions 2 engine x => 58
    create table t (a int) partition by hash(not a) => 42
    create table t (a int) partition by hash(a) partitions 0 => 56
    create table t (a int) partition by range(a) (partition p values in (1)) => 37
    create table t (a int) on commit delete rows | create global temporary table t (a int) => 1
    create table t like s engine x => 23
""")


@pytest.mark.parametrize(("text", "column"), REFUSED)
def test_what_tidb_s_grammar_refuses_is_refused_at_its_place(text: str, column: str) -> None:
    with pytest.raises(SchemaError, match=f"^line 1, column {column}: "):
        sent(text)


GRAMMAR = r"""
name: a | B | `select` | `x``y` | ümlaut | _1 | a$ | `a b` | status
column: {name} | t . {name}
number: 0 | 1 | 007 | 18446744073709551615
word: x | InnoDB | 'y'
literal: {string} | {number} | NULL | true | -1 | + 1.50 | .5 | 5. | 1e5 | 1.0E-7 | x'41' | 0xF | b'010' | N'é' | _latin1'a'
literal: 'a' 'b'
bits: {column} | {number} | a + 1 | year(a) | a % (b - 2) | -1
condition: {bits} | a > 1 and b <> 'x' | a in (1, 2) | a is not null | not b
sign: unsigned | SIGNED | zerofill
charset: charset utf8mb4 | character set 'LATIN1' | CHAR SET binary | binary | binary charset ascii | charset gbk binary
integer: int | INTEGER | tinyint | int8 | BIGINT | Smallint | mediumint
type: {integer} {length} {sign*} | bool {sign*} | year {sign*} | year(4) {sign*}
type: decimal {sign*} | NUMERIC {sign*} | fixed {sign*} | dec {sign*} | float(30) {sign*} | float {sign*}
type: decimal(10,2) {sign*} | float(10,2) | double( 10 , 2 ) {sign*} | real(10,2)
type: char {length} {charset?} | national char {length} | nchar {length} {charset?} | text {length} {charset?}
type: varchar(5) {charset?} | char varying (5) | nvarchar(5) {charset?} | long varchar | tinytext {charset?} | longtext
type: binary {length} | blob {length} | bit {length} | time {length} | datetime {length} | timestamp {length} | vector {length}
type: date | json | varbinary(5) | long varbinary | mediumblob | enum ({string+,}) {charset?} | set ({string+,}) {charset?}
now: now() | current_timestamp | LOCALTIME(3) | localtimestamp()
default: {literal} | {now} | (now(6)) | (uuid()) | rand(1) | next value for s | ((nextval(d.s)))
check: check ({condition}) | check ({condition}) enforced | check ({condition}) not enforced
action: restrict | cascade | set null | no action | set default
on: on delete {action} | on update {action} on delete {action}
referred: (a) | (a, `b` desc)
match: match full | match simple
references: references s {referred?} {match?} {on?} | references d.s {referred?} {match?} {on?}
option: not null | null | auto_increment | auto_random | auto_random(3) | auto_random ( 3 , 54 ) | primary key
option: primary key clustered | primary key nonclustered global | unique | unique key | unique local | on update now(3)
option: serial default value | column_format fixed | storage disk | default {default} | comment {string} | {check}
option: constraint c {check} | check ({condition}) not null
virtual: virtual | STORED
constraint: not null | unique | comment {string}
always: generated always
collated: collate utf8mb4_bin
definition: {column} {type} {option*} {collated?} {references?} | {column} serial {option*} {references?}
definition: {column} {type} {always?} as ({condition}) {virtual?} {constraint*}
keyed: key_block_size {number} | key_block_size = {number} | using btree | type hash | with parser ngram | visible | invisible
keyed: comment {string} | clustered | nonclustered | global | local | pre_split_regions = 4
order: asc | desc
part: {column} {length} {order?} | ({condition}) {order?}
named: constraint c | constraint
btree: using btree
key: {named?} primary key {name?} {btree?} ({part+,}) {keyed*} | {named?} unique {name?} ({part+,}) {keyed*}
key: unique key {name?} ({part+,}) | constraint unique index ({part+,}) {keyed*} | key ({part+,}) {keyed*}
key: index if not exists {name} ({part+,}) | key k type rtree ({part+,}) {keyed*} | fulltext {name?} ({part+,}) {keyed*}
key: fulltext key ({part+,}) | vector index {name?} ({part+,}) | vector index ({part+,}) using hnsw
key: constraint `f k` foreign key {name?} ({part+,}) {references} | foreign key ({part+,}) {references} | constraint {check}
equals: = | =
stored: engine {equals?} {word} | storage engine {equals?} {word} | comment {equals?} {string} | tablespace {equals?} {name}
stored: data directory {equals?} {string} | index directory {string} | max_rows {equals?} {number} | nodegroup {number}
encoding: utf8 | binary | 'GBK'
sorted: utf8mb4_bin | binary | 'ASCII_BIN'
listed: {stored} | default charset {equals?} {encoding} | character set {encoding} | default collate {equals?} {sorted}
listed: collate {sorted} | force auto_increment {equals?} {number} | auto_random_base {number} | auto_id_cache {number}
listed: checksum {equals?} {number} | stats_topn {number} | shard_row_id_bits {equals?} {number} | pre_split_regions {number}
listed: stats_persistent default | pack_keys {equals?} {number} | stats_sample_pages default | connection {equals?} {string}
listed: compression {string} | password {equals?} {string} | stats_col_list {string} | row_format {equals?} default
listed: row_format compact | row_format tokudb_zstd | ttl {equals?} {name} + interval 1 day | ttl = {name} + interval '2' hour
listed: ttl {name} + interval 1 SQL_TSI_YEAR | storage disk | secondary_engine null | encryption='n' | union=(a, d.b)
listed: ttl_enable = 'on' | ttl_job_interval '1h' | stats_sample_rate 0.10 | insert_method last | secondary_engine tiflash
hashed: linear hash ({bits}) | hash ({bits}) | key () | key algorithm = 2 (a, t.b)
range: partition {name} values less than maxvalue {stored*} | partition {name} values less than (10) {stored*}
range: partition {name} values less than ({bits}) {stored*}
member: {bits} | default
list: partition {name} default {stored*} | partition {name} values in ({member+,}) {stored*}
row: (1,2) | row(1, null) | ('a', b)
pair: partition {name} values in ({row+,})
plain: partition {name} {stored*}
null: null partition | null partition maxvalue partition
partitioning: {hashed} | {hashed} partitions 3 | {hashed} ({plain+,}) | range ({bits}) ({range+,})
partitioning: range columns (a) ({range+,}) | range columns (a) ({range+,}) update indexes (k global, `l` local)
partitioning: range ({bits}) subpartition by {hashed} ({range+,})
partitioning: range ({bits}) subpartition by {hashed} subpartitions 2 ({range+,})
partitioning: range (a) interval (1 month) first partition less than (1) last partition less than ({bits}) {null?}
partitioning: list ({bits}) ({list+,}) | list columns (a, t.b) ({pair+,}) | system_time (partition p history, partition q current)
partitioning: system_time limit 10 (partition p history, partition q current)
partitioning: system_time interval 1 day (partition p history, partition q current)
partitioned: partition by {partitioning}
query: select 1 | ignore as select 1 | replace table s | as (select a from b)
element: {definition} | {definition} | {key}
body: ({element+,}) {listed*} {partitioned?} {query?}
exists: if not exists
table: create table {exists?} {name} {body} | create temporary table {exists?} d.t {body} | create table {name} like s
table: create table {name} ( like d.s ) | create global temporary table t {body} on commit delete rows
table: create global temporary table t {body} on commit preserve rows
"""
"""What TiDB's parser takes, less what it loses when it writes a statement back: placement, quotes around the word of an option,
backslashes in the text of one. `{x}` is a text of x, `{x?}` one or none, `{x*}` up to three, `{x+,}` one to three with commas."""

LETTERS = st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\\")
DRAWN = {
    "string": st.text(LETTERS, max_size=5).map(lambda text: "'" + text.replace("'", "''") + "'"),
    "length": st.just("") | st.integers(0, 70).map(lambda digits: f"({digits})"),
}


@cache
def texts(rule: str) -> SearchStrategy[str]:
    """Texts of a rule of the grammar."""
    if rule in DRAWN:
        return DRAWN[rule]
    choices = re.findall(rf"^{rule}: (.*)$", GRAMMAR, re.MULTILINE)
    return st.one_of(*(sequence(choice) for line in choices for choice in line.split(" | ")))


def sequence(choice: str) -> SearchStrategy[str]:
    return st.tuples(*map(piece, re.findall(r"\{\w+\W*\}|[^{]+", choice))).map("".join)


def piece(text: str) -> SearchStrategy[str]:
    found = re.fullmatch(r"\{(\w+)(\W*)\}", text)
    if not found:
        return st.just(text)
    inner, times = texts(found[1]), found[2]
    if not times:
        return inner
    least, most, separator = {"?": (0, 1, ""), "*": (0, 3, " "), "+,": (1, 3, ", ")}[times]
    return st.lists(inner, min_size=least, max_size=most).map(separator.join)


@pytest.mark.slow
@settings(max_examples=100, suppress_health_check=list(HealthCheck), phases=(Phase.explicit, Phase.generate))
@given(texts("table"))
@example("create table t (a int as (1) stored) ttl = a + interval 1 day partition by key () partitions 2")
def test_what_comes_back_reads_as_the_same(text: str) -> None:
    """Reading the restored text gives the restored text again, for every shape of the grammar."""
    once = sent(text)
    assert once == sent(once)
