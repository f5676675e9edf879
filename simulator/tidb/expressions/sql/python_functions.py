"""Calls of functions that Python computes (`tidb.functions`), in DuckDB SQL."""

from __future__ import annotations

import pyarrow as pa

from simulator.tidb.expressions.sql.graph import Sql, sql, text, when
from simulator.tidb.expressions.sql.problems import ALWAYS, DIVIDED, TRUNCATED, WARNED, with_problems
from simulator.tidb.functions import PYTHON_FUNCTIONS, call_function
from simulator.tidb.functions.problems import MAX_ALLOWED_PACKET, FunctionProblem, packet_overflow

KINDS_BY_LETTER = {"E": ALWAYS, "T": TRUNCATED, "D": DIVIDED, "W": WARNED}
"""Kinds of problems by the letters of `functions.problems`."""

RESULT_TYPE = pa.struct([("value", pa.string()), ("problem", pa.string())])


def python_call(name: str, *arguments: Sql) -> Sql:
    """Return the call of a function of texts, which gives a text."""
    assert name in PYTHON_FUNCTIONS, name
    pieces = ("python_call([", *[", "] * len(arguments), "]::VARCHAR[])")
    result = Sql(pieces, (text(name), *arguments))
    problem = sql("struct_extract({}, 'problem')", result)
    problems = {
        kind: when(sql(f"left({{}}, 1) = '{letter}'", problem), sql("substring({}, 2)", problem))
        for letter, kind in KINDS_BY_LETTER.items()
    }
    return with_problems(sql("struct_extract({}, 'value')", result), problems)


def run_calls(calls: pa.Array) -> pa.Array:
    """Return values and problems of calls; each distinct call runs once."""
    results: dict[tuple[str, ...], dict[str, str | None]] = {}
    result = []
    for call in map(tuple, calls.to_pylist()):
        if call not in results:
            results[call] = _result(*call)
        result.append(results[call])
    return pa.array(result, RESULT_TYPE)


def _result(name: str, *arguments: str | None) -> dict[str, str | None]:
    try:
        value = call_function(name, arguments)
        if value is not None and len(value) > MAX_ALLOWED_PACKET:
            raise FunctionProblem(1301, packet_overflow(name), "T")
        return {"value": value, "problem": None}
    except FunctionProblem as problem:
        return {"value": problem.value, "problem": f"{problem.kind}{problem.number} {problem.text}"}
