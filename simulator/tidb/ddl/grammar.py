"""What TiDB refuses of a definition before it looks at the catalog: wrong grammar, and syntax of later releases.

CREATE TABLE and ALTER TABLE are checked in TiDB's order (tidb pkg/planner/core/preprocess.go,
checkCreateTableGrammar, checkAlterTableGrammar, checkColumn, checkIndexInfo, checkAutoIncrement). Our parser reads
the grammar of the newest release; what a statement has beyond its own release is a syntax error, which neither
commits the open transaction nor queues a job (pkg/parser/parser.y).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from msgspec.structs import replace

from simulator.releases import Release
from simulator.tidb import syntax
from simulator.tidb.ddl.catalog import first_repeated
from simulator.tidb.ddl.key_definitions import COLUMNAR_KINDS
from simulator.tidb.errors import converting_errors, error_with_text, syntax_error, tidb_error
from simulator.tidb.model.types import CHARSETS, INTEGER_BITS
from simulator.tidb.parser.keys_and_options import SOFT_DELETE_OPTIONS, begins_option, parse_option
from simulator.tidb.parser.script import parse_tokens
from simulator.tidb.parser.tokens import QUOTED, tokenize

MAX_KEY_PARTS = 16
MAX_TYPE_LENGTH = 4294967295
ENGINES = frozenset("archive blackhole csv example federated innodb memory merge mgr_myisam myisam ndb heap".split())
"""Engines that TiDB accepts (pkg/planner/core/preprocess.go, mysqlValidTableEngineNames)."""

NOT_ON_TEMPORARY = {"SHARD_ROW_ID_BITS": "shard_row_id_bits", "PLACEMENT POLICY": "PLACEMENT"}
AUTO_INCREMENT_TYPES = (*INTEGER_BITS, "float", "double")
"""Types of AUTO_INCREMENT columns."""

NAMED_KEY_KINDS = ("key", "unique", "foreign")


def check_grammar(definition: syntax.CreateTable, schema: str) -> None:
    """Raise DdlError for the first error in a definition; `schema` is that of the table.

    Errors that TiDB's visitor finds on leaving the statement override earlier ones, so they are checked first.
    """
    check_qualifiers(definition, schema)
    check_auto_increment(definition.columns)
    for option in definition.options if definition.temporary else ():
        if option.name in NOT_ON_TEMPORARY:
            raise tidb_error("planner:8006", NOT_ON_TEMPORARY[option.name])
    if is_incorrect(definition.name):
        raise tidb_error("ddl:1103", definition.name)
    primary = 0
    for column in definition.columns:
        check_column(column)
        check_column_options(column, definition.temporary)
        primary += column.option("primary") is not None
        if primary > 1:
            raise tidb_error("schema:1068")
    for key in definition.keys:
        primary += key.kind == "primary"
        if primary > 1:
            raise tidb_error("schema:1068")
        if key.kind in (*NAMED_KEY_KINDS, "primary"):
            check_key_grammar(key)
    check_table_options(definition.options)
    if definition.query is not None:
        raise error_with_text("planner:1105", "'CREATE TABLE ... SELECT' is not implemented yet")
    if not definition.columns and definition.like is None:
        raise tidb_error("ddl:1113")
    check_partition_names(definition.partitioning.definitions if definition.partitioning else ())


def check_alter_grammar(specs: Sequence[syntax.Spec]) -> None:
    for spec in specs:
        if isinstance(spec, syntax.AddColumns):
            for column in spec.columns:
                check_column(column)
        if isinstance(spec, (syntax.ModifyColumn, syntax.ChangeColumn)):
            check_column(spec.column)
        if isinstance(spec, syntax.SetOptions):
            check_table_options(spec.options)
        if isinstance(spec, syntax.AddPartitions | syntax.ReorganizePartition):
            check_partition_names(spec.definitions)
        if isinstance(spec, syntax.AddKey) and spec.key.kind in ("key", "unique", "primary"):
            check_parts_grammar(spec.key.name, spec.key.parts)


def check_partition_names(definitions: Iterable[syntax.PartitionDefinition]) -> None:
    if any(is_incorrect(definition.name) for definition in definitions):
        raise tidb_error("ddl:1567")


def is_incorrect(name: str) -> bool:
    """Return whether a name is invalid: empty, or with a trailing blank."""
    return not name or name.endswith(" ")


def check_column(column: syntax.ColumnDefinition) -> None:
    """Check the name, a default of CURRENT_TIMESTAMP, and the sizes of the type."""
    if is_incorrect(column.name):
        raise tidb_error("ddl:1166", column.name)
    default = column.default
    is_now = default is not None and default.kind == "expression" and default.restored.startswith("CURRENT_TIMESTAMP")
    if is_now and column.type.name not in ("timestamp", "datetime"):
        raise tidb_error("types:1067", column.name)
    check_type(column.name, column.type)


def check_type(name: str, type: syntax.FieldType) -> None:
    """Check the type (TiDB: checkColumn)."""
    if type.length > MAX_TYPE_LENGTH:
        raise tidb_error("types:1439", name, MAX_TYPE_LENGTH)
    if type.name == "char" and type.length > 255:
        raise tidb_error("types:1074", name, 255)
    if type.name == "varchar" and type.charset in CHARSETS:
        check_varchar(name, type.length, type.charset)
    elif type.name in ("float", "double"):
        check_float(name, type)
    elif type.name == "decimal":
        check_decimal(name, type)
    elif type.name == "bit" and type.length == 0:
        raise tidb_error("types:3013", name)
    elif type.name == "bit" and type.length > 64:
        raise tidb_error("types:1439", name, 64)
    elif type.name == "set" and len(type.elements) > 64:
        raise tidb_error("types:1097", name)
    for member in type.elements if type.name == "set" else ():
        if "," in member:
            raise tidb_error("types:1367", "set", member)


def check_varchar(name: str, length: int, charset: str) -> None:
    """Raise DdlError for more than 65535 bytes (TiDB: pkg/types/etc.go, IsVarcharTooBigFieldLength)."""
    most = 65535 // CHARSETS[charset][1]
    if length > most:
        raise tidb_error("types:1074", name, most)


def check_float(name: str, type: syntax.FieldType) -> None:
    if type.decimal < 0:
        if type.name == "float" and type.length > 53:
            raise tidb_error("types:1063", name)
        return
    if type.decimal > 30:
        raise tidb_error("types:1425", type.decimal, name, 30)
    if type.length > 255 or type.length == 0:
        raise tidb_error("types:1439", name, 255)
    if type.length < type.decimal:
        raise tidb_error("types:1427", name)


def check_decimal(name: str, type: syntax.FieldType) -> None:
    if type.decimal > 30:
        raise tidb_error("types:1425", type.decimal, name, 30)
    if type.length > 65:
        raise tidb_error("types:1426", type.length, name, 65)
    if 0 <= type.length < type.decimal:
        raise tidb_error("types:1427", name)


def check_column_options(column: syntax.ColumnDefinition, temporary: str) -> None:
    if temporary and column.option("auto_random"):
        raise tidb_error("planner:8006", "auto_random")
    if column.generated == "virtual" and column.option("primary"):
        raise tidb_error("ddl:3106", "Defining a virtual generated column as primary key")


def check_key_grammar(key: syntax.KeyDefinition) -> None:
    """Check the name of a key, and its parts: their number, prefixes and duplicates."""
    check_parts_grammar(key.name, key.parts)
    if key.empty_name:
        raise error_with_text("ddl:1280", "Incorrect index name ''")


def check_parts_grammar(name: str, parts: Sequence[syntax.KeyPart]) -> None:
    """Check the parts of a key (TiDB: checkIndexInfo)."""
    if name.lower() == "primary":
        raise error_with_text("ddl:1280", f"Incorrect index name '{name}'")
    if len(parts) > MAX_KEY_PARTS:
        raise tidb_error("schema:1070", MAX_KEY_PARTS)
    for part in parts:
        if not part.expression and part.length == 0:
            raise tidb_error("ddl:1391", part.column)
    if name := first_repeated(part.column for part in parts if part.column):
        raise tidb_error("schema:1060", name)


def check_table_options(options: Sequence[syntax.TableOption]) -> None:
    """Raise DdlError for unsupported options (TiDB: checkUnsupportedTableOptions)."""
    for option in options:
        if option.name == "UNION":
            raise tidb_error("ddl:8232")
        if option.name == "INSERT_METHOD":
            raise tidb_error("ddl:8233")
        if option.name == "ENGINE" and option.value.lower() not in ENGINES:
            raise tidb_error("ddl:1286", option.value)


def check_auto_increment(columns: Sequence[syntax.ColumnDefinition]) -> None:
    """Raise DdlError for several AUTO_INCREMENT columns, and for one of another type or with a default."""
    counting = [column for column in columns if column.auto_increment]
    for column in counting:
        check_counting_default(column)
    if len(counting) > 1:
        raise tidb_error("autoid:1075")
    for column in counting:
        if column.type.name not in AUTO_INCREMENT_TYPES:
            raise error_with_text("planner:1105", f"Incorrect column specifier for column '{column.name}'")


def check_counting_default(column: syntax.ColumnDefinition) -> None:
    """Raise DdlError for a default before AUTO_INCREMENT except NULL, or after it except NULL and functions."""
    places = [place for place, option in enumerate(column.options) if option.kind == "auto_increment"]
    for place, option in enumerate(column.options):
        if option.default is None or option.default.kind == "null":
            continue
        if place < places[-1] or option.default.kind != "expression":
            raise error_with_text("planner:1105", f"Invalid default value for '{column.name}'")


def check_qualifiers(definition: syntax.CreateTable, schema: str) -> None:
    """Raise DdlError for a column name qualified with another table (TiDB: checkContainDotColumn)."""
    for column in definition.columns:
        before, _, table = column.qualifier.rpartition(".")
        if before and before != schema:
            raise tidb_error("ddl:1102", before)
        if table and table != definition.name:
            raise tidb_error("ddl:1103", table)


AnyStatement = TypeVar("AnyStatement", bound=syntax.Statement)

SOFT_DELETE_COMMENT = re.compile(rf"{QUOTED}|/\*T!\[(?:softdelete|active_active)\](?P<options>.*?)\*/", re.DOTALL)
"""A text, a name, a comment, or one that TiDB executes with options of soft deletes in it, and TiCDC does not."""

SOFT_DELETE_WORD = re.compile(
    rf"{QUOTED}|(?P<option>\b(?:{'|'.join(SOFT_DELETE_OPTIONS)})\b)", re.DOTALL | re.IGNORECASE
)
"""A text, a name, a comment, or the name of an option of soft deletes."""


def has_soft_delete_options(text: str) -> bool:
    """Return whether a CREATE TABLE has options of soft deletes, maybe in comments."""
    return any(each["option"] for each in SOFT_DELETE_WORD.finditer(text))


def read_syntax(statement: AnyStatement, text: str, release: Release) -> AnyStatement:
    """Return a statement as the release's parser reads it: with the options of soft deletes in comments.

    Raise DdlError for a statement that the parser does not take.
    """
    option = next((each.name for each in soft_delete_options(statement)), "")
    if option and not release.soft_deletes:
        raise syntax_error(f"there is no option {option} in this release")
    check_syntax(statement, release)
    return _with_commented_options(statement, text) if release.soft_deletes else statement


def _with_commented_options(statement: AnyStatement, text: str) -> AnyStatement:
    comments = [each["options"] for each in SOFT_DELETE_COMMENT.finditer(text) if each["options"]]
    if not comments:
        return statement
    words = " ".join(comments)
    with converting_errors("parser:1064"):
        options = parse_tokens(words, tokenize(words), lambda cursor: cursor.list_while(begins_option, parse_option))
    if isinstance(statement, syntax.CreateDatabase | syntax.AlterDatabase | syntax.CreateTable):
        return replace(statement, options=(*statement.options, *options))
    if isinstance(statement, syntax.AlterTable):
        return replace(statement, specs=(*statement.specs, syntax.SetOptions(options)))
    return statement


def check_syntax(statement: syntax.Statement, release: Release) -> None:
    for key in _keys(statement):
        if key.options.pre_split and not release.index_splits:
            raise syntax_error("an index has no PRE_SPLIT_REGIONS in this release")
        # CREATE INDEX and ALTER TABLE have them in all releases (tests/vectors/facts.ddl_statements.jsonl.gz)
        if key.kind in COLUMNAR_KINDS and not release.vectors and isinstance(statement, syntax.CreateTable):
            raise syntax_error("there are no vector indexes in this release")
    for column in _columns(statement):
        if column.type.name == "vector" and not release.vectors:
            raise syntax_error("there is no type VECTOR in this release")
        parenthesised = any(option.default and option.default.parenthesised for option in column.options)
        if parenthesised and not release.default_parentheses:
            raise syntax_error("DEFAULT takes no such parentheses in this release")


def soft_delete_options(statement: syntax.Statement) -> Iterator[syntax.TableOption]:
    options: list[syntax.TableOption] = []
    if isinstance(statement, syntax.CreateDatabase | syntax.AlterDatabase | syntax.CreateTable):
        options += statement.options
    for spec in _specs(statement):
        options += spec.options if isinstance(spec, syntax.SetOptions) else ()
    return (option for option in options if option.name in SOFT_DELETE_OPTIONS)


def _keys(statement: syntax.Statement) -> Iterator[syntax.KeyDefinition]:
    if isinstance(statement, syntax.CreateTable):
        yield from statement.keys
    if isinstance(statement, syntax.CreateIndex):
        yield statement.key
    for spec in _specs(statement):
        yield from (spec.key,) if isinstance(spec, syntax.AddKey) else ()
        yield from spec.keys if isinstance(spec, syntax.AddColumns) else ()


def _columns(statement: syntax.Statement) -> Iterator[syntax.ColumnDefinition]:
    if isinstance(statement, syntax.CreateTable):
        yield from statement.columns
    for spec in _specs(statement):
        yield from spec.columns if isinstance(spec, syntax.AddColumns) else ()
        yield from (spec.column,) if isinstance(spec, syntax.ModifyColumn | syntax.ChangeColumn) else ()


def _specs(statement: syntax.Statement) -> tuple[syntax.Spec, ...]:
    return statement.specs if isinstance(statement, syntax.AlterTable) else ()
