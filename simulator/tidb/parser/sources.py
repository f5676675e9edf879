"""Parse the sources of a query into text and tree: tables, derived tables and joins; and optimizer hints `/*+ … */`.

TiDB's parser groups joins, and writes every group but the last in parentheses (pkg/parser/ast/dml.go, NewCrossJoin and
Join.Restore). It drops all hints if it cannot parse one, and a single hint that it does not support
(pkg/parser/hintparser.y, pkg/parser/ast/misc.go TableOptimizerHint.Restore).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from sqlglot.errors import SqlglotError

from simulator.errors import SchemaError
from simulator.tidb import syntax
from simulator.tidb.parser.atoms import begins_subquery
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.tokens import MYSQL, Tokenizer
from simulator.tidb.restore import quote_name, quote_string, restore_list, restore_node, restore_table_name


@dataclass(frozen=True)
class ParsedSource:
    text: str
    tree: syntax.TableSource | syntax.DerivedTable


@dataclass(frozen=True)
class ParsedJoin:
    left: ParsedSource | ParsedJoin
    right: ParsedSource | ParsedJoin | None = None
    """None for a single source that a comma may follow."""

    kind: str = " JOIN "
    condition: JoinCondition | None = None
    parenthesised: bool = False


@dataclass(frozen=True)
class JoinCondition:
    text: str
    on: syntax.Node | None = None
    using: tuple[str, ...] = ()


def parse_table_name(cursor: Cursor) -> str:
    """Parse `[schema.]table`."""
    return restore_table_name(cursor.qualified_name("a table"))


def source_tree(join: ParsedSource | ParsedJoin) -> syntax.Source:
    """Return the tree of a list of sources."""
    if isinstance(join, ParsedSource):
        return join.tree
    if join.right is None:
        return source_tree(join.left)
    condition = join.condition or JoinCondition("")
    kind = next((side for side in ("LEFT", "RIGHT") if side in join.kind), "INNER")
    natural = "NATURAL" in join.kind
    return syntax.Join(source_tree(join.left), source_tree(join.right), kind, condition.on, condition.using, natural)


def tables_of(join: ParsedSource | ParsedJoin | None) -> tuple[syntax.TableSource, ...]:
    if isinstance(join, ParsedJoin):
        return (*tables_of(join.left), *tables_of(join.right))
    return (join.tree,) if join is not None and isinstance(join.tree, syntax.TableSource) else ()


def parse_source_list(cursor: Cursor) -> ParsedJoin:
    """Parse the tables after FROM or UPDATE."""
    first = _parse_table_reference(cursor)
    join = first if isinstance(first, ParsedJoin) else ParsedJoin(first)
    while cursor.accept(","):
        join = ParsedJoin(join, _parse_table_reference(cursor))
    return join


def _parse_table_reference(cursor: Cursor) -> ParsedSource | ParsedJoin:
    """Parse a table reference, or `{ OJ reference }`."""
    if not cursor.accept("{"):
        return _parse_joins(cursor)
    cursor.name()
    reference = _parse_joins(cursor)
    cursor.expect("}")
    return reference


def _parse_joins(cursor: Cursor) -> ParsedSource | ParsedJoin:
    left = _parse_table_factor(cursor)
    while True:
        if cursor.accept("JOIN") or cursor.accept("CROSS JOIN") or cursor.accept("INNER JOIN"):
            right = _parse_joins(cursor)
            condition = _parse_join_condition(cursor)
            left = ParsedJoin(left, right, condition=condition) if condition else cross_join(left, right)
        elif cursor.word() in ("LEFT", "RIGHT"):
            kind = f" {_parse_outer_join(cursor)} JOIN "
            right = _parse_joins(cursor)
            left = ParsedJoin(left, right, kind, _parse_join_condition(cursor) or cursor.unexpected("ON or USING"))
        elif cursor.accept("NATURAL"):
            side = f" {_parse_outer_join(cursor)}" if cursor.word() in ("LEFT", "RIGHT") else ""
            if not side:
                cursor.expect("JOIN")
            left = ParsedJoin(left, _parse_table_factor(cursor), f" NATURAL{side} JOIN ")
        elif cursor.accept("STRAIGHT_JOIN"):
            right = _parse_table_factor(cursor)
            left = ParsedJoin(left, right, " STRAIGHT_JOIN ", _parse_join_condition(cursor))
        else:
            return left


def _parse_outer_join(cursor: Cursor) -> str:
    side = cursor.take()
    cursor.accept("OUTER")
    cursor.expect("JOIN")
    return side


def _parse_join_condition(cursor: Cursor) -> JoinCondition | None:
    if cursor.accept("ON"):
        on = cursor.grammar.expression(cursor)
        return JoinCondition(f" ON {restore_node(on)}", on)
    if cursor.accept("USING"):
        columns = cursor.parenthesised_list(cursor.grammar.simple_expression)
        names = tuple(node.parts[-1] if isinstance(node, syntax.ColumnName) else restore_node(node) for node in columns)
        return JoinCondition(f" USING ({restore_list(columns, ',')})", using=names)
    return None


def cross_join(left: ParsedSource | ParsedJoin, right: ParsedSource | ParsedJoin) -> ParsedJoin:
    """Join without a condition. The left side joins the leftmost source of the right side."""
    if not isinstance(right, ParsedJoin) or right.right is None or right.parenthesised:
        return ParsedJoin(left, right)
    return cross_join_leftmost(left, right)


def cross_join_leftmost(left: ParsedSource | ParsedJoin, join: ParsedJoin) -> ParsedJoin:
    """Join with the leftmost source. A RIGHT JOIN in parentheses becomes a LEFT JOIN."""
    if join.kind == " RIGHT JOIN " and join.parenthesised and join.right is not None:
        join = replace(join, left=join.right, right=join.left, kind=" LEFT JOIN ")
    if isinstance(join.left, ParsedJoin) and join.left.right is not None:
        return replace(join, left=cross_join_leftmost(left, join.left))
    return replace(join, left=ParsedJoin(left, join.left))


def _parse_table_factor(cursor: Cursor) -> ParsedSource | ParsedJoin:
    if cursor.word() != "(":
        return _parse_table(cursor)
    if begins_subquery(cursor, nested=True):
        text, query = cursor.grammar.subquery(cursor)
        alias = parse_name_alias(cursor)
        if not alias and isinstance(query, syntax.SelectTree) and "ORACLE" not in cursor.sql_mode:
            # (tidb pkg/planner/core/preprocess.go)
            raise SchemaError("Every derived table must have its own alias", number=1248)
        return ParsedSource(text + _restore_alias(alias), syntax.DerivedTable(query, alias))
    cursor.expect("(")
    join = parse_source_list(cursor)
    cursor.expect(")")
    return replace(join, parenthesised=True)


def _parse_table(cursor: Cursor) -> ParsedSource:
    """Parse a table with its partitions, alias, AS OF TIMESTAMP and index hints."""
    name = cursor.qualified_name("a table")
    partitions = parse_partitions(cursor)
    text = f" PARTITION({', '.join(map(quote_name, partitions))})" if partitions else ""
    alias = "" if cursor.word() == "AS" and cursor.word_after() == "OF" else parse_name_alias(cursor)
    moment = cursor.grammar.expression(cursor) if cursor.accept("AS OF TIMESTAMP") else None
    as_of = f" AS OF TIMESTAMP {restore_node(moment)}" if moment else ""
    hints = parse_index_hints(cursor)
    return ParsedSource(
        restore_table_name(name) + text + _restore_alias(alias) + as_of + hints,
        syntax.TableSource(name, alias, partitions, moment),
    )


def parse_partitions(cursor: Cursor) -> tuple[str, ...]:
    """Parse an optional `PARTITION (p0, …)`."""
    if not cursor.accept("PARTITION"):
        return ()
    return cursor.parenthesised_list(lambda cursor: cursor.name("a partition"))


def parse_name_alias(cursor: Cursor) -> str:
    """Parse the optional alias of a source, with or without AS."""
    if cursor.accept("AS"):
        return cursor.name("an alias")
    return cursor.name() if cursor.is_free_name() else ""


def _restore_alias(alias: str) -> str:
    return f" AS {quote_name(alias)}" if alias else ""


def parse_index_hints(cursor: Cursor) -> str:
    """Parse optional index hints, and return them as TiDB writes them back."""
    hints = ""
    while cursor.word() in ("USE", "IGNORE", "FORCE"):
        hints += f" {_parse_index_hint(cursor)}"
    return hints


def _parse_index_hint(cursor: Cursor) -> str:
    """Parse `USE INDEX [FOR JOIN] (…)`."""
    text = f"{cursor.take()} INDEX"
    if not cursor.accept("INDEX"):
        cursor.expect("KEY")
    if cursor.accept("FOR"):
        scope = next((scope for scope in ("JOIN", "ORDER BY", "GROUP BY") if cursor.accept(scope)), "")
        text += f" FOR {scope or cursor.unexpected('JOIN, ORDER BY or GROUP BY')}"
    names = () if cursor.accept("( )") else cursor.parenthesised_list(_parse_index_name)
    return f"{text} ({', '.join(map(quote_name, names))})"


def _parse_index_name(cursor: Cursor) -> str:
    return cursor.literal() if cursor.word() == "PRIMARY" else cursor.name("an index")


def restore_sources(join: ParsedSource | ParsedJoin) -> str:
    """Return a list of sources as TiDB writes it back."""
    if isinstance(join, ParsedSource):
        return join.text
    comma = (
        isinstance(join.left, ParsedJoin)
        and join.left.right is None
        and isinstance(join.left.left, ParsedSource)
        and isinstance(join.left.left.tree, syntax.DerivedTable)
    )
    left = restore_sources(join.left)
    if isinstance(join.left, ParsedJoin) and not comma:
        left = f"({left})"
    if join.right is None:
        return left
    right = f"({restore_sources(join.right)})" if isinstance(join.right, ParsedJoin) else restore_sources(join.right)
    kind = f"{join.kind.removesuffix(' JOIN ')}, " if comma and join.kind.endswith(" JOIN ") else join.kind
    return f"{left}{kind}{right}{join.condition.text if join.condition else ''}"


BARE = frozenset(
    """
    USE_PLAN_CACHE HASH_AGG MPP_1PHASE_AGG MPP_2PHASE_AGG STREAM_AGG AGG_TO_COP LIMIT_TO_COP NO_INDEX_MERGE
    READ_CONSISTENT_REPLICA IGNORE_PLAN_CACHE STRAIGHT_JOIN SEMI_JOIN_REWRITE NO_DECORRELATE
    """.split()
)
TABLES = frozenset(
    """
    MERGE_JOIN NO_MERGE_JOIN BROADCAST_JOIN SHUFFLE_JOIN INL_JOIN INL_HASH_JOIN NO_INDEX_JOIN NO_INDEX_HASH_JOIN
    INL_MERGE_JOIN NO_INDEX_MERGE_JOIN HASH_JOIN NO_HASH_JOIN HASH_JOIN_BUILD HASH_JOIN_PROBE LEADING MERGE TIDB_HJ
    TIDB_SMJ TIDB_INLJ
    """.split()
)
INDEXES = frozenset(("USE_INDEX", "IGNORE_INDEX", "USE_INDEX_MERGE", "FORCE_INDEX", "ORDER_INDEX", "NO_ORDER_INDEX"))
NUMBERS = frozenset(("MAX_EXECUTION_TIME", "NTH_PLAN"))
FLAGS = frozenset(("USE_TOJA", "USE_CASCADES"))


def parse_hints(cursor: Cursor) -> str:
    """Parse a comment with hints, and return the hints that TiDB keeps."""
    text = cursor.literal()[3:-2]
    try:
        return _parse_hints(Cursor(text, Tokenizer(MYSQL).tokenize(text), cursor.grammar))
    except (SchemaError, SqlglotError):
        return ""


def _parse_hints(cursor: Cursor) -> str:
    hints: list[str] = []
    while not cursor.at_end():
        hints += _parse_hint(cursor)
        cursor.accept(",")
    return " ".join(hint for hint in hints if hint)


def _parse_hint(cursor: Cursor) -> list[str]:
    name = cursor.keyword("a hint")
    cursor.expect("(")
    if name == "READ_FROM_STORAGE":
        hints = _parse_storage_hints(cursor, name)
    else:
        hints = [f"{name}({text})" for text in _parse_hint_body(cursor, name)]
    cursor.expect(")")
    return hints


def _parse_hint_body(cursor: Cursor, name: str) -> list[str]:
    """Parse the text in parentheses, and return nothing for a hint that TiDB does not support."""
    if name in ("QB_NAME", "RESOURCE_GROUP"):
        return [quote_name(cursor.name())]
    if name == "SET_VAR":
        return [_parse_variable(cursor)]
    if name == "TIME_RANGE":
        start = cursor.string()
        cursor.accept(",")
        return [f"{quote_string(start)}, {quote_string(cursor.string())}"]
    block = _parse_query_block(cursor)
    if name in BARE:
        return [block]
    space = " " if block else ""
    if name in TABLES:
        return [f"{block}{space}{_parse_hinted_tables(cursor)}" if cursor.word() != ")" else block + space]
    if name in INDEXES:
        return [f"{block}{space}{_parse_indexes(cursor)}"]
    return [f"{block}{space}{argument}" for argument in _parse_hint_argument(cursor, name)]


def _parse_hint_argument(cursor: Cursor, name: str) -> list[str]:
    if name in NUMBERS:
        return [str(cursor.integer())]
    if name in FLAGS:
        return [cursor.take() if cursor.word() in ("TRUE", "FALSE") else cursor.unexpected("TRUE or FALSE")]
    if name == "QUERY_TYPE":
        return [cursor.take() if cursor.word() in ("OLAP", "OLTP") else cursor.unexpected("OLAP or OLTP")]
    if name == "MEMORY_QUOTA":
        amount = cursor.integer()
        unit = cursor.take()
        return [f"{amount * (1024 if unit == 'GB' else 1)} MB"] if unit in ("MB", "GB") else cursor.unexpected("MB")
    if cursor.word() == ")":
        cursor.unexpected("an argument")
    while cursor.word() not in (")", "", "("):
        cursor.take() if cursor.kind() == "word" else cursor.literal()
    return []


def _parse_variable(cursor: Cursor) -> str:
    name = cursor.name()
    cursor.expect("=")
    sign = cursor.take() if cursor.word() in ("-", "+") else ""
    value = str(cursor.integer()) if cursor.kind() == "number" else cursor.name_or_string("a value")
    return f"{name} = {quote_string(sign.strip('+') + value)}"


def _parse_query_block(cursor: Cursor) -> str:
    """Parse an optional `@block`."""
    return f"@{quote_name(cursor.name())}" if cursor.accept("@") else ""


def _parse_hinted_tables(cursor: Cursor) -> str:
    return ", ".join(cursor.comma_list(_parse_hinted_table))


def _parse_hinted_table(cursor: Cursor) -> str:
    name = restore_table_name(cursor.qualified_name("a table"))
    block = _parse_query_block(cursor)
    if not cursor.accept("PARTITION"):
        return name + block
    names = cursor.parenthesised_list(lambda cursor: cursor.name("a partition"))
    return f"{name}{block} PARTITION({', '.join(map(quote_name, names))})"


def _parse_indexes(cursor: Cursor) -> str:
    table = _parse_hinted_table(cursor)
    cursor.accept(",")
    names: list[str] = []
    while cursor.word() != ")":
        names.append(quote_name(cursor.name("an index")))
        if not cursor.accept(","):
            break
    return f"{table} {', '.join(names)}"


def _parse_storage_hints(cursor: Cursor, name: str) -> list[str]:
    block = _parse_query_block(cursor)
    space = " " if block else ""
    hints = []
    while True:
        kind = cursor.take()
        if kind not in ("TIKV", "TIFLASH"):
            cursor.unexpected("TIKV or TIFLASH")
        cursor.expect("[")
        hints.append(f"{name}({block}{space}{kind}[{_parse_hinted_tables(cursor)}])")
        cursor.expect("]")
        if not cursor.accept(","):
            return hints
