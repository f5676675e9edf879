"""Expressions from a cursor: the operators, from OR down to what binds tighter than any.

One law: precedence is TiDB's grammar's (pkg/parser/parser.y: Expression, BoolPri, PredicateExpr, BitExpr, SimpleExpr).
"""

from __future__ import annotations

from collections.abc import Callable

from simulator.errors import SchemaError
from simulator.tidb.model.charsets import charset_of, collation
from simulator.tidb.parser.atoms import begins_assignment, read_assignment, read_atom
from simulator.tidb.parser.cursor import TiDBParser
from simulator.tidb.parser.lookahead import begins_subquery
from simulator.tidb.parser.units import read_unit
from simulator.tidb.restore.expressions import listed, restored
from simulator.tidb.syntax.definitions import Expression
from simulator.tidb.syntax.expressions import Between, Binary, Call, Collate, Fragment, In, Is, Node, Pattern, Unary

LOGICAL = {"OR": ("OR", 1), "||": ("OR", 1), "XOR": ("XOR", 2), "AND": ("AND", 3), "&&": ("AND", 3)}
COMPARISONS = {"=": "=", ">=": ">=", ">": ">", "<=": "<=", "<": "<", "!=": "!=", "<>": "!=", "<=>": "<=>"}
BITWISE = {
    "|": ("|", 1), "&": ("&", 2), "<<": ("<<", 3), ">>": (">>", 3), "+": ("+", 4), "-": ("-", 4), "*": ("*", 5),
    "/": ("/", 5), "%": ("%", 5), "DIV": ("DIV", 5), "MOD": ("%", 5), "^": ("^", 6),
}
PREDICATES = ("IN", "BETWEEN", "LIKE", "ILIKE", "REGEXP", "RLIKE")
TRUTHS = {"TRUE": "TRUE", "FALSE": "FALSE", "UNKNOWN": "NULL"}


def read_expression(parser: TiDBParser) -> Expression:
    """The expression that begins here, up to where it ends; raises SchemaError."""
    return expression_of(parser, read_node)


def expression_of(parser: TiDBParser, read: Callable[[TiDBParser], Node]) -> Expression:
    """What `read` reads, with its text; raises SchemaError, also for what is nested too deeply."""
    start = parser.next_token()
    try:
        node = read(parser)
        return Expression(parser.text_since(start), restored(node))
    except RecursionError:
        parser.fail("this expression is nested too deeply", start)


def read_parenthesised(parser: TiDBParser) -> Expression:
    """`( expression )`, its text and its restored text without the parentheses; raises SchemaError."""
    parser.expect("(")
    expression = read_expression(parser)
    parser.expect(")")
    return expression


def read_node(parser: TiDBParser, weakest: int = 1) -> Node:
    """As `read_expression`, as a tree; an operator weaker than `weakest` ends it."""
    node = _truth(parser)
    while (found := LOGICAL.get(parser.word(), ("", 0)))[1] >= weakest:
        parser.take()
        node = Binary(found[0], node, read_node(parser, found[1] + 1))
    return node


def read_simple(parser: TiDBParser) -> Node:
    """What operators stand between: a literal, a name, a call, parentheses; signs before it, COLLATE behind it."""
    word = parser.word()
    if word in ("!", "~", "-", "+", "BINARY"):
        parser.take()
        node: Node = Unary(word, read_simple(parser))
    else:
        node = read_atom(parser)
    while parser.accept("COLLATE"):
        at = parser.next_token()
        name = parser.name_or_string("a collation")
        try:
            charset_of(name, "COLLATE")
        except SchemaError:
            parser.fail(f"unknown collation {name!r}", at)
        node = Collate(node, collation(name))
    return node


def _truth(parser: TiDBParser) -> Node:
    """NOT, MATCH, an assignment, or comparisons with IS TRUE behind them."""
    if parser.accept("NOT"):
        return _negated(_truth(parser))
    if parser.word() == "MATCH" and parser.word_after() == "(":
        return _match(parser)
    if begins_assignment(parser):
        return read_assignment(parser, read_node)
    node = _comparisons(parser)
    negated = parser.word() == "IS" and parser.word_after() == "NOT"
    if parser.word() == "IS" and parser.word_ahead(1 + negated) in TRUTHS:
        parser.accept("IS NOT") or parser.accept("IS")
        return Is(node, TRUTHS[parser.take()], negated)
    return node


def _negated(node: Node) -> Node:
    if isinstance(node, Fragment) and node.what in ("EXISTS", "NOT EXISTS"):
        positive = node.restored.removeprefix("NOT ")
        if node.what == "NOT EXISTS":
            return Fragment(positive, "EXISTS")
        return Fragment(f"NOT {positive}", "NOT EXISTS")
    return Unary("NOT", node)


def _match(parser: TiDBParser) -> Node:
    parser.take()
    columns = parser.comma_separated(read_simple)
    parser.expect("AGAINST")
    parser.expect("(")
    against = restored(read_bits(parser))
    mode = ""
    if parser.accept("IN BOOLEAN MODE"):
        mode = " IN BOOLEAN MODE"
    else:
        parser.accept("IN NATURAL LANGUAGE MODE")
        mode = " WITH QUERY EXPANSION" if parser.accept("WITH QUERY EXPANSION") else ""
    parser.expect(")")
    return Fragment(f"MATCH ({listed(columns, ',')}) AGAINST ({against}{mode})", "MATCH … AGAINST")


def _comparisons(parser: TiDBParser) -> Node:
    node = _predicate(parser)
    while True:
        if parser.word() == "IS":
            negated = parser.word_after() == "NOT"
            if parser.word_ahead(1 + negated) != "NULL":
                return node
            parser.accept("IS NOT NULL") or parser.accept("IS NULL")
            node = Is(node, "NULL", negated)
        elif parser.word() in COMPARISONS:
            node = _compared(parser, node, COMPARISONS[parser.take()])
        else:
            return node


def _compared(parser: TiDBParser, left: Node, operator: str) -> Node:
    if parser.word() in ("ALL", "ANY", "SOME") and parser.word_after() == "(":
        quantifier = "ALL" if parser.take() == "ALL" else "ANY"
        rows = parser.rules.subquery(parser)
        return Fragment(f"{restored(left)}{operator}{quantifier} {rows}", "a subquery")
    if begins_assignment(parser):
        return Binary(operator, left, read_assignment(parser, _predicate))
    return Binary(operator, left, _predicate(parser))


def _predicate(parser: TiDBParser) -> Node:
    node = read_bits(parser)
    negated = parser.word() == "NOT" and parser.word_after() in PREDICATES
    if negated:
        parser.take()
    word = parser.word()
    if word in PREDICATES:
        parser.take()
    if word == "IN":
        return In(node, _candidates(parser), negated)
    if word == "BETWEEN":
        low = read_bits(parser)
        parser.expect("AND")
        return Between(node, low, _predicate(parser), negated)
    if word in PREDICATES:
        return _pattern(parser, node, "REGEXP" if word == "RLIKE" else word, negated)
    if parser.accept("MEMBER OF"):
        parser.expect("(")
        document = read_simple(parser)
        parser.expect(")")
        return Call("JSON_MEMBEROF", (node, document))
    return node


def _candidates(parser: TiDBParser) -> tuple[Node, ...]:
    if begins_subquery(parser):
        return (Fragment(parser.rules.subquery(parser), "the rows of a subquery"),)
    return parser.comma_separated(read_node)


def _pattern(parser: TiDBParser, node: Node, operator: str, negated: bool) -> Node:
    pattern = read_simple(parser)
    escape = "\\"
    if operator != "REGEXP" and parser.accept("ESCAPE"):
        at = parser.next_token()
        escape = parser.string("a character") or escape
        if len(escape.encode()) > 1:
            parser.fail("ESCAPE takes one character", at)
    return Pattern(operator, node, pattern, escape, negated)


def read_bits(parser: TiDBParser, weakest: int = 1) -> Node:
    """What a comparison stands between: arithmetic, shifts, and intervals added to a time."""
    node = _interval_first(parser) if begins_interval(parser) else read_simple(parser)
    while (found := BITWISE.get(_operator(parser), ("", 0)))[1] >= weakest:
        parser.take()
        if len(found[0]) == 2:
            parser.take()
        if found[0] in ("+", "-") and begins_interval(parser):
            amount, unit = _interval(parser)
            node = Call("DATE_ADD" if found[0] == "+" else "DATE_SUB", (node, amount, unit))
        else:
            node = Binary(found[0], node, read_bits(parser, found[1] + 1))
    return node


def _operator(parser: TiDBParser) -> str:
    """The next word, or the shift that two symbols make."""
    word = parser.word()
    shifts = word in ("<", ">") and parser.word_after() == word and parser.touches_next()
    return word * 2 if shifts else word


def begins_interval(parser: TiDBParser) -> bool:
    """Whether INTERVAL comes, and not the function of that name."""
    return parser.word() == "INTERVAL" and parser.word_after() != "("


def _interval_first(parser: TiDBParser) -> Node:
    """`INTERVAL 1 DAY + x`"""
    amount, unit = _interval(parser)
    parser.expect("+")
    return Call("DATE_ADD", (read_bits(parser, 5), amount, unit))


def _interval(parser: TiDBParser) -> tuple[Node, Node]:
    parser.take()
    amount = read_node(parser)
    return amount, read_unit(parser)
