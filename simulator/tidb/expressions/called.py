"""Functions that Python computes, as DuckDB SQL: `called(['name', argument, …])`."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from simulator.tidb.expressions.sql import Sql, sql, text
from simulator.tidb.functions import FUNCTIONS
from simulator.tidb.functions.problems import Problem

GIVES = pa.struct([("value", pa.string()), ("problem", pa.string())])


def asked(name: str, *arguments: Sql) -> Sql:
    """A function of texts, as a text."""
    assert name in FUNCTIONS, name
    pieces = ("called([", *[", "] * len(arguments), "]::VARCHAR[])")
    found = Sql(pieces, (text(name), *arguments))
    return sql("struct_extract({}, 'value')", found)


def computed(calls: pa.Array) -> pa.Array:
    """The values of calls, each different one made once, with what is wrong with it (`expressions.problems`)."""
    known: dict[tuple[str, ...], dict[str, str | None]] = {}
    found = []
    for call in map(tuple, calls.to_pylist()):
        if call not in known:
            known[call] = _result(FUNCTIONS[call[0]], call[1:])
        found.append(known[call])
    return pa.array(found, GIVES)


def _result(function: Callable[..., str | None], arguments: tuple[str, ...]) -> dict[str, str | None]:
    try:
        return {"value": function(*arguments), "problem": None}
    except Problem as problem:
        return {"value": problem.value, "problem": f"{problem.kind}{problem.number} {problem.text}"}
