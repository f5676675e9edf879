"""Errors and warnings of expressions: text that is no number, a division by 0, a result out of range.

A problem belongs to an `Sql` node: `problem_where(value, condition, TRUNCATED, "1292 …")` is the same value, with a
problem in the rows where the condition holds. Expressions built from that node inherit the problem, so functions need
not care for problems of their arguments: `as_number`, `as_real`, `as_integer` and the other conversions attach them.
For CASE, IF, COALESCE, AND and OR, only the parts that a row needs count; build these with `when`, `case` or `join`,
not with `sql("CASE …")`. An expression without problems costs nothing extra.

`collect_problems` returns the problems of an expression: for each kind a text such as `1292 Truncated incorrect DOUBLE
value: 'x'`, null in rows without one. The kind decides between error and warning (tidb pkg/executor/executor.go,
ResetContextOfStmt).
"""

from __future__ import annotations

from collections.abc import Iterable

from simulator.tidb.expressions.sql.graph import NULL, Sql, sql, text, topological_order, when

TRUNCATED, DIVIDED, ALWAYS, WARNED = KINDS = "truncated", "divided", "always", "warned"
"""Truncated: an error where strict mode writes rows, else a warning. Divided: a division by 0, which is the same if
ERROR_FOR_DIVISION_BY_ZERO is set. Always: an error in every statement. Warned: always a warning."""

MAX_SHOWN = 128
"""Characters of a value that an error shows (`%-.128s`)."""

Problems = dict[str, Sql]
"""Texts of problems by kind."""


def problem_where(expression: Sql, condition: Sql, kind: str, problem: str, *shown: Sql) -> Sql:
    """Return the value with a problem in rows where the condition is true.

    Each `{}` of `problem` stands for a text of `shown`: `1292 Truncated incorrect DOUBLE value: '{}'`.
    """
    pieces = problem.split("{}")
    message = text(pieces[0])
    for part, piece in zip(shown, pieces[1:], strict=True):
        message = sql(f"{{}} || left({{}}, {MAX_SHOWN}) || {{}}", message, part, text(piece))
    return with_problems(expression, {kind: when(condition, message)})


def problem_always(expression: Sql, kind: str, problem: str) -> Sql:
    """Return the value with a problem in every row."""
    return with_problems(expression, {kind: text(problem)})


def with_problems(expression: Sql, problems: Problems) -> Sql:
    """Return the value with problems, whose texts are null in rows without one."""
    return Sql(("", ""), (expression,), tuple(problems.items())) if problems else expression


def strip_problems(expression: Sql) -> Sql:
    """Return the value that was passed to `with_problems`."""
    return expression.parts[0] if expression.problems else expression


def ignore_problems(expression: Sql) -> Sql:
    """Return the value without its problems, for functions that take NULL in such rows."""
    return Sql(("", ""), (expression,), computes="quietly")


def collect_problems(root: Sql) -> Problems:
    """Return the first problem of each kind in each row, null where there is none; empty if none is possible."""
    problems_by_node: dict[Sql, Problems] = {}
    for node in topological_order([root]):
        if any(problems_by_node[part] for part in node.parts) or node.problems:
            result = {
                kind: _COMPUTED[node.computes](node, [problems_by_node[part].get(kind) for part in node.parts], kind)
                for kind in KINDS
            }
            problems_by_node[node] = {kind: problem for kind, problem in result.items() if problem is not None}
        else:
            problems_by_node[node] = {}
    return problems_by_node[root]


Parts = list[Sql | None]
"""The problems of the parts of a node."""


def _first(problems: Iterable[Sql | None]) -> Sql | None:
    distinct = list(dict.fromkeys(problem for problem in problems if problem is not None))
    if len(distinct) < 2:
        return distinct[0] if distinct else None
    return Sql(("coalesce(", *[", "] * (len(distinct) - 1), ")"), tuple(distinct))


def _of_all(node: Sql, parts: Parts, kind: str) -> Sql | None:
    return _first([*parts, *(problem for own, problem in node.problems if own == kind)])


def _of_chosen(node: Sql, parts: Parts, kind: str) -> Sql | None:
    result = parts[-1]
    for place in range(len(parts) - 3, -1, -2):
        condition, chosen = parts[place], parts[place + 1]
        if chosen is not None or result is not None:
            result = when(node.parts[place], chosen or NULL, result or NULL)
        result = _first([condition, result])
    return result


def _of_deciding(node: Sql, parts: Parts, kind: str) -> Sql | None:
    """Return the problems of AND and OR, which evaluate a part only while none before it decides."""
    decided = "false" if node.computes == "AND" else "true"
    result: Sql | None = None
    for part, own in zip(reversed(node.parts), reversed(parts), strict=True):
        rest = None if result is None else when(sql(f"{{}} IS DISTINCT FROM {decided}", part), result)
        result = _first([own, rest])
    return result


def _of_none(node: Sql, parts: Parts, kind: str) -> Sql | None:
    return None


_COMPUTED = {"all": _of_all, "case": _of_chosen, "AND": _of_deciding, "OR": _of_deciding, "quietly": _of_none}
