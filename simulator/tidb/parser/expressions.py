"""Parse expressions with the precedence of TiDB's grammar, and names, settings and literals of many statements.

Source: pkg/parser/parser.y, Expression, BoolPri, PredicateExpr, BitExpr, SimpleExpr.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace
from sqlglot.tokens import Token

from simulator.errors import SchemaError, SqlError
from simulator.tidb import syntax
from simulator.tidb.errors import not_simulated
from simulator.tidb.model.types import COLLATIONS, canonical_charset, canonical_collation, charset_of
from simulator.tidb.parser.atoms import begins_assignment, begins_subquery, parse_assignment, parse_atom
from simulator.tidb.parser.cursor import Cursor, position
from simulator.tidb.parser.tokens import LITERALS, parse_unit, tokenize
from simulator.tidb.restore import restore_list, restore_node
from simulator.tidb.system_variables import READING_MODES

LOGICAL = {"OR": ("OR", 1), "||": ("OR", 1), "XOR": ("XOR", 2), "AND": ("AND", 3), "&&": ("AND", 3)}
COMPARISONS = {"=": "=", ">=": ">=", ">": ">", "<=": "<=", "<": "<", "!=": "!=", "<>": "!=", "<=>": "<=>"}
LEVELS = (("|",), ("&",), ("<<", ">>"), ("+", "-"), ("*", "/", "%", "DIV"), ("^",))
BITWISE = {word: (word, level) for level, words in enumerate(LEVELS, 1) for word in words} | {"MOD": ("%", 5)}
PREDICATES = ("IN", "BETWEEN", "LIKE", "ILIKE", "REGEXP", "RLIKE")
TRUTHS = {"TRUE": "TRUE", "FALSE": "FALSE", "UNKNOWN": "NULL"}


def parse_expression(cursor: Cursor) -> syntax.Expression:
    """Parse an expression; raises SchemaError."""
    return parse_expression_with(cursor, parse_node)


def parse_expression_with(cursor: Cursor, parser: Callable[[Cursor], syntax.Node]) -> syntax.Expression:
    """Parse an expression with `parser`; raises SchemaError, also for one that is nested too deeply."""
    start = cursor.next_token()
    try:
        restored = restore_node(parser(cursor))
        return syntax.Expression(
            text_in_any_mode(cursor, start, restored, lambda again: restore_node(parser(again))), restored
        )
    except RecursionError:
        cursor.fail("this expression is nested too deeply", start)


def text_in_any_mode(cursor: Cursor, start: Token, restored: str, parser: Callable[[Cursor], str]) -> str:
    """Return the text since a token, or `restored` if the text means something else without the sql_mode.

    `parser` returns the restored text. TiDB stores what it restores, and parses it without a mode (tidb v8.5
    pkg/util/generatedexpr/generated_expr.go, pkg/planner/core/logical_plan_builder.go BuildDataSourceFromView).
    """
    text = cursor.text_since(start)
    if cursor.sql_mode.isdisjoint(READING_MODES):
        return text
    try:
        again = Cursor(text, tokenize(text), cursor.grammar, cursor.charset)
        return text if parser(again) == restored and again.at_end() else restored
    except SchemaError:
        return restored


def parse_parenthesised(cursor: Cursor) -> syntax.Expression:
    """Parse `( expression )`, and return it without the parentheses; raises SchemaError."""
    cursor.expect("(")
    expression = parse_expression(cursor)
    cursor.expect(")")
    return expression


def parse_node(cursor: Cursor, weakest: int = 1) -> syntax.Node:
    """Parse the tree of an expression. An operator that binds less tightly than `weakest` ends it."""
    node = _parse_truth(cursor)
    while (operator := LOGICAL.get(cursor.word(), ("", 0)))[1] >= weakest:
        cursor.take()
        node = syntax.Binary(operator[0], node, parse_node(cursor, operator[1] + 1))
    return node


def parse_simple_node(cursor: Cursor, alone: bool = False) -> syntax.Node:
    """Parse an operand with the signs before it and COLLATE after it, and, unless it is `alone`, those that `||` joins."""
    word = cursor.word()
    if word in ("!", "~", "-", "+", "BINARY") or word == "NOT" and cursor.negates_early:
        cursor.take()
        node: syntax.Node = syntax.Unary("!" if word == "NOT" else word, parse_simple_node(cursor, alone=True))
    else:
        node = parse_atom(cursor)
    while cursor.accept("COLLATE"):
        name = cursor.name_or_string("a collation")
        if canonical_collation(name) not in COLLATIONS:
            raise SchemaError(f"Unknown collation: '{name}'", number=1273)
        node = syntax.Collate(node, canonical_collation(name))
    while cursor.concatenates and not alone and cursor.accept("||"):
        node = syntax.Call("CONCAT", (node, parse_simple_node(cursor, alone=True)))
    return node


def _parse_truth(cursor: Cursor) -> syntax.Node:
    """Parse NOT, MATCH, an assignment, or comparisons with an optional IS TRUE."""
    if cursor.word() == "NOT" and not (cursor.negates_early and cursor.word_after() != "EXISTS"):
        cursor.take()
        return _negate(_parse_truth(cursor))
    if cursor.word() == "MATCH" and cursor.word_after() == "(":
        return _parse_match_against(cursor)
    if begins_assignment(cursor):
        return parse_assignment(cursor, parse_node)
    node = _parse_comparisons(cursor)
    negated = cursor.word() == "IS" and cursor.word_after() == "NOT"
    if cursor.word() == "IS" and cursor.word_ahead(1 + negated) in TRUTHS:
        cursor.accept("IS NOT") or cursor.accept("IS")
        return syntax.Is(node, TRUTHS[cursor.take()], negated)
    return node


def _negate(node: syntax.Node) -> syntax.Node:
    if isinstance(node, syntax.ContextExpression) and node.kind in ("EXISTS", "NOT EXISTS"):
        positive = node.restored.removeprefix("NOT ")
        tree = replace(node.tree, negated=node.kind == "EXISTS") if isinstance(node.tree, syntax.Exists) else None
        if node.kind == "NOT EXISTS":
            return syntax.ContextExpression(positive, "EXISTS", tree)
        return syntax.ContextExpression(f"NOT {positive}", "NOT EXISTS", tree)
    return syntax.Unary("NOT", node)


def _parse_match_against(cursor: Cursor) -> syntax.Node:
    cursor.take()
    columns = cursor.parenthesised_list(parse_simple_node)
    cursor.expect("AGAINST")
    cursor.expect("(")
    against = restore_node(parse_bit_node(cursor))
    mode = ""
    if cursor.accept("IN BOOLEAN MODE"):
        mode = " IN BOOLEAN MODE"
    else:
        cursor.accept("IN NATURAL LANGUAGE MODE")
        mode = " WITH QUERY EXPANSION" if cursor.accept("WITH QUERY EXPANSION") else ""
    cursor.expect(")")
    return syntax.ContextExpression(
        f"MATCH ({restore_list(columns, ',')}) AGAINST ({against}{mode})", "MATCH … AGAINST"
    )


def _parse_comparisons(cursor: Cursor) -> syntax.Node:
    node = _parse_predicate(cursor)
    while True:
        if cursor.word() == "IS":
            negated = cursor.word_after() == "NOT"
            if cursor.word_ahead(1 + negated) != "NULL":
                return node
            cursor.accept("IS NOT NULL") or cursor.accept("IS NULL")
            node = syntax.Is(node, "NULL", negated)
        elif cursor.word() in COMPARISONS:
            node = _parse_comparison(cursor, node, COMPARISONS[cursor.take()])
        else:
            return node


def _parse_comparison(cursor: Cursor, left: syntax.Node, operator: str) -> syntax.Node:
    if cursor.word() in ("ALL", "ANY", "SOME") and cursor.word_after() == "(":
        quantifier = "ALL" if cursor.take() == "ALL" else "ANY"
        rows, query = cursor.grammar.subquery(cursor)
        tree = syntax.Quantified(left, operator, quantifier, query)
        return syntax.ContextExpression(f"{restore_node(left)}{operator}{quantifier} {rows}", "a subquery", tree)
    if begins_assignment(cursor):
        return syntax.Binary(operator, left, parse_assignment(cursor, _parse_predicate))
    return syntax.Binary(operator, left, _parse_predicate(cursor))


def _parse_predicate(cursor: Cursor) -> syntax.Node:
    node = parse_bit_node(cursor)
    negated = cursor.word() == "NOT" and cursor.word_after() in PREDICATES
    if negated:
        cursor.take()
    word = cursor.word()
    if word in PREDICATES:
        cursor.take()
    if word == "IN":
        return syntax.In(node, _parse_in_list(cursor), negated)
    if word == "BETWEEN":
        low = parse_bit_node(cursor)
        cursor.expect("AND")
        return syntax.Between(node, low, _parse_predicate(cursor), negated)
    if word in PREDICATES:
        return _parse_pattern_match(cursor, node, "REGEXP" if word == "RLIKE" else word, negated)
    if cursor.accept("MEMBER OF"):
        cursor.expect("(")
        document = parse_simple_node(cursor)
        cursor.expect(")")
        return syntax.Call("JSON_MEMBEROF", (node, document))
    return node


def _parse_in_list(cursor: Cursor) -> tuple[syntax.Node, ...]:
    if begins_subquery(cursor):
        rows, query = cursor.grammar.subquery(cursor)
        return (syntax.ContextExpression(rows, "the rows of a subquery", syntax.Subquery(query)),)
    return cursor.parenthesised_list(parse_node)


def _parse_pattern_match(cursor: Cursor, node: syntax.Node, operator: str, negated: bool) -> syntax.Node:
    pattern = parse_simple_node(cursor)
    escape = "\\"
    if operator != "REGEXP" and cursor.accept("ESCAPE"):
        at = cursor.next_token()
        escape = cursor.string("a character") or escape
        if len(escape.encode()) > 1:
            message = f"{position(cursor.sql, at.start if at else 0)}: ESCAPE takes one character"
            raise SchemaError(message, number=1210, said="Incorrect arguments to ESCAPE")
    return syntax.PatternMatch(operator, node, pattern, escape, negated)


def parse_bit_node(cursor: Cursor, weakest: int = 1) -> syntax.Node:
    """Parse an operand of a comparison: arithmetic, shifts, and intervals that are added to a time."""
    node = _parse_leading_interval(cursor) if begins_interval(cursor) else parse_simple_node(cursor)
    while (operator := BITWISE.get(_next_operator(cursor), ("", 0)))[1] >= weakest:
        symbol, precedence = operator
        cursor.take()
        if len(symbol) == 2:
            cursor.take()
        if symbol in ("+", "-") and begins_interval(cursor):
            amount, unit = _parse_interval(cursor)
            node = syntax.Call("DATE_ADD" if symbol == "+" else "DATE_SUB", (node, amount, unit))
        else:
            node = syntax.Binary(symbol, node, parse_bit_node(cursor, precedence + 1))
    return node


def _next_operator(cursor: Cursor) -> str:
    """Return the next word, or the shift operator that the next two symbols form."""
    word = cursor.word()
    shifts = word in ("<", ">") and cursor.word_after() == word and cursor.touches_next()
    return word * 2 if shifts else word


def begins_interval(cursor: Cursor) -> bool:
    """Whether INTERVAL comes next as a keyword, not as a function."""
    return cursor.word() == "INTERVAL" and cursor.word_after() != "("


def _parse_leading_interval(cursor: Cursor) -> syntax.Node:
    """Parse `INTERVAL 1 DAY + x`."""
    amount, unit = _parse_interval(cursor)
    cursor.expect("+")
    return syntax.Call("DATE_ADD", (parse_bit_node(cursor, 5), amount, unit))


def _parse_interval(cursor: Cursor) -> tuple[syntax.Node, syntax.Node]:
    cursor.take()
    amount = parse_node(cursor)
    return amount, parse_unit(cursor)


LOCK_AND_ALGORITHM = {
    "ALGORITHM": ("DEFAULT", "COPY", "INPLACE", "INSTANT"),
    "LOCK": ("DEFAULT", "NONE", "SHARED", "EXCLUSIVE"),
}


# -- names, words and settings ------------------------------------------------------------------------------------


def parse_column_name(cursor: Cursor, what: str = "the name of a column") -> tuple[str, str]:
    """Parse `c`, `t.c` or `d.t.c`, and return the part before the last dot and the column's own name."""
    *qualifiers, name = cursor.dotted_name(what)
    return ".".join(qualifiers), name


def accept_charset(cursor: Cursor) -> bool:
    """Consume CHARSET, CHARACTER SET or CHAR SET if it comes next, and return whether it did."""
    return any(cursor.accept(phrase) for phrase in ("CHARSET", "CHARACTER SET", "CHAR SET"))


def parse_charset_name(cursor: Cursor) -> str:
    """Parse a character set, and return its name as TiDB stores it."""
    where = position(cursor.sql, cursor.next_token().start)
    return canonical_charset(cursor.name_or_string("a character set"), where)


def parse_collation_name(cursor: Cursor) -> str:
    """Parse a collation of a known character set, and return its name as TiDB stores it."""
    where = position(cursor.sql, cursor.next_token().start)
    name = cursor.name_or_string("a collation")
    charset_of(name, where)
    return canonical_collation(name)


def parse_restrict_or_cascade(cursor: Cursor) -> str:
    """Parse an optional RESTRICT or CASCADE. TiDB parses and ignores it."""
    return cursor.take() if cursor.word() in ("RESTRICT", "CASCADE") else ""


def parse_setting(cursor: Cursor, *words: str) -> str:
    """Parse `= word` or `word`, which must be one of `words`."""
    cursor.accept("=")
    return cursor.one_of(*words)


def parse_lock_or_algorithm(cursor: Cursor, name: str) -> str:
    """Parse the value of LOCK or ALGORITHM; raises SchemaError for a word that TiDB does not know."""
    cursor.accept("=")
    words = LOCK_AND_ALGORITHM[name]
    if cursor.is_name() and cursor.word() not in words:
        unknown = f"LOCK type '{cursor.literal()}'" if name == "LOCK" else f"ALGORITHM '{name.lower()}'"
        raise SchemaError(f"Unknown {unknown}", number=1801 if name == "LOCK" else 1800)
    return cursor.one_of(*words)


def parse_lock_and_algorithm(cursor: Cursor) -> tuple[str, str]:
    """Parse ALGORITHM and LOCK after a statement on an index, each at most once, in any order."""
    values = {"ALGORITHM": "", "LOCK": ""}
    while (word := cursor.word()) in values and not values[word]:
        cursor.take()
        values[word] = parse_lock_or_algorithm(cursor, word)
    return values["ALGORITHM"], values["LOCK"]


def parse_location_labels(cursor: Cursor) -> tuple[str, ...]:
    """Parse the optional `LOCATION LABELS 'zone', 'rack'` of a TiFlash replica."""
    return cursor.comma_list(Cursor.string) if cursor.accept("LOCATION LABELS") else ()


def not_simulated_error(what: str, accepted: str) -> SqlError:
    """Return the error for a statement that TiDB executes and the simulator does not."""
    return not_simulated(f"{what} is not simulated. Accepted: {accepted}")


# -- literals and expressions -------------------------------------------------------------------------------------


def begins_literal(cursor: Cursor) -> bool:
    return cursor.kind() in LITERALS or cursor.word() in ("NULL", "TRUE", "FALSE", ".")


def parse_literal(cursor: Cursor, what: str = "a string, a number, TRUE, FALSE or NULL") -> syntax.ColumnDefault:
    """Parse a literal without a sign; raises SchemaError."""
    if not begins_literal(cursor):
        cursor.unexpected(what)
    node = parse_atom(cursor)
    assert isinstance(node, syntax.Literal)
    kind = "number" if node.kind in ("integer", "decimal", "float") else node.kind
    text = node.text.upper() if kind in ("null", "boolean") else node.text
    return syntax.ColumnDefault(kind, text, restore_node(node))


def parse_signed_literal(cursor: Cursor) -> syntax.ColumnDefault:
    """Parse a literal, or a number with a sign; raises SchemaError."""
    if cursor.word() not in ("+", "-"):
        return parse_literal(cursor)
    sign, at = cursor.take(), cursor.next_token()
    number = parse_literal(cursor)
    if number.kind != "number":
        cursor.fail("a sign stands before a number only", at)
    return syntax.ColumnDefault("number", sign.strip("+") + number.text, sign + number.restored)


def parse_closed_parentheses(cursor: Cursor) -> syntax.Expression:
    """Parse `( expression )`; raises SchemaError at the parenthesis if it is never closed."""
    if cursor.word() == "(" and cursor.closing_ahead(0) < 0:
        cursor.fail("this '(' has no ')'")
    return parse_parenthesised(cursor)


def parse_bit_expression(cursor: Cursor) -> syntax.Expression:
    """Parse an expression without comparisons and logic, as in partition definitions; raises SchemaError."""
    return parse_expression_with(cursor, parse_bit_node)
