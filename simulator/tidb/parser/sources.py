"""What a query reads from, from a cursor: tables, derived tables and their joins, as text.

One law: joins are grouped as TiDB's parser groups them, and every group but the last is written in parentheses
(pkg/parser/ast/dml.go, NewCrossJoin and Join.Restore).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from simulator.tidb.parser.cursor import TiDBParser
from simulator.tidb.parser.lookahead import begins_subquery
from simulator.tidb.restore.expressions import listed, restored
from simulator.tidb.restore.restoring import quoted


@dataclass(frozen=True)
class Source:
    text: str
    derived: bool = False
    """Whether it is a query."""


@dataclass(frozen=True)
class Join:
    left: Source | Join
    right: Source | Join | None = None
    """None for a single source that a comma may follow."""

    kind: str = " JOIN "
    condition: str = ""
    parenthesised: bool = False


def read_source_list(parser: TiDBParser) -> str:
    """What stands behind FROM."""
    return _written(_list(parser))


def read_table_name(parser: TiDBParser) -> str:
    """`[schema.]table`"""
    return ".".join(quoted(part) for part in parser.qualified_free_name("a table") if part)


def _list(parser: TiDBParser) -> Join:
    first = _escaped(parser)
    join = first if isinstance(first, Join) else Join(first)
    while parser.accept(","):
        join = Join(join, _escaped(parser))
    return join


def _escaped(parser: TiDBParser) -> Source | Join:
    """A table reference; `{ OJ reference }` is one too."""
    if not parser.accept("{"):
        return _reference(parser)
    parser.name()
    reference = _reference(parser)
    parser.expect("}")
    return reference


def _reference(parser: TiDBParser) -> Source | Join:
    left = _factor(parser)
    while True:
        if parser.accept("JOIN") or parser.accept("CROSS JOIN") or parser.accept("INNER JOIN"):
            right = _reference(parser)
            condition = _condition(parser)
            left = Join(left, right, condition=condition) if condition else cross(left, right)
        elif parser.word() in ("LEFT", "RIGHT"):
            kind = f" {_side(parser)} JOIN "
            right = _reference(parser)
            left = Join(left, right, kind, _condition(parser) or parser.unexpected("ON or USING"))
        elif parser.accept("NATURAL"):
            side = f" {_side(parser)}" if parser.word() in ("LEFT", "RIGHT") else ""
            if not side:
                parser.expect("JOIN")
            left = Join(left, _factor(parser), f" NATURAL{side} JOIN ")
        elif parser.accept("STRAIGHT_JOIN"):
            right = _factor(parser)
            left = Join(left, right, " STRAIGHT_JOIN ", _condition(parser))
        else:
            return left


def _side(parser: TiDBParser) -> str:
    side = parser.take()
    parser.accept("OUTER")
    parser.expect("JOIN")
    return side


def _condition(parser: TiDBParser) -> str:
    if parser.accept("ON"):
        return f" ON {restored(parser.rules.node(parser))}"
    if parser.accept("USING"):
        return f" USING ({listed(parser.comma_separated(parser.rules.simple), ',')})"
    return ""


def cross(left: Source | Join, right: Source | Join) -> Join:
    """A join without a condition; what the right side joins first is joined to the left side."""
    if not isinstance(right, Join) or right.right is None or right.parenthesised:
        return Join(left, right)
    if isinstance(right.left, Join) and right.left.right is not None:
        return replace(right, left=cross_leftmost(left, right.left))
    return replace(right, left=Join(left, right.left))


def cross_leftmost(left: Source | Join, join: Join) -> Join:
    """The same, further down; a RIGHT JOIN in parentheses is turned round on the way."""
    if join.kind == " RIGHT JOIN " and join.parenthesised and join.right is not None:
        join = replace(join, left=join.right, right=join.left, kind=" LEFT JOIN ")
    if isinstance(join.left, Join) and join.left.right is not None:
        return replace(join, left=cross_leftmost(left, join.left))
    return replace(join, left=Join(left, join.left))


def _factor(parser: TiDBParser) -> Source | Join:
    if parser.word() != "(":
        return Source(_table(parser))
    if begins_subquery(parser, nested=True):
        query = parser.rules.subquery(parser)
        return Source(query + _alias(parser), derived=True)
    parser.expect("(")
    join = _list(parser)
    parser.expect(")")
    return replace(join, parenthesised=True)


def _table(parser: TiDBParser) -> str:
    """A table with its partitions, alias, time and index hints, in TiDB's order."""
    text = read_table_name(parser)
    if parser.accept("PARTITION"):
        names = parser.comma_separated(lambda cursor: cursor.free_name("a partition"))
        text += f" PARTITION({', '.join(map(quoted, names))})"
    alias = "" if parser.word() == "AS" and parser.word_after() == "OF" else _alias(parser)
    moment = ""
    if parser.accept("AS OF TIMESTAMP"):
        moment = f" AS OF TIMESTAMP {restored(parser.rules.node(parser))}"
    hints = ""
    while parser.word() in ("USE", "IGNORE", "FORCE"):
        hints += f" {_hint(parser)}"
    return text + alias + moment + hints


def _alias(parser: TiDBParser) -> str:
    if parser.accept("AS"):
        return f" AS {quoted(parser.free_name('an alias'))}"
    return f" AS {quoted(parser.name())}" if parser.is_free_name() else ""


def _hint(parser: TiDBParser) -> str:
    """`USE INDEX [FOR JOIN] (…)`"""
    text = f"{parser.take()} INDEX"
    if not parser.accept("INDEX"):
        parser.expect("KEY")
    if parser.accept("FOR"):
        scope = next((scope for scope in ("JOIN", "ORDER BY", "GROUP BY") if parser.accept(scope)), "")
        text += f" FOR {scope or parser.unexpected('JOIN, ORDER BY or GROUP BY')}"
    names = () if parser.accept("( )") else parser.comma_separated(_index)
    return f"{text} ({', '.join(map(quoted, names))})"


def _index(parser: TiDBParser) -> str:
    return parser.literal() if parser.word() == "PRIMARY" else parser.name("an index")


def _written(join: Source | Join | None) -> str:
    if join is None or isinstance(join, Source):
        return join.text if join else ""
    comma = (isinstance(join.left, Join) and join.left.right is None
             and isinstance(join.left.left, Source) and join.left.left.derived)
    left = _written(join.left)
    if isinstance(join.left, Join) and not comma:
        left = f"({left})"
    if join.right is None:
        return left
    right = f"({_written(join.right)})" if isinstance(join.right, Join) else _written(join.right)
    kind = f"{join.kind.removesuffix(' JOIN ')}, " if comma and join.kind.endswith(" JOIN ") else join.kind
    return f"{left}{kind}{right}{join.condition}"
