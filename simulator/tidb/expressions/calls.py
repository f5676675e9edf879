"""Calls of Python functions that raise FunctionProblem (`tidb.functions`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simulator.errors import SqlError
from simulator.tidb.expressions.expression import (
    ALWAYS,
    DIVIDED,
    TRUNCATED,
    WARNED,
    Context,
    Evaluate,
    Row,
    apply_in_context,
)
from simulator.tidb.functions.problems import FunctionProblem

KINDS = {"E": ALWAYS, "T": TRUNCATED, "D": DIVIDED, "W": WARNED}
"""Kinds of problems by the letters of `functions.problems`."""


def note(context: Context, problem: FunctionProblem) -> Any:
    """Note the problem of a function; return its value for a statement that goes on. Raises SqlError."""
    context.problem(KINDS[problem.kind], f"{problem.number} {problem.text}")
    return problem.value


def call(compute: Callable[..., Any], *parts: Evaluate) -> Evaluate:
    """Return the call of a function that may raise FunctionProblem; NULL if an argument is."""
    return call_in_context(lambda context, *values: compute(*values), *parts)


def call_in_context(compute: Callable[..., Any], *parts: Evaluate) -> Evaluate:
    """Return the call of a function of the context and values that may raise FunctionProblem; NULL if a value is."""

    def called(context: Context, *values: Any) -> Any:
        try:
            return compute(context, *values)
        except FunctionProblem as problem:
            return note(context, problem)

    return apply_in_context(called, *parts)


def call_with_nulls(compute: Callable[..., Any], *parts: Evaluate) -> Evaluate:
    """Return the call of a function that takes NULL as None, and may raise FunctionProblem."""

    def evaluate(row: Row, context: Context) -> Any:
        values = [part(row, context) for part in parts]
        try:
            return compute(*values)
        except FunctionProblem as problem:
            return note(context, problem)

    return evaluate


def value_for_errors(part: Evaluate, other: Any = None) -> Evaluate:
    """Return a value; another if the statement takes a problem of it for an error."""

    def evaluate(row: Row, context: Context) -> Any:
        try:
            return part(row, context)
        except SqlError:
            return other

    return evaluate
