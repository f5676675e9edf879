"""SHOW CREATE TABLE, SHOW CREATE VIEW, SHOW CREATE SEQUENCE and SHOW CREATE DATABASE, as TiDB writes them.

Source: tidb v8.0 pkg/executor/show.go (constructResultOfShowCreateTable and the functions behind it),
pkg/ddl/partition.go (AppendPartitionInfo).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from simulator.releases import Release
from simulator.tidb.ddl.catalog import DatabaseInfo, SequenceInfo, ViewInfo, sequence_limits
from simulator.tidb.ddl.defaults import row_default, stored_expression, stored_partitioning
from simulator.tidb.ddl.table_definitions import RANGE_BITS
from simulator.tidb.ddl.table_options import shown_options
from simulator.tidb.model.table import Column, Index, Partition, Partitioning, Table, row_id_column, shown_columns
from simulator.tidb.model.types import CHARSETS, MEMBER_ESCAPES, ColumnType, family, is_binary, mysql_type
from simulator.tidb.restore import feature_comment, quote_name
from simulator.tidb.syntax.definitions import NOW, TODAY

TIMES = (*NOW, *TODAY)
MOST_SHARD_BITS = 15

Quote = Callable[[str], str]


def quote_ansi(name: str) -> str:
    """Quote a name as TiDB does under ANSI_QUOTES."""
    return '"' + name.replace('"', '""') + '"'


@dataclass(frozen=True)
class TextStyle:
    """What the text of a table depends on besides the table."""

    quote: Quote = quote_name
    """Quotes a name: with back-quotes, or with double quotes under ANSI_QUOTES."""

    default_parentheses: bool = False
    """Whether a default that is a function stands in parentheses."""

    ttl_job_interval: str = "1h"
    """That of a table without one."""

    parent_databases: bool = True
    """Whether the database of a parent is named if it is the table's own."""

    local_time: Callable[[str], str] = str
    """Returns the default of a TIMESTAMP, which is UTC, in the session's time zone."""

    @classmethod
    def of(cls, release: Release, quote: Quote = quote_name, local_time: Callable[[str], str] = str) -> TextStyle:
        """Return the style of a release."""
        return cls(quote, release.default_parentheses, release.ttl_job_interval, release.parent_databases, local_time)


def create_table_text(table: Table, style: TextStyle = TextStyle(), next_id: int = 0) -> str:
    """Return SHOW CREATE TABLE. `next_id` is the next id of AUTO_INCREMENT or AUTO_RANDOM."""
    quote = style.quote
    parts = [_column(column, table, style) for column in shown_columns(table)]
    parts += _keys(table, style)
    kind = {"global": "GLOBAL TEMPORARY ", "local": "TEMPORARY "}.get(table.temporary, "")
    lines = ",\n".join(parts)
    options = " ".join(_options(table, next_id))
    ends = " ON COMMIT DELETE ROWS" * (table.temporary == "global") + " /* CACHED ON */" * table.cached
    partitions = _partitioning(table.partitioning, quote) if table.partitioning else ""
    ttl = "".join(f" {feature_comment(part, 'ttl')}" for part in _ttl(table, style))
    soft = "".join(f" {part}" for part in shown_options(table.soft_delete))
    return f"CREATE {kind}TABLE {quote(table.name)} (\n{lines}\n) {options}{ends}{partitions}{ttl}{soft}"


def output_text(text: str) -> str:
    """Return a text as it stands between single quotes (tidb pkg/util/format/format.go, OutputFormat)."""
    return text.translate(MEMBER_ESCAPES)


def _column(column: Column, table: Table, style: TextStyle) -> str:
    words = [f"  {style.quote(column.name)} {mysql_type(column.type, full=True)}{_charset(column.type, table)}"]
    if column.generated:
        words.append(
            f"GENERATED ALWAYS AS ({stored_expression(column.generated_expression)}) {column.generated.upper()}"
        )
    if column.auto_increment:
        words.append("NOT NULL AUTO_INCREMENT")
    else:
        words += ["NOT NULL"] if column.not_null else []
        words += _default(column, style)
        words += [f"ON UPDATE CURRENT_TIMESTAMP{_digits(column.type)}"] if column.on_update else []
    if column.auto_random:
        words.append(feature_comment(auto_random_text(column), "auto_rand"))
    words += [f"COMMENT '{output_text(column.comment)}'"] if column.comment else []
    return " ".join(words)


def auto_random_text(column: Column) -> str:
    """Return AUTO_RANDOM with its bits, those of its range if they are fewer than usual."""
    bits = "" if column.range_bits == RANGE_BITS else f", {column.range_bits}"
    return f"AUTO_RANDOM({column.shard_bits}{bits})"


def has_charset(type: ColumnType) -> bool:
    """Return whether a type has a character set: texts, ENUM and SET (tidb pkg/parser/types/field_type.go)."""
    return family(type) in ("string", "text", "enum", "set") and not is_binary(type)


def _charset(type: ColumnType, table: Table) -> str:
    if not has_charset(type):
        return ""
    charset = "" if type.charset == table.charset else f" CHARACTER SET {type.charset}"
    usual = type.collation == table.collation == CHARSETS[type.charset][0]
    return charset + ("" if usual else f" COLLATE {type.collation}")


def _digits(type: ColumnType) -> str:
    return f"({type.decimal})" if type.decimal > 0 else ""


def _default(column: Column, style: TextStyle) -> Iterator[str]:
    if column.generated or column.default_dropped:
        return
    if column.default is None:
        if not column.not_null:
            yield "NULL DEFAULT NULL" if column.type.name == "timestamp" else "DEFAULT NULL"
    elif column.default_expression:
        yield f"DEFAULT {_now_default(column, style) or _function_default(column.default, style)}"
    else:
        yield f"DEFAULT {_literal_default(column, style)}"


def current_time(column: Column) -> str:
    """Return a default such as CURRENT_TIMESTAMP(3), or an empty text for any other default."""
    name = (column.default or "").partition("(")[0].strip().upper()
    if not column.default_expression or name not in TIMES:
        return ""
    return ("CURRENT_TIMESTAMP" if name in NOW else "CURRENT_DATE") + _digits(column.type)


def _now_default(column: Column, style: TextStyle) -> str:
    text = current_time(column)
    return f"({text})" if text.startswith("CURRENT_DATE") and style.default_parentheses else text


def _function_default(text: str, style: TextStyle) -> str:
    stored = stored_expression(text)
    return f"({stored})" if style.default_parentheses else output_text(stored)


def _literal_default(column: Column, style: TextStyle) -> str:
    text = column.default or ""
    if column.type.name == "bit":
        return f"b'{int(row_default(column) or 0):b}'"
    if column.type.name == "timestamp" and not text.startswith("0000"):
        text = style.local_time(text)
    return f"'{output_text(text)}'"


def _keys(table: Table, style: TextStyle) -> Iterator[str]:
    quote = style.quote
    row_id = row_id_column(table)
    if row_id is not None:
        yield f"  PRIMARY KEY ({quote(row_id)}) {feature_comment('CLUSTERED', 'clustered_index')}"
    yield from (_key(index, table.clustered, quote) for index in table.indexes)
    for key in table.foreign_keys:
        columns, references = (",".join(map(quote, names)) for names in (key.columns, key.references))
        named = style.parent_databases or key.schema.lower() != table.schema.lower()
        parent = f"{quote(key.schema)}.{quote(key.table)}" if named else quote(key.table)
        text = f"  CONSTRAINT {quote(key.name)} FOREIGN KEY ({columns}) REFERENCES {parent} ({references})"
        text += f" ON DELETE {key.on_delete}" if key.on_delete else ""
        yield text + (f" ON UPDATE {key.on_update}" if key.on_update else "")
    for check in table.checks:
        enforced = "" if check.enforced else " /*!80016 NOT ENFORCED */"
        yield f"CONSTRAINT {quote(check.name)} CHECK (({stored_expression(check.expression)})){enforced}"


def _key(index: Index, clustered: bool, quote: Quote) -> str:
    kind = "PRIMARY KEY" if index.primary else f"{'UNIQUE ' * index.unique}KEY {quote(index.name)}"
    columns = ",".join(
        f"({stored_expression(part.expression)})"
        if part.expression
        else quote(part.name) + (f"({part.length})" if part.length >= 0 else "")
        for part in index.columns
    )
    text = f"  {kind} ({columns})"
    text += "" if index.visible else " /*!80000 INVISIBLE */"
    text += f" COMMENT '{output_text(index.comment)}'" if index.comment else ""
    if index.primary:
        text += f" {feature_comment('CLUSTERED' if clustered else 'NONCLUSTERED', 'clustered_index')}"
    return text + (f" {feature_comment('GLOBAL', 'global_index')}" if index.unpartitioned else "")


def _options(table: Table, next_id: int) -> Iterator[str]:
    yield f"ENGINE=InnoDB DEFAULT CHARSET={table.charset}"
    if table.collation != "binary":
        yield f"COLLATE={table.collation}"
    options = dict(table.options)
    if options.get("COMPRESSION"):
        yield f"COMPRESSION='{options['COMPRESSION']}'"
    if next_id > 1 and any(column.auto_increment for column in table.columns):
        yield f"AUTO_INCREMENT={next_id}"
    if "AUTO_ID_CACHE" in options:
        yield feature_comment(f"AUTO_ID_CACHE={options['AUTO_ID_CACHE']}", "auto_id_cache")
    is_random = any(column.auto_random for column in table.columns)
    if next_id > 1 and is_random:
        yield feature_comment(f"AUTO_RANDOM_BASE={next_id}", "auto_rand_base")
    shard, regions = (int(options.get(name, 0)) for name in ("SHARD_ROW_ID_BITS", "PRE_SPLIT_REGIONS"))
    shard = min(shard, MOST_SHARD_BITS)
    regions = min(regions, shard) if shard else regions
    split = f"PRE_SPLIT_REGIONS={regions}" if regions else ""
    if shard:
        yield feature_comment(" ".join(word for word in (f"SHARD_ROW_ID_BITS={shard}", split) if word))
    elif split and is_random:
        yield feature_comment(split)
    if table.comment:
        yield f"COMMENT='{output_text(table.comment)}'"


def _ttl(table: Table, style: TextStyle) -> Iterator[str]:
    if table.ttl is None:
        return
    yield f"TTL={style.quote(table.ttl.column)} + INTERVAL {table.ttl.interval.replace('_UTF8MB4', '_utf8mb4')}"
    yield f"TTL_ENABLE='{'ON' if table.ttl.enabled else 'OFF'}'"
    yield f"TTL_JOB_INTERVAL='{table.ttl.job_interval or style.ttl_job_interval}'"


def _partitioning(rule: Partitioning, quote: Quote) -> str:
    columns = ",".join(map(quote, () if rule.implied else rule.columns))
    expression = stored_partitioning(rule.expression) if rule.expression else ""
    kind = rule.kind.upper()
    method = f"{kind} ({expression})" if expression else f"{kind} COLUMNS({columns})"
    if rule.kind == "key":
        method = f"KEY ({columns})"
    unnamed = tuple(Partition(f"p{number}") for number in range(len(rule.partitions)))
    if (
        rule.kind in ("hash", "key")
        and rule.partitions == unnamed
        and not any(each.comment for each in rule.partitions)
    ):
        return f"\nPARTITION BY {method} PARTITIONS {len(unnamed)}"
    partitions = ",\n ".join(_partition(rule.kind, partition, quote) for partition in rule.partitions)
    return f"\nPARTITION BY {method}\n({partitions})"


def _partition(kind: str, partition: Partition, quote: Quote) -> str:
    values = ""
    if kind == "range":
        values = f" VALUES LESS THAN ({','.join(partition.values[0])})"
    elif kind == "list":
        values = " DEFAULT" if partition.values == (("DEFAULT",),) else f" VALUES IN ({list_members(partition)})"
    comment = f" COMMENT '{output_text(partition.comment)}'" if partition.comment else ""
    return f"PARTITION {quote(partition.name)}{values}{comment}"


def list_members(partition: Partition) -> str:
    """Return the members of a partition of LIST, as TiDB joins them."""
    members = partition.values
    return ",".join(",".join(member) if len(member) == 1 else f"({','.join(member)})" for member in members)


def create_view_text(view: ViewInfo, quote: Quote = quote_name) -> str:
    columns = ", ".join(map(quote, view.columns))
    definer = "@".join(quote(part) for part in view.definer)
    head = f"CREATE ALGORITHM={view.algorithm} DEFINER={definer} SQL SECURITY {view.security}"
    return f"{head} VIEW {quote(view.name)} ({columns}) AS {view.query}"


def create_sequence_text(sequence: SequenceInfo, quote: Quote = quote_name) -> str:
    limits = sequence_limits(sequence)
    numbers = (
        f"start with {limits.start} minvalue {limits.least} maxvalue {limits.most} increment by {limits.increment}"
    )
    cache = f"cache {limits.cache}" if limits.cache else "nocache"
    cycle = "cycle" if limits.cycle else "nocycle"
    return f"CREATE SEQUENCE {quote(sequence.name)} {numbers} {cache} {cycle} ENGINE=InnoDB"


def create_database_text(database: DatabaseInfo, if_not_exists: bool = False, quote: Quote = quote_name) -> str:
    head = f"CREATE DATABASE {'IF NOT EXISTS ' * if_not_exists}{quote(database.name)}"
    other = database.collation != CHARSETS[database.charset][0]
    collation = f"COLLATE {database.collation} " * other
    soft = "".join(f" {part}" for part in shown_options(database.soft_delete))
    return f"{head} /*!40100 DEFAULT CHARACTER SET {database.charset} {collation}*/{soft}"
