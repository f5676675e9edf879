"""Parse PARTITION BY and the specs of ALTER TABLE about partitions, with the checks that do not need the table.

Expressions, bounds and values are kept as SQL text and as TiDB writes them back. The checks cover counts, kinds of
values and their widths (TiDB: pkg/parser/ast/ddl.go, PartitionOptions.Validate).
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from simulator.errors import SchemaError
from simulator.tidb import syntax
from simulator.tidb.errors import ERRORS
from simulator.tidb.parser.cursor import Cursor, position
from simulator.tidb.parser.expressions import (
    parse_bit_expression,
    parse_column_name,
    parse_expression,
    parse_parenthesised,
)
from simulator.tidb.parser.keys_and_options import begins_partition_option, parse_option
from simulator.tidb.parser.tokens import UNITS, parse_unit
from simulator.tidb.restore import restore_column_name

Row = tuple[syntax.Expression, ...]

MAXVALUE = syntax.Expression("MAXVALUE", "MAXVALUE")
DEFAULT = syntax.Expression("DEFAULT", "DEFAULT")


# -- partition definitions ----------------------------------------------------------------------------------------


def parse_partition_definitions(cursor: Cursor) -> tuple[syntax.PartitionDefinition, ...]:
    """Parse `(PARTITION p …, PARTITION q …)`; raises SchemaError."""
    return cursor.parenthesised_list(lambda cursor: cursor.sequence("PARTITION", parse_partition_definition)[0])


def parse_partition_definition(cursor: Cursor) -> syntax.PartitionDefinition:
    """Parse `p VALUES LESS THAN (…) options (SUBPARTITION …)`; raises SchemaError."""
    name = cursor.name("the name of a partition")
    kind, rows, restored = parse_partition_values(cursor)
    options = parse_partition_options(cursor)
    subpartitions = cursor.parenthesised_list(parse_subpartition_definition) if cursor.word() == "(" else ()
    return syntax.PartitionDefinition(name, tuple(map(row_texts, rows)), kind, restored, options, subpartitions)


def parse_subpartition_definition(cursor: Cursor) -> syntax.PartitionDefinition:
    cursor.expect("SUBPARTITION")
    name = cursor.name("the name of a subpartition")
    return syntax.PartitionDefinition(name, options=parse_partition_options(cursor))


def parse_partition_options(cursor: Cursor) -> tuple[syntax.TableOption, ...]:
    return cursor.list_while(begins_partition_option, parse_option)


def parse_partition_values(cursor: Cursor) -> tuple[str, tuple[Row, ...], str]:
    """Parse the values of a partition, and return their kind, their rows and the restored text."""
    if cursor.accept("VALUES LESS THAN"):
        row = (MAXVALUE,) if cursor.accept("MAXVALUE") else cursor.parenthesised_list(parse_bound)
        return "less than", (row,), f"({restore_row(row)})"
    if cursor.accept("VALUES IN"):
        rows = cursor.parenthesised_list(parse_list_member)
        if rows == ((DEFAULT,),):
            return "default", rows, ""
        members = (restore_row(row) if len(row) == 1 else f"({restore_row(row)})" for row in rows)
        return "in", rows, f"({', '.join(members)})"
    if cursor.accept("DEFAULT"):
        return "default", ((DEFAULT,),), ""
    kind = next((word for word in ("HISTORY", "CURRENT") if cursor.accept(word)), "")
    return kind.lower(), (), ""


def parse_bound(cursor: Cursor) -> syntax.Expression:
    return MAXVALUE if cursor.accept("MAXVALUE") else parse_bit_expression(cursor)


def parse_list_member(cursor: Cursor) -> Row:
    """Parse a member of VALUES IN: a value, DEFAULT, or a row in parentheses."""
    if cursor.begins_default():
        cursor.take()
        return (DEFAULT,)
    if begins_row(cursor):
        cursor.accept("ROW")
        return cursor.parenthesised_list(parse_expression)
    return (parse_bit_expression(cursor),)


def begins_row(cursor: Cursor) -> bool:
    """Whether `(value, value)` comes next, not an expression that begins with a parenthesis."""
    if cursor.word() == "ROW":
        return cursor.word_after() == "("
    closing = cursor.closing_ahead(0) if cursor.word() == "(" else -1
    if cursor.word_ahead(closing + 1) not in (",", ")"):
        return False
    depth = 0
    for word in map(cursor.word_ahead, range(closing)):
        depth += {"(": 1, ")": -1}.get(word, 0)
        if word == "," and depth == 1:
            return True
    return False


def restore_row(row: Row) -> str:
    return ", ".join(value.restored for value in row)


def row_texts(row: Row) -> tuple[str, ...]:
    """Return the values as SQL text, with NULL in upper case."""
    return tuple("NULL" if value.restored == "NULL" else value.text for value in row)


# -- checks -------------------------------------------------------------------------------------------------------


KINDS = {
    "range": ("less than",),
    "list": ("in", "default"),
    "hash": ("",),
    "key": ("",),
    "system_time": ("history", "current"),
}
"""The kinds of values in partitions, by the kind of partitioning."""
VALUES_CLAUSES = {"range": ("RANGE", "LESS THAN"), "list": ("LIST", "IN")}
METHODS_BY_VALUES = {values: kind for kind in VALUES_CLAUSES for values in KINDS[kind]}
Mistake = tuple[int, tuple[str, ...]]
"""The number of an error, and the values for its text (tidb v8.0 pkg/parser/ast/ddl.go, PartitionOptions.Validate)."""


def partitioning_error(cursor: Cursor, at: int, mistake: Mistake) -> SchemaError:
    number, values = mistake
    message = ERRORS[number].text.format(*values)
    return SchemaError(f"{position(cursor.sql, at)}: {message}", number=number, said=message)


def find_mistakes(partitioning: syntax.PartitionClause) -> Iterator[Mistake]:
    count, written, kind = partitioning.method.count, len(partitioning.definitions), partitioning.method.kind
    if count and written and count != written:
        yield 1484, ()
    subpartitions = {len(definition.subpartitions) for definition in partitioning.definitions}
    if len(subpartitions) > 1:
        yield 1485, ()
    if most := max(subpartitions, default=0):
        if not partitioning.subpartition:
            yield 1500, ()
        elif partitioning.subpartition.count not in (0, most):
            yield 1485, ()
    if kind in VALUES_CLAUSES and not written and not partitioning.interval:
        yield 1492, (kind.upper(),)
    if kind == "system_time" and written < 2:
        yield 4128, ()
    for definition in partitioning.definitions:
        yield from find_definition_mistakes(definition, kind, len(partitioning.method.columns))


def find_definition_mistakes(definition: syntax.PartitionDefinition, kind: str, columns: int) -> Iterator[Mistake]:
    """Yield what does not fit into a partitioning of `kind` by `columns` columns, 0 for an expression."""
    if definition.kind not in KINDS[kind]:
        yield values_mistake(definition.kind, kind)
    widths = [len(row) for row in definition.values if row != ("DEFAULT",)]
    if definition.kind == "less than" and widths[0] != (columns or 1):
        yield (1653, ()) if columns else (1657, ("RANGE",))
    elif len(set(widths)) > 1:
        yield 1653, ()
    elif widths and widths[0] != (columns or 1):
        yield (1653 if columns else 1658), ()


def values_mistake(values_kind: str, kind: str) -> Mistake:
    if values_kind in METHODS_BY_VALUES:
        return 1480, VALUES_CLAUSES[METHODS_BY_VALUES[values_kind]]
    if values_kind:
        return 4113, ()
    return (1479, VALUES_CLAUSES[kind]) if kind in VALUES_CLAUSES else (4128, ())


# -- PARTITION BY -------------------------------------------------------------------------------------------------


METHODS = ("HASH", "KEY", "RANGE", "LIST", "SYSTEM_TIME")


def parse_partitioning(cursor: Cursor) -> syntax.PartitionClause:
    """Parse the rest of PARTITION BY; raises SchemaError."""
    at = cursor.next_token().start
    method = parse_partition_method(cursor, METHODS)
    interval = parse_interval_clause(cursor) if method.kind == "range" and cursor.word() == "INTERVAL" else None
    method = parse_partition_count(cursor, method, "PARTITIONS")
    subpartition = None
    if cursor.accept("SUBPARTITION BY"):
        subpartition = parse_partition_count(cursor, parse_partition_method(cursor, METHODS[:2]), "SUBPARTITIONS")
    definitions = parse_partition_definitions(cursor) if cursor.word() == "(" else ()
    update_indexes = cursor.parenthesised_list(parse_updated_index) if cursor.accept("UPDATE INDEXES") else ()
    partitioning = syntax.PartitionClause(method, definitions, at, subpartition, interval, update_indexes)
    for mistake in find_mistakes(partitioning):
        raise partitioning_error(cursor, at, mistake)
    return partitioning


def parse_partition_count(cursor: Cursor, method: syntax.PartitionMethod, word: str) -> syntax.PartitionMethod:
    """Parse an optional number of partitions, and return the method with it."""
    if not cursor.accept(word):
        return method
    token, count = cursor.next_token(), cursor.count(f"the number of {word.lower()}")
    if not count:
        raise partitioning_error(cursor, token.start, (1504, (word.lower(),)))
    return replace(method, count=count)


def parse_partition_method(cursor: Cursor, accepted: tuple[str, ...]) -> syntax.PartitionMethod:
    """Parse `RANGE (expression)` and the like."""
    linear = cursor.accept("LINEAR")
    kind = cursor.word()
    if kind not in accepted or linear and kind not in ("HASH", "KEY"):
        cursor.unexpected(f"{', '.join(accepted[:-1])} or {accepted[-1]}", accepted)
    cursor.take()
    if kind == "SYSTEM_TIME":
        return parse_system_time(cursor)
    if kind == "KEY":
        algorithm = parse_algorithm(cursor)
        return replace(parse_columns_method(cursor, "key"), linear=linear, algorithm=algorithm)
    if kind in ("RANGE", "LIST") and (cursor.accept("COLUMNS") or cursor.accept("FIELDS")):
        return parse_columns_method(cursor, kind.lower())
    (expression,) = cursor.sequence("(", parse_bit_expression, ")")
    return syntax.PartitionMethod(kind.lower(), expression.text, expression.restored, linear=linear)


def parse_algorithm(cursor: Cursor) -> int | None:
    """Parse an optional `ALGORITHM = 1`."""
    if not cursor.accept("ALGORITHM"):
        return None
    cursor.expect("=")
    token, algorithm = cursor.next_token(), cursor.count()
    if algorithm not in (1, 2):
        cursor.fail(f"ALGORITHM = {algorithm} is not possible; accepted: 1, 2", token)
    return algorithm


def parse_columns_method(cursor: Cursor, kind: str) -> syntax.PartitionMethod:
    """Parse `(a, b)`, or `()` of KEY, which means the primary key."""
    if kind == "key" and cursor.accept("( )"):
        return syntax.PartitionMethod(kind)
    names = cursor.parenthesised_list(lambda cursor: parse_column_name(cursor, "a column"))
    restored = ",".join(restore_column_name(name, qualifier) for qualifier, name in names)
    return syntax.PartitionMethod(kind, restored=restored, columns=tuple(name for _, name in names))


def parse_system_time(cursor: Cursor) -> syntax.PartitionMethod:
    """Parse the rest of `SYSTEM_TIME [INTERVAL 1 DAY | LIMIT 10]`."""
    if cursor.accept("LIMIT"):
        return syntax.PartitionMethod("system_time", limit=cursor.count())
    if not cursor.accept("INTERVAL"):
        return syntax.PartitionMethod("system_time")
    every = parse_expression(cursor)
    return syntax.PartitionMethod("system_time", every.text, every.restored, unit=parse_unit(cursor).text)


def parse_interval_clause(cursor: Cursor) -> syntax.PartitionInterval:
    """Parse `INTERVAL (1 MONTH) FIRST PARTITION LESS THAN (…) LAST PARTITION LESS THAN (…) NULL PARTITION …`."""
    token = cursor.next_token()
    (every,) = cursor.sequence("INTERVAL", "(", parse_bit_expression)
    unit = parse_unit(cursor).text if cursor.word().removeprefix("SQL_TSI_") in UNITS else ""
    cursor.expect(")")
    first: syntax.Expression | None = None
    last: syntax.Expression | None = None
    if cursor.accept("FIRST PARTITION LESS THAN"):
        first, last = cursor.sequence(
            "(", parse_bit_expression, ")", "LAST PARTITION LESS THAN", "(", parse_bit_expression, ")"
        )
    null = cursor.accept("NULL PARTITION")
    maxvalue = cursor.accept("MAXVALUE PARTITION")
    length = len(cursor.text_since(token))
    return syntax.PartitionInterval(every, unit, first, last, null, maxvalue, token.start, length)


def parse_updated_index(cursor: Cursor) -> tuple[str, syntax.KeyOptions]:
    """Parse a member of UPDATE INDEXES: `name GLOBAL` or `name LOCAL`."""
    name = cursor.name("the name of an index")
    return name, syntax.KeyOptions(scope=cursor.one_of("GLOBAL", "LOCAL"))


VERBS = ("TRUNCATE", "CHECK", "OPTIMIZE", "REPAIR", "REBUILD")
LOCAL = VERBS[2:]
"""The verbs that accept NO_WRITE_TO_BINLOG."""


def parse_partition_name(cursor: Cursor) -> str:
    return cursor.name("the name of a partition")


def parse_partition_names(cursor: Cursor) -> tuple[str, ...]:
    return cursor.comma_list(parse_partition_name)


def parse_all_or_names(cursor: Cursor) -> tuple[str, ...]:
    """Parse partition names or ALL, for which the result is empty."""
    return () if cursor.accept("ALL") else parse_partition_names(cursor)


def parse_no_write_to_binlog(cursor: Cursor) -> bool:
    """Parse an optional NO_WRITE_TO_BINLOG, or its synonym LOCAL."""
    return cursor.accept("NO_WRITE_TO_BINLOG") or cursor.accept("LOCAL")


def parse_add_partitions(cursor: Cursor) -> syntax.AddPartitions:
    """Parse the rest of ADD PARTITION: definitions, a number, or nothing."""
    if_not_exists = cursor.accept("IF NOT EXISTS")
    silent = parse_no_write_to_binlog(cursor)
    if cursor.accept("PARTITIONS"):
        count = cursor.integer("the number of partitions")
        return syntax.AddPartitions((), count, if_not_exists, silent)
    definitions = parse_partition_definitions(cursor) if cursor.word() == "(" else ()
    return syntax.AddPartitions(definitions, 0, if_not_exists, silent)


def parse_partition_action(cursor: Cursor, verb: str) -> syntax.PartitionAction:
    """Parse the rest of `TRUNCATE PARTITION` and the like: names or ALL."""
    cursor.expect("PARTITION")
    silent = verb in LOCAL and parse_no_write_to_binlog(cursor)
    return syntax.PartitionAction(verb, parse_all_or_names(cursor), no_write_to_binlog=silent)


def parse_tablespace(cursor: Cursor, verb: str) -> syntax.Spec:
    """Parse the rest of IMPORT or DISCARD of partitions or of the table."""
    if cursor.accept("TABLESPACE"):
        return syntax.Clause(f"{verb} TABLESPACE")
    (names,) = cursor.sequence("PARTITION", parse_all_or_names, "TABLESPACE")
    return syntax.PartitionAction(verb, names)


def parse_coalesce_partition(cursor: Cursor, _: str) -> syntax.CoalescePartition:
    cursor.expect("PARTITION")
    silent = parse_no_write_to_binlog(cursor)
    return syntax.CoalescePartition(cursor.integer("the number of partitions"), silent)


def parse_exchange_partition(cursor: Cursor, _: str) -> syntax.ExchangePartition:
    (name,) = cursor.sequence("PARTITION", parse_partition_name, "WITH TABLE")
    table = cursor.qualified_name()
    validation = not cursor.accept("WITHOUT VALIDATION")
    if validation:
        cursor.accept("WITH VALIDATION")
    return syntax.ExchangePartition(name, table, validation)


def parse_interval_end(cursor: Cursor, verb: str) -> syntax.IntervalPartitionSpec:
    """Parse the rest of `FIRST PARTITION LESS THAN (…)` or `LAST PARTITION LESS THAN (…)`."""
    start = cursor.last_token().start
    (bound,) = cursor.sequence("PARTITION LESS THAN", parse_parenthesised)
    last = verb == "LAST"
    silent, if_exists = last and parse_no_write_to_binlog(cursor), not last and cursor.accept("IF EXISTS")
    end = len(cursor.sql) if cursor.at_end() else cursor.next_token().start
    return syntax.IntervalPartitionSpec(verb, bound, silent, if_exists, start, end)


def parse_interval_change(cursor: Cursor, verb: str) -> syntax.IntervalPartitionSpec:
    """Parse the rest of `SPLIT MAXVALUE PARTITION LESS THAN (…)` or `MERGE FIRST PARTITION LESS THAN (…)`."""
    which = "MAXVALUE" if verb == "SPLIT" else "FIRST"
    (bound,) = cursor.sequence(which, "PARTITION LESS THAN", parse_parenthesised)
    return syntax.IntervalPartitionSpec(f"{verb} {which}", bound)


def parse_attributes_value(cursor: Cursor) -> str | None:
    """Parse the value of ATTRIBUTES, and return None for DEFAULT."""
    cursor.accept("=")
    return None if cursor.accept("DEFAULT") else cursor.string("attributes between quotes, or DEFAULT")


def parse_partition_options_spec(cursor: Cursor, _: str) -> syntax.PartitionOptions:
    """Parse the rest of `PARTITION p ATTRIBUTES …`, or of `PARTITION p` with any number of options."""
    token = cursor.next_token()
    definition = parse_partition_definition(cursor)
    if definition.kind or definition.subpartitions:
        cursor.fail("a partition is not defined here. Accepted: its options, or ATTRIBUTES", token)
    options = definition.options
    if not options and cursor.accept("ATTRIBUTES"):
        value = parse_attributes_value(cursor)
        options = (syntax.TableOption("ATTRIBUTES", value or "", quoted=value is not None, default=value is None),)
    return syntax.PartitionOptions(definition.name, options)


def parse_remove(cursor: Cursor, _: str) -> syntax.RemovePartitioning | syntax.RemoveTtl:
    is_partitioning = cursor.one_of("PARTITIONING", "TTL") == "PARTITIONING"
    return syntax.RemovePartitioning() if is_partitioning else syntax.RemoveTtl()


def parse_reorganize_partition(cursor: Cursor, _: str) -> syntax.ReorganizePartition:
    """Parse the rest of REORGANIZE PARTITION of all partitions, or of names INTO definitions."""
    cursor.expect("PARTITION")
    silent = parse_no_write_to_binlog(cursor)
    if cursor.at_end():
        return syntax.ReorganizePartition((), (), silent)
    (names,) = cursor.sequence(parse_partition_names, "INTO")
    return syntax.ReorganizePartition(names, parse_partition_definitions(cursor), silent)
