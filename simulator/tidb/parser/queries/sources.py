"""What a query reads from, from a cursor: tables, derived tables and their joins, as text and tree.

One law: joins are grouped as TiDB's parser groups them, and every group but the last is written in parentheses
(pkg/parser/ast/dml.go, NewCrossJoin and Join.Restore).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from simulator.tidb import syntax
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.queries.lookahead import begins_subquery
from simulator.tidb.restore.expressions import restore_list, restore_node
from simulator.tidb.restore.names import quote_name, restore_table_name


@dataclass(frozen=True)
class Source:
    text: str
    tree: syntax.TableSource | syntax.DerivedTable
    beside: tuple[str, ...] = ()
    """What no SELECT computes: AS OF TIMESTAMP."""


@dataclass(frozen=True)
class Join:
    left: Source | Join
    right: Source | Join | None = None
    """None for a single source that a comma may follow."""

    kind: str = " JOIN "
    condition: Condition | None = None
    parenthesised: bool = False


@dataclass(frozen=True)
class Condition:
    text: str
    on: syntax.Node | None = None
    using: tuple[str, ...] = ()


def parse_table_name(cursor: Cursor) -> str:
    """`[schema.]table`"""
    return restore_table_name(cursor.qualified_name("a table"))


def source_tree(join: Source | Join) -> syntax.Source:
    """What a list of sources says."""
    if isinstance(join, Source):
        return join.tree
    if join.right is None:
        return source_tree(join.left)
    condition = join.condition or Condition("")
    kind = next((side for side in ("LEFT", "RIGHT") if side in join.kind), "INNER")
    natural = "NATURAL" in join.kind
    return syntax.Join(source_tree(join.left), source_tree(join.right), kind, condition.on, condition.using, natural)


def unsupported_clauses(join: Source | Join | None) -> tuple[str, ...]:
    """What of a list of sources nobody computes."""
    if join is None or isinstance(join, Source):
        return join.beside if join else ()
    return (*unsupported_clauses(join.left), *unsupported_clauses(join.right))


def has_partition_clause(join: Source | Join | None) -> bool:
    """Whether a list of sources has one with PARTITION (…)."""
    if join is None or isinstance(join, Source):
        return join is not None and isinstance(join.tree, syntax.TableSource) and bool(join.tree.partitions)
    return has_partition_clause(join.left) or has_partition_clause(join.right)


def parse_source_list(cursor: Cursor) -> Join:
    """Parse the tables behind FROM or UPDATE."""
    first = _parse_table_reference(cursor)
    join = first if isinstance(first, Join) else Join(first)
    while cursor.accept(","):
        join = Join(join, _parse_table_reference(cursor))
    return join


def _parse_table_reference(cursor: Cursor) -> Source | Join:
    """A table reference; `{ OJ reference }` is one too."""
    if not cursor.accept("{"):
        return _parse_joins(cursor)
    cursor.name()
    reference = _parse_joins(cursor)
    cursor.expect("}")
    return reference


def _parse_joins(cursor: Cursor) -> Source | Join:
    left = _parse_table_factor(cursor)
    while True:
        if cursor.accept("JOIN") or cursor.accept("CROSS JOIN") or cursor.accept("INNER JOIN"):
            right = _parse_joins(cursor)
            condition = _parse_join_condition(cursor)
            left = Join(left, right, condition=condition) if condition else cross_join(left, right)
        elif cursor.word() in ("LEFT", "RIGHT"):
            kind = f" {_parse_outer_join(cursor)} JOIN "
            right = _parse_joins(cursor)
            left = Join(left, right, kind, _parse_join_condition(cursor) or cursor.unexpected("ON or USING"))
        elif cursor.accept("NATURAL"):
            side = f" {_parse_outer_join(cursor)}" if cursor.word() in ("LEFT", "RIGHT") else ""
            if not side:
                cursor.expect("JOIN")
            left = Join(left, _parse_table_factor(cursor), f" NATURAL{side} JOIN ")
        elif cursor.accept("STRAIGHT_JOIN"):
            right = _parse_table_factor(cursor)
            left = Join(left, right, " STRAIGHT_JOIN ", _parse_join_condition(cursor))
        else:
            return left


def _parse_outer_join(cursor: Cursor) -> str:
    side = cursor.take()
    cursor.accept("OUTER")
    cursor.expect("JOIN")
    return side


def _parse_join_condition(cursor: Cursor) -> Condition | None:
    if cursor.accept("ON"):
        on = cursor.grammar.expression(cursor)
        return Condition(f" ON {restore_node(on)}", on)
    if cursor.accept("USING"):
        columns = cursor.parenthesised_list(cursor.grammar.simple_expression)
        names = tuple(node.parts[-1] if isinstance(node, syntax.ColumnName) else restore_node(node) for node in columns)
        return Condition(f" USING ({restore_list(columns, ',')})", using=names)
    return None


def cross_join(left: Source | Join, right: Source | Join) -> Join:
    """A join without a condition; what the right side joins first is joined to the left side."""
    if not isinstance(right, Join) or right.right is None or right.parenthesised:
        return Join(left, right)
    return cross_join_leftmost(left, right)


def cross_join_leftmost(left: Source | Join, join: Join) -> Join:
    """The same, further down; a RIGHT JOIN in parentheses is turned round on the way."""
    if join.kind == " RIGHT JOIN " and join.parenthesised and join.right is not None:
        join = replace(join, left=join.right, right=join.left, kind=" LEFT JOIN ")
    if isinstance(join.left, Join) and join.left.right is not None:
        return replace(join, left=cross_join_leftmost(left, join.left))
    return replace(join, left=Join(left, join.left))


def _parse_table_factor(cursor: Cursor) -> Source | Join:
    if cursor.word() != "(":
        return _parse_table(cursor)
    if begins_subquery(cursor, nested=True):
        text, query = cursor.grammar.subquery(cursor)
        alias = parse_name_alias(cursor)
        return Source(text + _restore_alias(alias), syntax.DerivedTable(query, alias))
    cursor.expect("(")
    join = parse_source_list(cursor)
    cursor.expect(")")
    return replace(join, parenthesised=True)


def _parse_table(cursor: Cursor) -> Source:
    """A table with its partitions, alias, time and index hints, in TiDB's order."""
    name = cursor.qualified_name("a table")
    partitions = parse_partitions(cursor)
    text = f" PARTITION({', '.join(map(quote_name, partitions))})" if partitions else ""
    alias = "" if cursor.word() == "AS" and cursor.word_after() == "OF" else parse_name_alias(cursor)
    moment = ""
    if cursor.accept("AS OF TIMESTAMP"):
        moment = f" AS OF TIMESTAMP {restore_node(cursor.grammar.expression(cursor))}"
    hints = ""
    while cursor.word() in ("USE", "IGNORE", "FORCE"):
        hints += f" {_parse_index_hint(cursor)}"
    aside = ("AS OF TIMESTAMP",) * bool(moment)
    return Source(
        restore_table_name(name) + text + _restore_alias(alias) + moment + hints,
        syntax.TableSource(name, alias, partitions),
        aside,
    )


def parse_partitions(cursor: Cursor) -> tuple[str, ...]:
    """`PARTITION (p0, …)`, or nothing."""
    if not cursor.accept("PARTITION"):
        return ()
    return cursor.parenthesised_list(lambda cursor: cursor.name("a partition"))


def parse_name_alias(cursor: Cursor) -> str:
    """The name behind a source, with or without its AS, or nothing."""
    if cursor.accept("AS"):
        return cursor.name("an alias")
    return cursor.name() if cursor.is_free_name() else ""


def _restore_alias(alias: str) -> str:
    return f" AS {quote_name(alias)}" if alias else ""


def _parse_index_hint(cursor: Cursor) -> str:
    """`USE INDEX [FOR JOIN] (…)`"""
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


def restore_sources(join: Source | Join) -> str:
    """A list of sources as TiDB writes it back."""
    if isinstance(join, Source):
        return join.text
    comma = (
        isinstance(join.left, Join)
        and join.left.right is None
        and isinstance(join.left.left, Source)
        and isinstance(join.left.left.tree, syntax.DerivedTable)
    )
    left = restore_sources(join.left)
    if isinstance(join.left, Join) and not comma:
        left = f"({left})"
    if join.right is None:
        return left
    right = f"({restore_sources(join.right)})" if isinstance(join.right, Join) else restore_sources(join.right)
    kind = f"{join.kind.removesuffix(' JOIN ')}, " if comma and join.kind.endswith(" JOIN ") else join.kind
    return f"{left}{kind}{right}{join.condition.text if join.condition else ''}"
