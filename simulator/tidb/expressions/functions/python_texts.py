"""MySQL's functions of texts, bits, addresses and patterns that Python computes (`tidb.functions`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from simulator.errors import SqlError
from simulator.tidb.expressions.operators.texts import as_blob, as_bytes, is_exact, legacy_charset
from simulator.tidb.expressions.sql.graph import TRUE, Sql, sql, text
from simulator.tidb.expressions.sql.problems import TRUNCATED, problem_where
from simulator.tidb.expressions.sql.python_functions import python_call
from simulator.tidb.expressions.values.collations import derive_collation, value_collation
from simulator.tidb.expressions.values.value import (
    NUMERIC_KINDS,
    UNLIMITED,
    Function,
    Value,
    as_integer,
    as_number,
    as_real,
    as_text,
    bits_text,
    boolean_from_text,
    integer_from_text,
    string,
)
from simulator.tidb.functions.problems import MAX_ALLOWED_PACKET, packet_overflow
from simulator.tidb.functions.regexps import BINARY_COLLATION
from simulator.tidb.model.charsets import CHARSETS

NULL_TEXT = sql("NULL::VARCHAR")


def bit_to_bytes(value: Value) -> Value:
    """Return a BIT as bytes, as functions of text take it, or any other value unchanged."""
    if value.kind != "uint" or value.column_type is None or value.column_type.name != "bit":
        return value
    shown = python_call(
        "bit_bytes", sql("{}::VARCHAR", value.sql), text(str((max(value.column_type.length, 1) + 7) // 8))
    )
    return Value(shown, "string", "binary", 2, number=value.sql, is_binary=True)


def unify_texts(values: Sequence[Value]) -> list[Value]:
    """Return all values as bytes or all as text, as the value of the lowest coercibility."""
    if not any(value.is_binary for value in values):
        return list(values)
    best = min(value.coercibility for value in strings(values))
    if any(value.is_binary for value in strings(values) if value.coercibility == best):
        return [Value(as_bytes(value), "string", "binary", 2, is_binary=True) for value in values]
    return [string(python_call("bytes_as_text", as_text(value))) if value.is_binary else value for value in values]


def strings(values: Sequence[Value]) -> tuple[Value, ...]:
    return tuple(value for value in values if value.kind == "string")


def byte_string(expression: Sql) -> Value:
    return Value(expression, "string", "binary", is_binary=True)


def _real_text(value: Value) -> Sql:
    return sql("{}::VARCHAR", as_real(value))


def _python_function(name: str, letters: str, gives: Callable[[Sql], Value]) -> Callable[..., Value]:
    """Return a function that Python computes.

    `letters` has a letter for each argument: `t` text, `b` bytes, `n` an integer, `r` a double.
    """
    read: dict[str, Callable[[Value], Sql]] = {"t": as_text, "b": as_bytes, "n": bits_text, "r": _real_text}

    def called(*values: Value) -> Value:
        arguments = [read[letter](value) for letter, value in zip(letters, values, strict=False)]
        return gives(python_call(name, *arguments))

    return called


def change_case(name: str) -> Callable[[Value], Value]:
    """Return UPPER or LOWER; binary strings stay unchanged."""

    def called(value: Value) -> Value:
        if value.is_binary:
            return value
        result = as_text(value)
        other = python_call(name, result)
        folded = sql(f"CASE WHEN strlen({{}}) = length({{}}) THEN {name}({{}}) ELSE {{}} END", *[result] * 3, other)
        return string(folded, value)

    return called


def _trim(value: Value, part: Value | None = None, side: Value | None = None) -> Value:
    if part is None:
        return string(sql("trim({}, ' ')", as_text(value)), value)
    first, second = unify_texts((value, part))
    where = text(side.constant or "" if side else "BOTH")
    return string(python_call("trim", as_text(first), as_text(second), where), *strings((first,)))


def _insert(value: Value, place: Value, length: Value, new: Value) -> Value:
    first, second = unify_texts((value, new))
    result = python_call("insert", as_text(first), bits_text(place), bits_text(length), as_text(second))
    return string(result, *strings((first, second)))


def _make_set(bits: Value, *members: Value) -> Value:
    arguments = unify_texts(members)
    return string(python_call("make_set", bits_text(bits), *map(as_text, arguments)), *strings(arguments))


def _export_set(bits: Value, on: Value, off: Value, glue: Value | None = None, count: Value | None = None) -> Value:
    arguments = unify_texts((on, off, *((glue,) if glue else ())))
    between = as_text(arguments[2]) if glue else text(",")
    size = text("64") if count is None else bits_text(count)
    return string(
        python_call("export_set", bits_text(bits), as_text(arguments[0]), as_text(arguments[1]), between, size),
        *strings(arguments),
    )


def _ord(value: Value) -> Value:
    if legacy_charset(value):
        first = as_blob(replace(value, sql=sql("left({}, 1)", value.sql)))
        return integer_from_text(sql("CASE WHEN {} IS NOT NULL THEN ('0x0' || hex({}))::BIGINT END", value.sql, first))
    return integer_from_text(python_call("ordinal_byte" if value.is_binary else "ordinal", as_text(value)))


def _octal(value: Value) -> Value:
    if value.kind in ("bool", "int", "uint") or value.number is not None and value.is_binary:
        return string(python_call("octal", bits_text(value)))
    return string(python_call("octal_text", as_text(value)))


def _format(value: Value, places: Value, locale: Value | None = None) -> Value:
    number = as_number(value)
    return string(
        python_call("format_number", as_text(value if value.kind in NUMERIC_KINDS else number), bits_text(places))
    )


def _char(*values: Value) -> Value:
    """Return CHAR: bytes, or text of the charset that the last argument names."""
    *codes, charset = values
    result = python_call("char", *map(bits_text, codes))
    if charset.constant is None or charset.constant == "binary":
        return byte_string(result)
    return _in_charset(python_call("as_charset", result, text(charset.constant)), charset.constant)


def _in_charset(expression: Sql, charset: str) -> Value:
    return Value(expression, "string", CHARSETS[charset][0], 2, is_binary=charset == "binary")


def _convert_using(value: Value, charset: Value) -> Value:
    """Return CONVERT(value USING charset)."""
    name = charset.constant or ""
    if name == "binary":
        return byte_string(as_bytes(value))
    return _in_charset(
        python_call("as_charset" if value.is_binary else "into_charset", as_text(value), text(name)), name
    )


def _interval(value: Value, *others: Value) -> Value:
    """Return INTERVAL: the number of others that are not greater, -1 for NULL."""
    whole = all(each.kind in ("bool", "int", "uint", "null") for each in (value, *others))
    arguments = [sql("{}::VARCHAR", as_number(each).sql if whole else as_real(each)) for each in (value, *others)]
    fixed = all(each.constant is not None for each in others)
    return integer_from_text(python_call("interval", text("s" if fixed else ""), *arguments))


# -- metadata of a value -------------------------------------------------------------------------------------------


def _collation(value: Value) -> str:
    return "binary" if value.kind == "json" else value_collation(value).collation


def _charset(value: Value) -> Value:
    return string(text(_collation(value).partition("_")[0]))


def _coercibility(value: Value) -> Value:
    return Value(sql(f"{value_collation(value).coercibility}::BIGINT"), "int")


def _weights(value: Value, kind: Value | None = None, size: Value | None = None) -> Value:
    """Return WEIGHT_STRING: the sort key of a text, NULL for numbers."""
    if value.kind in NUMERIC_KINDS and not value.is_year or value.kind == "null":
        return byte_string(NULL_TEXT)
    result = as_text(value)
    if kind is not None and size is not None:
        fill = "' '" if kind.constant == "CHAR" else "chr(0)"
        result = as_bytes(value) if kind.constant == "BINARY" else result
        width = int(size.constant or 0)
        if width > MAX_ALLOWED_PACKET:
            return byte_string(problem_where(NULL_TEXT, TRUE, TRUNCATED, f"1301 {packet_overflow('weight_string')}"))
        result = sql(f"rpad({{}}, {width}, {fill})", result)
        if kind.constant == "BINARY":
            return byte_string(result)
    name = _collation(value) if value.kind == "string" else "utf8mb4_bin"
    if name.endswith("_unicode_ci") or name.startswith(("gbk", "gb18030")):
        raise SqlError(1235, "42000", f"WEIGHT_STRING by {name} is not computed; that by other collations is")
    return byte_string(python_call("weights", result, text(name)) if not value.is_binary else result)


# -- patterns ----------------------------------------------------------------------------------------------------------


def _regexp_function(
    name: str, defaults: Sequence[str], gives: Callable[[Sql], Value], texts: int = 2
) -> Callable[..., Value]:
    """Return a function of a text and a pattern; the first `texts` arguments are texts, others numbers and flags."""

    def called(*values: Value) -> Value:
        subject, pattern = values[:2]
        shown = [value.kind for value in values[:texts]]
        binary = (
            subject.is_binary
            or pattern.is_binary
            or not any(kind in ("string", "json", "date", "datetime", "time") for kind in shown)
        )
        if binary and name != "regexp_like":
            raise SqlError(1139, "42000", f"Got error '{BINARY_COLLATION}' from regexp")
        arguments = [as_text(value) for value in values[:texts]]
        rest = list(values[texts:])
        for place, default in enumerate(defaults):
            if place >= len(rest):
                arguments.append(text(default))
            else:
                arguments.append(bits_text(rest[place]) if default else as_text(rest[place]))
        folds = not binary and not is_exact(derive_collation(name, (subject, pattern)).collation)
        return gives(python_call(name, text("i" if folds else ""), *arguments))

    return called


PYTHON_TEXT_FUNCTIONS: dict[str, Function] = {
    "UPPER": Function(1, 1, change_case("upper")),
    "UCASE": Function(1, 1, change_case("upper")),
    "LOWER": Function(1, 1, change_case("lower")),
    "LCASE": Function(1, 1, change_case("lower")),
    "TRIM": Function(1, 3, _trim, (2,)),
    "INSERT_FUNC": Function(4, 4, _insert),
    "MAKE_SET": Function(2, UNLIMITED, _make_set),
    "EXPORT_SET": Function(3, 5, _export_set),
    "ORD": Function(1, 1, _ord),
    "OCT": Function(1, 1, _octal),
    "CONV": Function(3, 3, _python_function("conv", "tnn", string)),
    "FORMAT": Function(2, 3, _format),
    "CHAR_FUNC": Function(1, UNLIMITED, _char),
    "CONVERT": Function(2, 2, _convert_using, (1,)),
    "INTERVAL": Function(2, UNLIMITED, _interval),
    "FORMAT_BYTES": Function(1, 1, _python_function("format_bytes", "r", string)),
    "FORMAT_NANO_TIME": Function(1, 1, _python_function("format_nano_time", "r", string)),
    "PASSWORD_FUNC": Function(1, 1, _python_function("password", "t", string)),
    "SM3": Function(1, 1, _python_function("sm3", "b", string)),
    "UNCOMPRESS": Function(1, 1, _python_function("uncompress", "b", byte_string)),
    "UNCOMPRESSED_LENGTH": Function(1, 1, _python_function("uncompressed_length", "b", integer_from_text)),
    "TO_BASE64": Function(1, 1, _python_function("to_base64", "b", string)),
    "FROM_BASE64": Function(1, 1, _python_function("from_base64", "t", byte_string)),
    "INET_ATON": Function(1, 1, _python_function("inet_aton", "t", integer_from_text)),
    "INET_NTOA": Function(1, 1, _python_function("inet_ntoa", "n", string)),
    "INET6_ATON": Function(1, 1, _python_function("inet6_aton", "t", byte_string)),
    "INET6_NTOA": Function(1, 1, _python_function("inet6_ntoa", "b", string)),
    "IS_IPV4": Function(1, 1, _python_function("is_ipv4", "t", boolean_from_text)),
    "IS_IPV6": Function(1, 1, _python_function("is_ipv6", "t", boolean_from_text)),
    "IS_IPV4_COMPAT": Function(1, 1, _python_function("is_ipv4_compat", "b", boolean_from_text)),
    "IS_IPV4_MAPPED": Function(1, 1, _python_function("is_ipv4_mapped", "b", boolean_from_text)),
    "IS_UUID": Function(1, 1, _python_function("is_uuid", "t", boolean_from_text)),
    "UUID_TO_BIN": Function(1, 2, _python_function("uuid_to_bin", "tn", byte_string)),
    "BIN_TO_UUID": Function(1, 2, _python_function("bin_to_uuid", "bn", string)),
    "ANY_VALUE": Function(1, 1, lambda value: value),
    "NAME_CONST": Function(2, 2, lambda name, value: value),
    "BENCHMARK": Function(
        2, 2, lambda count, value: Value(sql("CASE WHEN {} >= 0 THEN 0::BIGINT END", as_integer(count)), "int")
    ),
    "COLLATION": Function(1, 1, lambda value: string(text(_collation(value)))),
    "CHARSET": Function(1, 1, _charset),
    "COERCIBILITY": Function(1, 1, _coercibility),
    "WEIGHT_STRING": Function(1, 3, _weights),
    "REGEXP_LIKE": Function(2, 3, _regexp_function("regexp_like", ("",), boolean_from_text)),
    "REGEXP_SUBSTR": Function(2, 5, _regexp_function("regexp_substr", ("1", "1", ""), string)),
    "REGEXP_INSTR": Function(2, 6, _regexp_function("regexp_instr", ("1", "1", "0", ""), integer_from_text)),
    "REGEXP_REPLACE": Function(3, 6, _regexp_function("regexp_replace", ("1", "0", ""), string, texts=3)),
}
"""By TiDB's names."""
