"""CREATE TABLE texts in every shape of TiDB's grammar, for hypothesis: each is one that TiDB's parser takes.

One law: what TiDB loses when it writes a statement back is not here: placement, quotes around the word of an option,
backslashes in the text of one.
"""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

Texts = SearchStrategy[str]


def one(*choices: str | Texts) -> Texts:
    return st.one_of(*(st.just(choice) if isinstance(choice, str) else choice for choice in choices))


def many(part: Texts, separator: str, most: int = 3, least: int = 1) -> Texts:
    return st.lists(part, min_size=least, max_size=most).map(separator.join)


def maybe(part: str | Texts) -> Texts:
    return one("", part)


def said(*parts: str | Texts) -> Texts:
    """The parts, blanks between those that are not empty."""
    drawn = st.tuples(*(st.just(part) if isinstance(part, str) else part for part in parts))
    return drawn.map(lambda words: " ".join(word for word in words if word))


LETTERS = st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\\")
name = one("a", "B", "`select`", "`x``y`", "ümlaut", "_1", "a$", "`a b`", "status")
column = one(name, name.map(lambda text: f"t . {text}"))
number = one("0", "1", "007", "18446744073709551615")
string = st.text(LETTERS, max_size=5).map(lambda text: "'" + text.replace("'", "''") + "'")
word = one("x", "InnoDB", "'y'")
literal = one(string, number, "NULL", "true", "-1", "+ 1.50", ".5", "5.", "1e5", "1.0E-7", "x'41'", "0xF", "b'010'",
              "N'é'", "_latin1'a'", "'a' 'b'")
bits = one(column, number, "a + 1", "year(a)", "a % (b - 2)", "-1")
condition = one(bits, "a > 1 and b <> 'x'", "a in (1, 2)", "a is not null", "not b")
length = maybe(st.integers(0, 70).map(lambda digits: f"({digits})"))
precision = one(length, "(10,2)", "( 5 , 0 )")
signs = many(one("unsigned", "SIGNED", "zerofill"), " ", least=0)
charset = one("charset utf8mb4", "character set 'LATIN1'", "CHAR SET binary", "binary", "binary charset ascii",
              "charset gbk binary")
type_ = one(
    said(one("int", "INTEGER", "tinyint", "int8", "BIGINT", "Smallint", "mediumint"), length, signs),
    said(one("bool", "year", "year(4)"), signs),
    said(one("decimal", "NUMERIC", "fixed", "dec", "float(30)", "float"), signs),
    said(one("decimal", "float", "double", "real"), "(10,2)", signs),
    said(one("char", "national char", "nchar", "text"), length, maybe(charset)),
    said(one("varchar(5)", "char varying (5)", "nvarchar(5)", "long varchar", "tinytext", "longtext"), maybe(charset)),
    said(one("binary", "blob", "bit", "time", "datetime", "timestamp", "vector"), length),
    one("date", "json", "varbinary(5)", "long varbinary", "mediumblob"),
    said(one("enum", "set"), many(string, ",").map(lambda members: f"({members})"), maybe(charset)),
)
now = one("now()", "current_timestamp", "LOCALTIME(3)", "localtimestamp()")
default = one(literal, now, "(now(6))", "(uuid())", "rand(1)", "next value for s", "((nextval(d.s)))")
check = said("check (", condition, ")", one("", "enforced", "not enforced", "not null"))
action = one("restrict", "cascade", "set null", "no action", "set default")
references = said(
    "references", one("s", "d.s"), one("", "(a)", "(a, `b` desc)"), one("", "match full", "match simple"),
    one("", said("on delete", action), said("on update", action, "on delete", action)))
column_option = one(
    "not null", "null", "auto_increment", "auto_random", "auto_random(3)", "auto_random ( 3 , 54 )", "primary key",
    "key clustered", "primary key nonclustered global", "unique", "unique key", "unique local", "on update now(3)",
    "serial default value", "column_format fixed", "storage disk", said("default", default), said("comment", string),
    said(maybe("constraint c"), check))
generated = said(
    maybe("generated always"), "as (", condition, ")", one("", "virtual", "STORED"),
    many(one("not null", "unique", said("comment", string)), " ", least=0))
definition = said(
    column, one(
        said(one(type_, "serial"), many(column_option, " ", least=0), maybe("collate utf8mb4_bin"), maybe(references)),
        said(type_, generated)))
key_option = one(
    said("key_block_size", maybe("="), number), "using btree", "type hash", "with parser ngram", "visible", "invisible",
    said("comment", string), "clustered", "nonclustered", "global", "local", "pre_split_regions = 4")
part = said(one(said(column, length), said("(", condition, ")")), one("", "asc", "desc"))
parts = said("(", many(part, ", "), ")")
key_options = many(key_option, " ", least=0)
key = one(
    said(maybe("constraint c"), "primary key", maybe(name), maybe("using btree"), parts, key_options),
    said(maybe("constraint"), "unique", one("", "key", "index"), maybe(name), parts, key_options),
    said(one("key", "index"), maybe("if not exists"), one("", name, "k type rtree"), parts, key_options),
    said("fulltext", one("", "key", "index"), maybe(name), parts, key_options),
    said("vector index", maybe(name), parts, one("", "using hnsw")),
    said(maybe("constraint `f k`"), "foreign key", maybe(name), parts, references),
    said(maybe("constraint"), "check (", condition, ")", one("", "enforced", "not enforced")))
equals = one("", "=", " = ")
partition_option = one(
    said(one("engine", "storage engine"), equals, word), said("comment", equals, string),
    said(one("data", "index"), "directory", equals, string), said(one("max_rows", "nodegroup"), equals, number),
    said("tablespace", equals, name))
table_option = one(
    partition_option,
    said(maybe("default"), one("charset", "character set"), equals, one("utf8", "binary", "'GBK'")),
    said(maybe("default"), "collate", equals, one("utf8mb4_bin", "binary", "'ASCII_BIN'")),
    said(maybe("force"), one("auto_increment", "auto_random_base"), equals, number),
    said(one("auto_id_cache", "checksum", "stats_topn", "shard_row_id_bits", "pre_split_regions"), equals, number),
    said(one("stats_persistent", "pack_keys", "stats_sample_pages"), equals, one("default", number)),
    said(one("connection", "compression", "password", "stats_col_list"), equals, string),
    said("row_format", equals, one("default", "compact", "tokudb_zstd")),
    said("ttl", equals, name, "+ interval", one("1", "'2'"), one("day", "SQL_TSI_YEAR", "hour")),
    one("storage disk", "secondary_engine null", "encryption='n'", "union=(a, d.b)", "ttl_enable = 'on'",
        "ttl_job_interval '1h'", "stats_sample_rate 0.10", "insert_method last", "secondary_engine tiflash"))
options = many(table_option, " ", least=0, most=4)
partition_options = many(partition_option, " ", least=0, most=2)
hashed = one(said("linear", "hash (", bits, ")"), said("hash (", bits, ")"), "key ()", "key algorithm = 2 (a, t.b)")
ranges = many(said("partition", name, "values less than", one("maxvalue", "(10)", said("(", bits, ")")),
                   partition_options), ", ")
lists = many(said("partition", name, one("default", said("values in (", many(one(bits, "default"), ","), ")")),
                  partition_options), ", ")
pairs = many(said("partition", name, "values in (", many(one("(1,2)", "row(1, null)", "('a', b)"), ","), ")"), ", ")
partitioning = one(
    said(hashed, one("", "partitions 3")),
    said(hashed, "(", many(said("partition", name, partition_options), ","), ")"),
    said("range (", bits, ") (", ranges, ")"),
    said("range columns (a) (", ranges, ")", maybe("update indexes (k global, `l` local)")),
    said("range (", bits, ") subpartition by", hashed, one("", "subpartitions 2"), "(", ranges, ")"),
    said("range (a) interval (1 month) first partition less than (1) last partition less than (", bits, ")",
         one("", "null partition", "null partition maxvalue partition")),
    said("list (", bits, ") (", lists, ")"),
    said("list columns (a, t.b) (", pairs, ")"),
    said("system_time", one("", "limit 10", "interval 1 day"), "(partition p history, partition q current)"))
query = said(one("", "ignore", "replace"), one("select 1", "as select 1", "table s", "as (select a from b)"))
body = said(
    "(", many(one(definition, definition, key), ", ", most=4), ")", options,
    maybe(said("partition by", partitioning)), maybe(query))
create_table = one(
    said("create", one("", "temporary"), "table", maybe("if not exists"), one(name, "d.t"), body),
    said("create global temporary table t", body, one("on commit delete rows", "on commit preserve rows")),
    said("create table", name, one("like s", "( like d.s )")))
