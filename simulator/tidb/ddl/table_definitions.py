"""Tables of CREATE TABLE, from its text or its syntax tree, completed and checked as by TiDB.

Types get TiDB's defaults, so that all spellings of a type are equal (tidb pkg/ddl/add_column.go,
pkg/parser/types/field_type.go). Indexes are in TiDB's order, which decides between equal handle keys: keys of the
table, keys of columns, indexes of foreign keys (pkg/ddl/create_table.go). Of a text, every error is a SchemaError
with line and column.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Mapping
from functools import lru_cache

from msgspec.structs import replace

from simulator.errors import SchemaError, did_you_mean
from simulator.limits import TOO_DEEP
from simulator.tidb import syntax
from simulator.tidb.ddl.defaults import default_text
from simulator.tidb.ddl.key_definitions import build_keys, name_checks
from simulator.tidb.model.table import CheckConstraint, Column, LastIds, Partition, Partitioning, Table, TimeToLive
from simulator.tidb.model.types import (
    CHARSETS,
    TYPES,
    ColumnType,
    TypeInfo,
    canonical_collation,
    charset_of,
    resolve_charset_and_collation,
)
from simulator.tidb.parser.cursor import Cursor, position
from simulator.tidb.parser.databases_and_tables import begins_other_statement, parse_create_table
from simulator.tidb.parser.script import begins_with, parse_tokens, split_tokens, statement_text
from simulator.tidb.parser.tokens import tokenize

DEFAULT_CHARSET = ("utf8mb4", "utf8mb4_bin")
STORED_OPTIONS = (
    *("AUTO_INCREMENT", "AUTO_ID_CACHE", "AUTO_RANDOM_BASE", "SHARD_ROW_ID_BITS", "PRE_SPLIT_REGIONS"),
    "COMPRESSION",
)
DEFAULT_SHARD_BITS, RANGE_BITS = 5, 64
"""Shard bits and range bits of AUTO_RANDOM without arguments."""


def build_table(
    definition: syntax.CreateTable,
    text: str,
    default: tuple[str, str] = DEFAULT_CHARSET,
    clustered_index: str = "ON",
    literal: Collection[str] = (),
) -> Table:
    """Return the table of a CREATE TABLE that names its schema, with `text` as its statement. Raises SchemaError.

    Positions point into `text`; `default` is the charset and collation of the database, and `literal` the release's
    `literal_defaults`.
    """
    options = {option.name: option.value for option in definition.options}
    where = f"{position(text, definition.at)}: table {definition.name!r}"
    charset = resolve_charset_and_collation(options.get("CHARSET", ""), options.get("COLLATE", ""), default, where)
    columns = tuple(
        build_column(column, charset, text, id=number, literal=literal)
        for number, column in enumerate(definition.columns, 1)
    )
    names = column_names(columns, definition, text)
    keys = build_keys(definition, columns, names, text, clustered_index)
    partitioning = build_partitioning(definition.partitioning, names, keys.primary_key, text)
    return Table(
        schema=definition.schema,
        name=definition.name,
        columns=keys.columns,
        indexes=keys.indexes,
        primary_key=keys.primary_key,
        clustered=keys.clustered,
        partitioning=partitioning,
        charset=charset[0],
        collation=charset[1],
        comment=options.get("COMMENT", ""),
        statement=text,
        foreign_keys=keys.foreign_keys,
        ttl=build_ttl(options),
        columnar_indexes=keys.columnar_indexes,
        temporary=definition.temporary,
        options=tuple((name, options[name]) for name in STORED_OPTIONS if name in options),
        checks=tuple(
            CheckConstraint(name, each.condition.text, each.enforced) for name, each, _ in name_checks(definition)
        ),
        last_ids=LastIds(len(columns), keys.last_index_id, len(keys.foreign_keys)),
    )


def build_ttl(options: Mapping[str, str]) -> TimeToLive | None:
    """Return the settings of TTL, TTL_ENABLE and TTL_JOB_INTERVAL; None without TTL.

    The value of TTL is ``column + INTERVAL 3 MONTH``, with a quoted or plain column.
    """
    value = options.get("TTL", "")
    if not value:
        return None
    split = value.upper().rfind("INTERVAL")
    column = value[:split].rstrip().removesuffix("+").rstrip()
    if column.startswith("`"):
        column = column[1:-1].replace("``", "`")
    enabled = options.get("TTL_ENABLE", "ON").upper() != "OFF"
    return TimeToLive(column, value[split + 8 :].strip(), enabled, options.get("TTL_JOB_INTERVAL", ""))


def build_column(
    definition: syntax.ColumnDefinition, default: tuple[str, str], text: str, id: int = 0, literal: Collection[str] = ()
) -> Column:
    """Return a column with its complete type; keys may make it NOT NULL later. Raises SchemaError."""
    where = f"{position(text, definition.type.at)}: column {definition.name!r}"
    type = build_type(definition.type, definition.text("collate"), default, where)
    value, is_expression = default_text(definition.default, type, where, literal)
    not_null = definition.null is False or definition.auto_increment
    is_ignored = TYPES[type.name].family == "text" and not_null and not is_expression  # '' in a lenient sql_mode
    return Column(
        name=definition.name,
        type=type,
        not_null=not_null,
        default=None if is_ignored else value,
        default_expression=is_expression,
        on_update=definition.text("on update"),
        generated=definition.generated,
        generated_expression=definition.text("generated"),
        auto_increment=definition.auto_increment,
        auto_random=definition.option("auto_random") is not None,
        comment=definition.text("comment"),
        shard_bits=shard_bits(definition),
        range_bits=range_bits(definition),
        id=id,
    )


def shard_bits(definition: syntax.ColumnDefinition) -> int:
    """Return the shard bits of AUTO_RANDOM; 0 without it."""
    option = definition.option("auto_random")
    return (option.numbers or (DEFAULT_SHARD_BITS,))[0] if option else 0


def range_bits(definition: syntax.ColumnDefinition) -> int:
    """Return the bits of an AUTO_RANDOM id."""
    option = definition.option("auto_random")
    return option.numbers[1] if option and len(option.numbers) > 1 else RANGE_BITS


def column_names(columns: tuple[Column, ...], definition: syntax.CreateTable, text: str) -> dict[str, str]:
    """Return the columns' names by lower case. Raises SchemaError for no columns and for duplicates."""
    if not columns:
        raise SchemaError(f"{position(text, definition.at)}: table {definition.name!r} has no columns")
    names: dict[str, str] = {}
    for column, read in zip(columns, definition.columns):
        if names.setdefault(column.name.lower(), column.name) is not column.name:
            raise SchemaError(f"{position(text, read.at)}: table {definition.name!r} has column {column.name!r} twice")
    return names


def build_partitioning(
    clause: syntax.PartitionClause | None, names: dict[str, str], primary_key: tuple[str, ...], text: str
) -> Partitioning | None:
    """Return the partitioning; partitions of HASH and KEY are named p0, p1, … Raises SchemaError."""
    if clause is None:
        return None
    where = position(text, clause.at)
    columns = tuple(resolve_column(name, names, where) for name in clause.method.columns)
    partitions = tuple(
        Partition(
            each.name, each.values, next((option.value for option in each.options if option.name == "COMMENT"), "")
        )
        for each in clause.definitions
    )
    if clause.method.kind in ("hash", "key"):
        partitions = partitions or tuple(
            Partition(f"p{number}") for number in range(min(clause.method.count or 1, 8192))
        )
        columns = columns or primary_key if clause.method.kind == "key" else ()
    check_partitions(clause, partitions, len(columns) or 1, where)
    return Partitioning(clause.method.kind, clause.method.expression, columns, partitions, not clause.method.columns)


def check_partitions(clause: syntax.PartitionClause, partitions: tuple[Partition, ...], width: int, where: str) -> None:
    """Raise SchemaError for missing or surplus values and partitions, and for duplicate names."""
    if clause.method.count and clause.method.count != len(partitions):
        raise SchemaError(
            f"{where}: PARTITIONS {clause.method.count}, but {len(partitions)} are possible or written out"
        )
    if len({partition.name.lower() for partition in partitions}) < len(partitions):
        raise SchemaError(f"{where}: the same partition name twice")
    valued = clause.method.kind in ("range", "list")
    if valued and not partitions:
        raise SchemaError(f"{where}: {clause.method.kind.upper()} partitioning needs its partitions written out")
    for partition in partitions:
        if bool(partition.values) is not valued:
            needs = {"range": "VALUES LESS THAN", "list": "VALUES IN"}.get(clause.method.kind, "no VALUES")
            raise SchemaError(f"{where}: partition {partition.name!r} of {clause.method.kind.upper()} needs {needs}")
        if any(len(values) != width and values not in SINGLE_VALUES for values in partition.values):
            raise SchemaError(f"{where}: partition {partition.name!r} needs {width} values at a time")


SINGLE_VALUES = (("MAXVALUE",), ("DEFAULT",))


def resolve_column(name: str, names: dict[str, str], where: str) -> str:
    """Return the column's name as in the table. Raises SchemaError for an unknown column."""
    if name.lower() not in names:
        raise SchemaError(f"{where}: no column {name!r}.{did_you_mean(name, names.values())}")
    return names[name.lower()]


TEXT_SIZES = tuple((TYPES[name].length, name) for name in ("tinytext", "text", "mediumtext", "longtext"))


def build_type(field: syntax.FieldType, collation_name: str, default: tuple[str, str], where: str) -> ColumnType:
    """Return the complete type of a column. Raises SchemaError, with a text that begins with `where`.

    `default` is the charset and collation of the table.
    """
    built = complete_type(field, collation_name, default, where)
    check_type(built, TYPES[built.name], field, where)
    return built


def complete_type(field: syntax.FieldType, collation_name: str, default: tuple[str, str], where: str) -> ColumnType:
    """Return the complete type of a column without a check of sizes and members."""
    row = TYPES[field.name]
    if row.family == "float":
        field = sized_float(field, where)
    charset, collate = ("binary", "binary")
    if row.family in ("string", "text", "enum", "set"):
        charset, collate = text_charset(field, collation_name, default, where)
    elif collation_name:
        charset_of(collation_name, where)
    length, decimal, name = complete_sizes(field, TYPES[field.name], charset)
    return ColumnType(name, length, decimal, field.unsigned, field.zerofill, charset, collate, field.elements)


def text_charset(field: syntax.FieldType, collation_name: str, default: tuple[str, str], where: str) -> tuple[str, str]:
    """Return the charset and collation of a text column. The attribute BINARY means the default collation here."""
    if field.charset == "binary" and field.spelled.split("(")[0].split()[0].upper() not in ("ENUM", "SET"):
        if collation_name and canonical_collation(collation_name) != "binary":
            raise SchemaError(f"{where}: type {field.spelled} takes no collation {collation_name!r}")
        return "binary", "binary"
    charset, collate = resolve_charset_and_collation(field.charset, collation_name, default, where)
    if field.binary_collation and not (field.charset and collation_name):
        collate = CHARSETS[charset][0]
    return charset, collate


def sized_float(field: syntax.FieldType, where: str) -> syntax.FieldType:
    """Return the type of FLOAT(p), which is FLOAT up to 24 bits and DOUBLE up to 53, or another type unchanged."""
    if field.length < 0 or field.decimal >= 0:
        return field
    if field.name == "double":
        raise SchemaError(f"{where}: DOUBLE({field.length}) is not a type; accepted: DOUBLE, DOUBLE(m,d)")
    if field.length > 53:
        raise SchemaError(f"{where}: FLOAT({field.length}) is too wide; accepted: up to FLOAT(53)")
    return replace(field, name="float" if field.length <= 24 else "double", length=-1)


def complete_sizes(field: syntax.FieldType, row: TypeInfo, charset: str) -> tuple[int, int, str]:
    """Return length, decimal and name with TiDB's defaults; TEXT(n) and BLOB(n) become the smallest type that fits."""
    if row.family == "text":
        bytes_needed = field.length * CHARSETS[charset][1] if field.name == "text" and field.length >= 0 else row.length
        size, name = next((size for size in TEXT_SIZES if bytes_needed <= size[0]), TEXT_SIZES[-1])
        return size, -1, name
    if row.family in ("time", "datetime"):
        return -1, max(field.decimal, 0), row.name
    length = field.length
    if length < 0 or length == 0 and row.family in ("bit", "decimal"):
        length = row.unsigned_length if field.unsigned else row.length
    return length, max(field.decimal, 0) if row.family == "decimal" else field.decimal, row.name


def check_type(type: ColumnType, row: TypeInfo, field: syntax.FieldType, where: str) -> None:
    spelled = field.spelled
    if row.family in ("enum", "set"):
        return check_members(type, row, where)
    if type.name == "varchar":
        return check_varchar(type, where, spelled)
    limited = row.maximum >= 0 and row.family != "integer"
    if limited and type.length > row.maximum or row.family == "year" and type.length != 4:
        raise SchemaError(f"{where}: {spelled} is too long or too wide; accepted: up to {row.maximum}")
    if row.family == "text" and field.length > 4294967295:
        raise SchemaError(f"{where}: {spelled} is too long; accepted: up to 4294967295")
    if row.family in ("time", "datetime") and type.decimal > 6:
        raise SchemaError(f"{where}: {spelled} has too many digits of a second; accepted: 0 to 6")
    if row.family in ("decimal", "float") and type.decimal > min(30, type.length):
        raise SchemaError(f"{where}: {spelled} has too many decimals; accepted: up to 30, and no more than digits")


def check_varchar(type: ColumnType, where: str, spelled: str) -> None:
    """Raise SchemaError for a VARCHAR without a length, or of more than 65535 bytes."""
    most = 65535 // CHARSETS[type.charset][1]
    if type.length < 0:
        raise SchemaError(f"{where}: {spelled} needs a length, as in {spelled}(255)")
    if type.length > most:
        raise SchemaError(f"{where}: {spelled} is too long; accepted: up to {most}, or TEXT or BLOB")


def check_members(type: ColumnType, row: TypeInfo, where: str) -> None:
    """Raise SchemaError for no members, duplicate members, and a SET with commas or more than 64 members."""
    members = type.elements
    if not members:
        raise SchemaError(f"{where}: {type.name.upper()} needs its members, as in {type.name.upper()}('a','b')")
    if len(members) > row.maximum:
        raise SchemaError(f"{where}: {len(members)} members are too many; accepted: up to {row.maximum}")
    fold = str.lower if type.collation.endswith("_ci") else str
    if len({fold(member) for member in members}) < len(members):
        raise SchemaError(f"{where}: {type.name.upper()} has the same member twice: {', '.join(map(repr, members))}")
    if type.name == "set" and any("," in member for member in members):
        raise SchemaError(f"{where}: a member of a SET holds a comma; accepted: members without commas")


SOFT_DELETE_OPTIONS = re.compile(r"(?:\s*/\*T!\[(?:softdelete|active_active)\].*?\*/)+", re.DOTALL)
"""Options behind a statement, which only a TiDB with SOFTDELETE reads."""

CACHED_TABLES = 1 << 16
"""Cached tables: two snapshots of a database define most of their tables with the same text."""


@lru_cache(CACHED_TABLES)
def create_table(text: str, schema: str = "") -> Table:
    """Return the table of the one CREATE TABLE in the text; other statements (SET NAMES, USE) are skipped.

    `schema` is the schema of an unqualified name. The same text gives the same object. Raises SchemaError.
    """
    tables = create_tables(text, schema)
    if len(tables) > 1:
        raise SchemaError(f"{len(tables)} CREATE TABLE statements in the text; one is accepted")
    if not tables:
        raise SchemaError("no CREATE TABLE statement in the text")
    return tables[0]


def create_tables(text: str, schema: str = "") -> tuple[Table, ...]:
    """Return the tables of all CREATE TABLE in the text, in order.

    SET, USE, DROP, CREATE DATABASE and the like are skipped; other statements raise SchemaError.
    """
    tables = []
    try:
        for tokens in split_tokens(tokenize(text)):
            if begins_with(text, tokens, begins_other_statement):
                continue
            definition = parse_tokens(text, tokens, _parse_complete_table)
            table = build_table(replace(definition, schema=definition.schema or schema), text)
            options = SOFT_DELETE_OPTIONS.match(text, tokens[-1].end + 1)
            statement = statement_text(text, tokens) + (options[0] if options else "")
            tables.append(dataclasses.replace(table, statement=statement))
    except RecursionError:
        raise SchemaError(TOO_DEEP) from None
    return tuple(tables)


def _parse_complete_table(parser: Cursor) -> syntax.CreateTable:
    """Parse a CREATE TABLE that defines its table completely. Raises SchemaError for LIKE, SELECT and INTERVAL."""
    table = parse_create_table(parser)
    if table.like:
        _raise_at(parser, table.source_at, f"CREATE TABLE {table.name!r} LIKE another table: write its columns out")
    if table.source_at:
        _raise_at(parser, table.source_at, "CREATE TABLE … SELECT is not what TiDB takes; write the columns out")
    if table.partitioning and table.partitioning.interval:
        _raise_at(
            parser,
            table.partitioning.interval.at,
            "INTERVAL partitioning is not expanded here; write its partitions out, as SHOW CREATE TABLE does",
        )
    return table


def _raise_at(parser: Cursor, at: int, message: str) -> None:
    raise SchemaError(f"{position(parser.sql, at)}: {message}")
