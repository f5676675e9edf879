"""CREATE TABLE texts in every shape of TiDB's grammar, for hypothesis: each is one that TiDB's parser takes.

What TiDB loses when it writes a statement back is not here: placement, quotes around the word of an option,
backslashes in the text of one.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

Texts = SearchStrategy[str]


def either(*choices: str | Texts) -> Texts:
    return st.one_of(*(st.just(choice) if isinstance(choice, str) else choice for choice in choices))


def many(part: Texts, separator: str, most: int = 3, least: int = 1) -> Texts:
    return st.lists(part, min_size=least, max_size=most).map(separator.join)


def maybe(part: str | Texts) -> Texts:
    return either("", part)


def spaced(*parts: str | Texts) -> Texts:
    """The parts, blanks between those that are not empty."""
    drawn = st.tuples(*(st.just(part) if isinstance(part, str) else part for part in parts))
    return drawn.map(lambda words: " ".join(word for word in words if word))


LETTERS = st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\\")
name = either("a", "B", "`select`", "`x``y`", "ümlaut", "_1", "a$", "`a b`", "status")
column = either(name, name.map(lambda text: f"t . {text}"))
number = either("0", "1", "007", "18446744073709551615")
string = st.text(LETTERS, max_size=5).map(lambda text: "'" + text.replace("'", "''") + "'")
word = either("x", "InnoDB", "'y'")
literal = either(
    string,
    number,
    "NULL",
    "true",
    "-1",
    "+ 1.50",
    ".5",
    "5.",
    "1e5",
    "1.0E-7",
    "x'41'",
    "0xF",
    "b'010'",
    "N'é'",
    "_latin1'a'",
    "'a' 'b'",
)
bits = either(column, number, "a + 1", "year(a)", "a % (b - 2)", "-1")
condition = either(bits, "a > 1 and b <> 'x'", "a in (1, 2)", "a is not null", "not b")
length = maybe(st.integers(0, 70).map(lambda digits: f"({digits})"))
precision = either(length, "(10,2)", "( 5 , 0 )")
signs = many(either("unsigned", "SIGNED", "zerofill"), " ", least=0)
charset = either(
    "charset utf8mb4",
    "character set 'LATIN1'",
    "CHAR SET binary",
    "binary",
    "binary charset ascii",
    "charset gbk binary",
)
type_ = either(
    spaced(either("int", "INTEGER", "tinyint", "int8", "BIGINT", "Smallint", "mediumint"), length, signs),
    spaced(either("bool", "year", "year(4)"), signs),
    spaced(either("decimal", "NUMERIC", "fixed", "dec", "float(30)", "float"), signs),
    spaced(either("decimal", "float", "double", "real"), "(10,2)", signs),
    spaced(either("char", "national char", "nchar", "text"), length, maybe(charset)),
    spaced(
        either("varchar(5)", "char varying (5)", "nvarchar(5)", "long varchar", "tinytext", "longtext"), maybe(charset)
    ),
    spaced(either("binary", "blob", "bit", "time", "datetime", "timestamp", "vector"), length),
    either("date", "json", "varbinary(5)", "long varbinary", "mediumblob"),
    spaced(either("enum", "set"), many(string, ",").map(lambda members: f"({members})"), maybe(charset)),
)
now = either("now()", "current_timestamp", "LOCALTIME(3)", "localtimestamp()")
default = either(literal, now, "(now(6))", "(uuid())", "rand(1)", "next value for s", "((nextval(d.s)))")
check = spaced("check (", condition, ")", either("", "enforced", "not enforced", "not null"))
action = either("restrict", "cascade", "set null", "no action", "set default")
references = spaced(
    "references",
    either("s", "d.s"),
    either("", "(a)", "(a, `b` desc)"),
    either("", "match full", "match simple"),
    either("", spaced("on delete", action), spaced("on update", action, "on delete", action)),
)
column_option = either(
    "not null",
    "null",
    "auto_increment",
    "auto_random",
    "auto_random(3)",
    "auto_random ( 3 , 54 )",
    "primary key",
    "key clustered",
    "primary key nonclustered global",
    "unique",
    "unique key",
    "unique local",
    "on update now(3)",
    "serial default value",
    "column_format fixed",
    "storage disk",
    spaced("default", default),
    spaced("comment", string),
    spaced(maybe("constraint c"), check),
)
generated = spaced(
    maybe("generated always"),
    "as (",
    condition,
    ")",
    either("", "virtual", "STORED"),
    many(either("not null", "unique", spaced("comment", string)), " ", least=0),
)
definition = spaced(
    column,
    either(
        spaced(
            either(type_, "serial"), many(column_option, " ", least=0), maybe("collate utf8mb4_bin"), maybe(references)
        ),
        spaced(type_, generated),
    ),
)
key_option = either(
    spaced("key_block_size", maybe("="), number),
    "using btree",
    "type hash",
    "with parser ngram",
    "visible",
    "invisible",
    spaced("comment", string),
    "clustered",
    "nonclustered",
    "global",
    "local",
    "pre_split_regions = 4",
)
part = spaced(either(spaced(column, length), spaced("(", condition, ")")), either("", "asc", "desc"))
parts = spaced("(", many(part, ", "), ")")
key_options = many(key_option, " ", least=0)
key = either(
    spaced(maybe("constraint c"), "primary key", maybe(name), maybe("using btree"), parts, key_options),
    spaced(maybe("constraint"), "unique", either("", "key", "index"), maybe(name), parts, key_options),
    spaced(either("key", "index"), maybe("if not exists"), either("", name, "k type rtree"), parts, key_options),
    spaced("fulltext", either("", "key", "index"), maybe(name), parts, key_options),
    spaced("vector index", maybe(name), parts, either("", "using hnsw")),
    spaced(maybe("constraint `f k`"), "foreign key", maybe(name), parts, references),
    spaced(maybe("constraint"), "check (", condition, ")", either("", "enforced", "not enforced")),
)
equals = either("", "=", " = ")
partition_option = either(
    spaced(either("engine", "storage engine"), equals, word),
    spaced("comment", equals, string),
    spaced(either("data", "index"), "directory", equals, string),
    spaced(either("max_rows", "nodegroup"), equals, number),
    spaced("tablespace", equals, name),
)
table_option = either(
    partition_option,
    spaced(maybe("default"), either("charset", "character set"), equals, either("utf8", "binary", "'GBK'")),
    spaced(maybe("default"), "collate", equals, either("utf8mb4_bin", "binary", "'ASCII_BIN'")),
    spaced(maybe("force"), either("auto_increment", "auto_random_base"), equals, number),
    spaced(either("auto_id_cache", "checksum", "stats_topn", "shard_row_id_bits", "pre_split_regions"), equals, number),
    spaced(either("stats_persistent", "pack_keys", "stats_sample_pages"), equals, either("default", number)),
    spaced(either("connection", "compression", "password", "stats_col_list"), equals, string),
    spaced("row_format", equals, either("default", "compact", "tokudb_zstd")),
    spaced("ttl", equals, name, "+ interval", either("1", "'2'"), either("day", "SQL_TSI_YEAR", "hour")),
    either(
        "storage disk",
        "secondary_engine null",
        "encryption='n'",
        "union=(a, d.b)",
        "ttl_enable = 'on'",
        "ttl_job_interval '1h'",
        "stats_sample_rate 0.10",
        "insert_method last",
        "secondary_engine tiflash",
    ),
)
options = many(table_option, " ", least=0, most=4)
partition_options = many(partition_option, " ", least=0, most=2)
hashed = either(
    spaced("linear", "hash (", bits, ")"), spaced("hash (", bits, ")"), "key ()", "key algorithm = 2 (a, t.b)"
)
ranges = many(
    spaced(
        "partition", name, "values less than", either("maxvalue", "(10)", spaced("(", bits, ")")), partition_options
    ),
    ", ",
)
members = spaced("values in (", many(either(bits, "default"), ","), ")")
lists = many(spaced("partition", name, either("default", members), partition_options), ", ")
rows = many(either("(1,2)", "row(1, null)", "('a', b)"), ",")
pairs = many(spaced("partition", name, "values in (", rows, ")"), ", ")
partitioning = either(
    spaced(hashed, either("", "partitions 3")),
    spaced(hashed, "(", many(spaced("partition", name, partition_options), ","), ")"),
    spaced("range (", bits, ") (", ranges, ")"),
    spaced("range columns (a) (", ranges, ")", maybe("update indexes (k global, `l` local)")),
    spaced("range (", bits, ") subpartition by", hashed, either("", "subpartitions 2"), "(", ranges, ")"),
    spaced(
        "range (a) interval (1 month) first partition less than (1) last partition less than (",
        bits,
        ")",
        either("", "null partition", "null partition maxvalue partition"),
    ),
    spaced("list (", bits, ") (", lists, ")"),
    spaced("list columns (a, t.b) (", pairs, ")"),
    spaced("system_time", either("", "limit 10", "interval 1 day"), "(partition p history, partition q current)"),
)
query = spaced(either("", "ignore", "replace"), either("select 1", "as select 1", "table s", "as (select a from b)"))
body = spaced(
    "(",
    many(either(definition, definition, key), ", ", most=4),
    ")",
    options,
    maybe(spaced("partition by", partitioning)),
    maybe(query),
)
create_table = either(
    spaced("create", either("", "temporary"), "table", maybe("if not exists"), either(name, "d.t"), body),
    spaced("create global temporary table t", body, either("on commit delete rows", "on commit preserve rows")),
    spaced("create table", name, either("like s", "( like d.s )")),
)


DUMPLING = """/*!40014 SET FOREIGN_KEY_CHECKS=0*/;
/*!40101 SET NAMES binary*/;
CREATE TABLE `orders` (
  `id` bigint NOT NULL /*T![auto_rand] AUTO_RANDOM(5) */,
  `doc` json DEFAULT NULL,
  `city` varchar(20) GENERATED ALWAYS AS (json_unquote(json_extract(`doc`, _utf8mb4'$.c(it'))) VIRTUAL,
  `at` datetime(3) DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
  `v` vector(3) DEFAULT NULL COMMENT 'a; b, c) /* d */ -- e',
  PRIMARY KEY (`id`) /*T![clustered_index] CLUSTERED */,
  KEY `fx` ((lower(`city`)),`at` DESC) /*!80000 INVISIBLE */,
  UNIQUE KEY `uk` (`city`(10)) /*T![global_index] GLOBAL */ COMMENT 'it''s',
  VECTOR INDEX `vi`((VEC_COSINE_DISTANCE(`v`))),
  KEY `last` (`at`),
  CONSTRAINT `fk` FOREIGN KEY (`id`) REFERENCES `other`.`t` (`x`) ON DELETE CASCADE /* FOREIGN KEY INVALID */,
  CONSTRAINT `c` CHECK ((`id` > 0)) /*!80016 NOT ENFORCED */
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci /*T![auto_rand_base] AUTO_RANDOM_BASE=30001 */ \
COMMENT='of; shop' /*T![placement] PLACEMENT POLICY=`p` */ /*T![ttl] TTL=`at` + INTERVAL 3 MONTH */ \
/*T![ttl] TTL_ENABLE='ON' */ /*T![ttl] TTL_JOB_INTERVAL='1h' */ /* CACHED ON */ /*T![not_known_yet] ANYTHING (1 */;
"""
"""A table as Dumpling writes it, with most that a definition may have."""
