"""Implicit conversions of text, JSON, doubles and decimals to numbers, with their problems.

Source: tidb pkg/types/convert.go (StrToFloat, StrToInt, ConvertJSONToInt, ConvertFloatToInt),
pkg/expression/builtin_cast.go.
"""

from __future__ import annotations

import re

from simulator.tidb.expressions.sql.graph import Sql, case, sql, text, when
from simulator.tidb.expressions.sql.problems import MAX_SHOWN, TRUNCATED, WARNED, problem_always, problem_where

NUMBER = r"^\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
MAX_DOUBLE = "1.7976931348623157e308"
"""The largest double."""

INTEGER_BOUNDS = {"int": (-(2**63), 2**63 - 1), "uint": (0, 2**64 - 1)}
INTEGER_TYPE_NAMES = {"int": "BIGINT", "uint": "BIGINT UNSIGNED"}
DUCKDB_INTEGER_TYPES = {"int": "BIGINT", "uint": "UBIGINT"}

INCORRECT_DOUBLE = "1292 Truncated incorrect DOUBLE value: '{}'"
INCORRECT_INTEGER = "1292 Truncated incorrect INTEGER value: '{}'"
INCORRECT_DECIMAL = "1292 Truncated incorrect DECIMAL value: '{}'"


def trim(expression: Sql) -> Sql:
    """Return a text without the blanks around it."""
    return sql(r"regexp_replace({}, '^\s+|\s+$', '', 'g')", expression)


def leading_number(value: str) -> str:
    """Return the number that a text begins with; `0` where it begins with none."""
    result = re.match(NUMBER, value)
    return result[1] if result else "0"


# -- doubles -----------------------------------------------------------------------------------------------------------


def text_to_real(expression: Sql, allowed: str = "''") -> Sql:
    """Return the number that a text begins with, limited to the largest double, or 0.

    Text without a number is a problem, except for the text `allowed`.
    """
    number = sql("try_cast(regexp_extract({}, {}, 1) AS DOUBLE)", expression, text(NUMBER))
    bounded = sql(f"greatest(least(coalesce({{}}, 0), {MAX_DOUBLE}), -{MAX_DOUBLE})", number)
    shown = trim(expression)
    odd = sql(
        f"NOT regexp_full_match({{}}, {{}}) AND {{}} IS DISTINCT FROM {allowed} OR isinf({{}})",
        shown,
        text(NUMBER),
        shown,
        number,
    )
    return problem_where(when(sql("{} IS NOT NULL", expression), bounded), odd, TRUNCATED, INCORRECT_DOUBLE, shown)


def constant_to_real(shown: str) -> Sql:
    """Return the number that the text of a literal begins with. Its problem is known already."""
    shown = shown.strip()
    leading = leading_number(shown)
    number = sql(f"'{max(min(float(leading), float(MAX_DOUBLE)), -float(MAX_DOUBLE))!r}'::DOUBLE")
    if shown in ("", leading) and abs(float(leading)) <= float(MAX_DOUBLE):
        return number
    return problem_always(number, TRUNCATED, INCORRECT_DOUBLE.format(shown[:MAX_SHOWN]))


def json_to_real(expression: Sql) -> Sql:
    """Return a JSON number or string as a double; true is 1, other values are 0."""
    return case(
        [
            (_is_json_string(expression), text_to_real(_json_string(expression), "NULL")),
            (_is_json_literal(expression), _json_literal(expression, "DOUBLE", "FLOAT")),
        ],
        sql("try_cast({} AS DOUBLE)", expression),
    )


def _is_json_string(document: Sql) -> Sql:
    return sql("left({}, 1) = '\"'", document)


def _json_string(document: Sql) -> Sql:
    return sql("json_extract_string({}, '$')", document)


def _is_json_literal(document: Sql) -> Sql:
    """Return whether a document is true, false, null, an array or an object."""
    return sql("left({}, 1) IN ('t', 'f', 'n', '[', chr(123))", document)


def _json_literal(document: Sql, type: str, type_name: str) -> Sql:
    odd = sql("left({}, 1) IN ('n', '[', chr(123))", document)
    return problem_where(
        sql(f"({{}} = 'true')::{type}", document),
        odd,
        TRUNCATED,
        f"1292 Truncated incorrect {type_name} value: '{{}}'",
        document,
    )


# -- whole numbers of 64 bits, `int` or `uint` -------------------------------------------------------------------------


def clamp(expression: Sql, kind: str) -> Sql:
    """Return a HUGEINT limited to the range of a kind."""
    low, high = INTEGER_BOUNDS[kind]
    near = sql(f"least(greatest({{}}, {low}::HUGEINT), {high}::HUGEINT)::{DUCKDB_INTEGER_TYPES[kind]}", expression)
    return when(sql("{} IS NOT NULL", expression), near)


def reinterpret_bits(expression: Sql, kind: str) -> Sql:
    """Return the 64 bits of a HUGEINT as a number of the kind."""
    if kind == "int":
        return sql(
            f"CASE WHEN {{}} >= {2**63}::HUGEINT THEN {{}} - {2**64}::HUGEINT ELSE {{}} END::BIGINT",
            expression,
            expression,
            expression,
        )
    return sql(
        f"CASE WHEN {{}} < 0 THEN {{}} + {2**64}::HUGEINT ELSE {{}} END::UBIGINT", expression, expression, expression
    )


def real_to_integer(number: Sql, kind: str) -> Sql:
    """Round half to even. A negative number keeps its bits as `uint`."""
    near = sql("round_even({}, 0)", number)
    low, high = INTEGER_BOUNDS[kind]
    inside = sql("try_cast({} AS HUGEINT)", near)
    if kind == "uint":
        negative = sql(f"greatest({{}}, {-(2**63)}::HUGEINT) + {2**64}::HUGEINT", inside)
        inside = sql("CASE WHEN {} < 0 THEN {} ELSE {} END", inside, negative, inside)
    least = low if kind == "int" else 2**63
    ends = sql(f"CASE WHEN {{}} < 0 THEN {least}::HUGEINT ELSE {high}::HUGEINT END", near)
    result = when(sql("{} IS NOT NULL", number), clamp(sql("coalesce({}, {})", inside, ends), kind))
    outside = sql(f"{{}} < {low}::DOUBLE OR {{}} > {high}::DOUBLE", near, near)
    return problem_where(result, outside, TRUNCATED, "1690 constant {} overflows bigint", sql("{}::VARCHAR", number))


def decimal_to_integer(rounded: Sql, kind: str, shown: Sql) -> Sql:
    """Return a HUGEINT limited to the range of a kind; `shown` is the number in the problem."""
    low, high = INTEGER_BOUNDS[kind]
    outside = sql(f"{{}} NOT BETWEEN {low}::HUGEINT AND {high}::HUGEINT", rounded)
    problem = f"1690 {INTEGER_TYPE_NAMES[kind]} value is out of range in '{{}}'"
    return problem_where(clamp(rounded, kind), outside, TRUNCATED, problem, shown)


def text_to_integer(expression: Sql, kind: str) -> Sql:
    """Return the integer that a text begins with, as 64 bits."""
    shown = trim(expression)
    digits = sql("regexp_extract({}, '^[+-]?[0-9]*')", shown)
    number = sql("try_cast({} AS HUGEINT)", digits)
    bound = sql("CASE WHEN left({}, 1) = '-' THEN -1e30 ELSE 1e30 END::HUGEINT", digits)
    reached = sql(
        "CASE WHEN {} IS NULL AND regexp_matches({}, '[0-9]') THEN {} ELSE coalesce({}, 0) END",
        number,
        digits,
        bound,
        number,
    )
    bounded = sql(f"least(greatest({{}}, {-(2**63)}::HUGEINT), {2**64 - 1}::HUGEINT)", reached)
    whole = when(sql("{} IS NOT NULL", shown), reinterpret_bits(bounded, kind))
    odd = sql("NOT regexp_full_match({}, '[+-]?[0-9]+')", shown)
    whole = problem_where(whole, odd, TRUNCATED, INCORRECT_INTEGER, shown)
    whole = problem_where(
        whole,
        sql("{} != {}", reached, bounded),
        TRUNCATED,
        "1690 BIGINT UNSIGNED value is out of range in '{}'",
        digits,
    )
    if kind == "int":
        return problem_where(
            whole,
            sql(f"{{}} > {2**63 - 1}::HUGEINT", bounded),
            WARNED,
            "1105 Cast to signed converted positive out-of-range integer to its negative complement",
        )
    return problem_where(
        whole,
        sql("{} < 0", bounded),
        WARNED,
        "1105 Cast to unsigned converted negative integer to its positive complement",
    )


def constant_to_integer(shown: str, kind: str) -> Sql:
    """Return the integer that the text of a literal begins with."""
    shown = shown.strip()
    if re.fullmatch(r"-?[0-9]{1,18}" if kind == "int" else "[0-9]{1,18}", shown):
        return sql(f"'{int(shown)}'::{DUCKDB_INTEGER_TYPES[kind]}")
    return text_to_integer(text(shown), kind)


def json_to_integer(expression: Sql, kind: str) -> Sql:
    number = sql(
        f"try_cast({{}} AS {DUCKDB_INTEGER_TYPES[kind]})",
        when(sql("regexp_full_match({}, '-?[0-9]+')", expression), expression),
    )
    return case(
        [
            (_is_json_string(expression), real_to_integer(text_to_real(_json_string(expression), "NULL"), kind)),
            (_is_json_literal(expression), _json_literal(expression, DUCKDB_INTEGER_TYPES[kind], "INTEGER")),
            (sql("{} IS NOT NULL", number), number),
        ],
        real_to_integer(sql("try_cast({} AS DOUBLE)", expression), kind),
    )


# -- decimals ----------------------------------------------------------------------------------------------------------


def text_to_decimal(expression: Sql) -> Sql:
    """Return the text of the number that a text begins with, else 0."""
    shown = trim(expression)
    number = sql("regexp_extract({}, {}, 1)", expression, text(NUMBER))
    odd = sql("NOT regexp_full_match({}, {})", shown, text(NUMBER))
    plain = sql("CASE WHEN {} = '' THEN '0' ELSE {} END", number, number)
    return problem_where(plain, odd, TRUNCATED, INCORRECT_DECIMAL, shown)
