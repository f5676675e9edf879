"""MySQL's functions of text that DuckDB computes. Results have the collation of the arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from simulator.tidb.expressions.functions.choices import is_not_null
from simulator.tidb.expressions.functions.python_texts import byte_string, change_case, strings, unify_texts
from simulator.tidb.expressions.operators.arithmetic import as_bits
from simulator.tidb.expressions.operators.comparisons import comparison
from simulator.tidb.expressions.operators.texts import (
    as_blob,
    as_bytes,
    blob_as_characters,
    collation_key,
    is_exact,
    legacy_charset,
    text_operands,
    unify_bytes,
)
from simulator.tidb.expressions.sql.graph import NULL, Sql, case, join, sql, text, when
from simulator.tidb.expressions.sql.problems import TRUNCATED, problem_where
from simulator.tidb.expressions.values.collations import derive_collation
from simulator.tidb.expressions.values.value import (
    NUMERIC_KINDS,
    UNLIMITED,
    Function,
    Value,
    as_int32,
    as_real,
    as_text,
    integer,
    null,
    real,
    string,
)
from simulator.tidb.functions.problems import MAX_ALLOWED_PACKET, packet_overflow

lower = change_case("lower")

MAX_LENGTH = MAX_ALLOWED_PACKET
FEW = 10
"""Columns and literals whose texts are together shorter than that: a row has 6 MiB at most."""

MAX_BYTES_OF_CHARACTER = 4
"""LPAD and RPAD count so many for each character (tidb pkg/expression/builtin_string.go, builtinLpadUTF8Sig)."""


def _limited(name: str, size: Sql, result: Callable[..., Sql], *parts: Sql) -> Sql:
    """Return a text of that size, made of parts; NULL with 1301 if it is larger than max_allowed_packet.

    The parts are NULL then, because DuckDB computes branches of constants before it chooses one.
    """
    fits = sql(f"{{}} <= {MAX_LENGTH}", size)
    made = when(fits, result(*(when(fits, part) for part in parts)))
    return problem_where(made, sql(f"{{}} > {MAX_LENGTH}", size), TRUNCATED, f"1301 {packet_overflow(name)}")


def _size(*parts: Sql) -> Sql:
    return join("+", [sql("coalesce(strlen({}), 0)::BIGINT", part) for part in parts])


def _is_short(values: Sequence[Value]) -> bool:
    return len(values) <= FEW and all(value.is_column or value.constant is not None for value in values)


def _concat(*values: Value) -> Value:
    texts = unify_texts(values)
    parts = [as_text(value) for value in texts]
    if _is_short(values):
        return string(join("||", parts), *strings(texts))
    return string(_limited("concat", _size(*parts), lambda *parts: join("||", [*parts]), *parts), *strings(texts))


def _concat_ws(separator: Value, *values: Value) -> Value:
    texts = unify_texts((separator, *values))
    glue, *parts = (as_text(value) for value in texts)

    def joined(glue: Sql, *parts: Sql) -> Sql:
        glued = join("||", [sql("coalesce({} || {}, '')", glue, part) for part in parts])
        return sql("substring({}, length({}) + 1)", glued, glue)

    if _is_short((separator, *values)):
        return string(joined(glue, *parts), *strings(texts))
    return string(_limited("concat_ws", _size(*parts, *[glue] * len(parts)), joined, glue, *parts), *strings(texts))


def _replace(value: Value, old: Value, new: Value) -> Value:
    """Return REPLACE. The exact size of the result is computed only if it may be large."""
    result, part, other = (as_text(each) for each in (value, old, new))
    least = sql("greatest(strlen({}), 1)", part)
    most = sql("strlen({})::BIGINT * (1 + strlen({}) // {})", result, other, least)
    found = sql("(strlen({}) - strlen(replace({}, {}, ''))) // {}", result, result, part, least)
    exact = sql("strlen({}) + {}::BIGINT * (strlen({}) - strlen({}))", result, found, other, part)
    size = when(sql(f"{{}} <= {MAX_LENGTH}", most), most, exact)
    return string(_limited("replace", size, partial(sql, "replace({}, {}, {})"), result, part, other), value)


def _text_function(template: str) -> Callable[..., Value]:
    """Return a function of texts whose result has the collation of the first argument."""

    def called(first: Value, *others: Value) -> Value:
        return string(sql(template, as_text(first), *map(as_text, others)), first)

    return called


def _substring(value: Value, start: Value, length: Value | None = None) -> Value:
    result, first = as_text(value), as_int32(start)
    count = as_int32(length) if length else sql(f"{2**31 - 1}")
    size = sql("length({})", result)
    begin = sql("CASE WHEN {} < 0 THEN {} + {} + 1 ELSE {} END", first, size, first, first)
    cut = sql("substring({}, {}, {})", result, begin, sql("greatest({}, 0)", count))
    nothing = sql("{} = 0 OR {} <= 0 OR -{} > {}", first, count, first, size)
    is_known = sql("{} IS NOT NULL AND {} IS NOT NULL AND {} IS NOT NULL", result, first, count)
    return string(case([(nothing, when(is_known, text(""))), (is_known, cut)]), value)


def _side(function: str) -> Callable[[Value, Value], Value]:
    return lambda value, length: string(
        sql(f"{function}({{}}, greatest({{}}, 0))", as_text(value), as_int32(length)), value
    )


def _substring_index(value: Value, separator: Value, count: Value) -> Value:
    """Return SUBSTRING_INDEX: the text before `count` separators, counted from the end if negative."""
    result, glue, number = as_text(value), as_text(separator), as_int32(count)
    parts = sql("string_split({}, {})", result, glue)
    first = sql("list_slice({}, 1, {})", parts, number)
    last = sql("list_slice({}, greatest(len({}) + {} + 1, 1), len({}))", parts, parts, number, parts)
    slice = sql("CASE WHEN {} > 0 THEN {} ELSE {} END", number, first, last)
    is_known = sql("{} IS NOT NULL AND {} IS NOT NULL AND {} IS NOT NULL", result, glue, number)
    nothing = sql("{} = 0 OR {} = ''", number, glue)
    glued = sql("array_to_string(list_transform({}, lambda p: {} || p), '')", slice, glue)
    cut = when(nothing, text(""), sql("substring({}, length({}) + 1)", glued, glue))
    return string(when(is_known, cut), value)


def _reverse(value: Value) -> Value:
    characters = sql("list_reverse(regexp_extract_all({}, '(?s).'))", as_text(value))
    return string(when(is_not_null(value), sql("array_to_string({}, '')", characters)), value)


def _repeat(value: Value, count: Value, name: str = "repeat") -> Value:
    result, number = as_text(value), as_int32(count)
    size = sql("strlen({})::BIGINT * {}", result, number)
    return string(_limited(name, size, partial(sql, "repeat({}, greatest({}, 0))"), result, number), value)


def _pad(function: str) -> Callable[[Value, Value, Value], Value]:
    """Return LPAD or RPAD; NULL for a negative length or an empty fill."""

    def padded(value: Value, length: Value, fill: Value) -> Value:
        result, wanted, more = as_text(value), as_int32(length), as_text(fill)
        bytes = wanted if value.is_binary else sql(f"{{}}::BIGINT * {MAX_BYTES_OF_CHARACTER}", wanted)
        return string(_limited(function, bytes, filled, result, wanted, more), value)

    def filled(result: Sql, size: Sql, more: Sql) -> Sql:
        cut = sql("left({}, {})", result, size)
        longer = sql(f"{function}({{}}, {{}}::INTEGER, nullif({{}}, ''))", result, size, more)
        valid = sql("{} >= 0 AND {} IS NOT NULL", size, more)
        enough = sql("{} AND {} <= length({})", valid, size, result)
        return case([(enough, cut), (valid, longer)])

    return padded


def _length(value: Value) -> Value:
    """Return LENGTH, the number of bytes."""
    if value.is_binary or legacy_charset(value):
        return integer(sql("length({})", as_bytes(value)))
    return integer(sql("strlen({})", as_text(value)))


def _locate(part: Value, value: Value, start: Value | None = None) -> Value:
    """Return LOCATE: the position of a text in another, in lower case for most collations (tidb
    pkg/expression/builtin_string.go, IsCICollation)."""
    name = derive_collation("locate", (part, value)).collation
    first, second = unify_bytes(part, value, name)
    if not is_exact(name):
        first, second = (lower(Value(result, "string")).sql for result in (first, second))
    if start is None:
        return integer(sql("instr({}, {})", second, first))
    begin = as_int32(start)
    rest = sql("substring({}, {})", second, begin)
    result = sql("instr({}, {})", rest, first)
    within = sql("{} >= 1 AND {} <= length({}) + 1", begin, begin, second)
    return integer(
        when(
            within,
            sql("CASE WHEN {} > 0 THEN {} + {} - 1 ELSE 0 END", result, result, begin),
            sql("{} * 0 + length({}) * 0 + length({}) * 0", begin, first, second),
        )
    )


def _field(value: Value, *others: Value) -> Value:
    """Return FIELD, which compares all as texts, integers or doubles (tidb pkg/expression/builtin_string.go)."""
    kinds = {each.kind for each in (value, *others)}
    if not kinds <= {"string", "null"} and not kinds <= {"bool", "int", "uint"}:
        value, others = real(as_real(value)), tuple(real(as_real(other)) for other in others)
    return integer(
        case([(comparison("=", value, other), sql(str(place))) for place, other in enumerate(others, 1)], sql("0"))
    )


def _find_in_set(value: Value, members: Value) -> Value:
    """Return FIND_IN_SET; the empty text has no members (tidb: pkg/expression/builtin_string.go)."""
    name = derive_collation("find_in_set", (value, members)).collation
    first, second = unify_bytes(value, members, name)
    listed = sql("list_transform(string_split({}, ','), lambda m: {})", second, collation_key(Sql(("m",)), name))
    result = sql("coalesce(list_position({}, {}), 0)", listed, collation_key(first, name))
    is_known = sql("{} IS NOT NULL AND {} IS NOT NULL", first, second)
    return integer(when(is_known, when(sql("{} != ''", second), result, sql("0"))))


def _strcmp(left: Value, right: Value) -> Value:
    if "null" in (left.kind, right.kind):
        return null()
    first, second = text_operands(left, right, "strcmp")
    orders = (("<", -1), (">", 1), ("=", 0))
    return integer(case([(sql(f"{{}} {operator} {{}}", first, second), sql(str(sign))) for operator, sign in orders]))


def _ascii(value: Value) -> Value:
    code = "('0x' || coalesce(nullif(left(hex({}), 2), ''), '0'))::INTEGER + 0 * length({})"
    return integer(sql(code, as_blob(value), as_text(value)))


def _hex(value: Value) -> Value:
    if value.kind in NUMERIC_KINDS:
        return string(sql("hex({})", as_bits(value)))
    result = as_blob(value)
    if _is_short((value,)):
        return string(sql("hex({})", result))
    return string(_limited("hex", sql("octet_length({}) * 2", result), partial(sql, "hex({})"), result))


def _unhex(value: Value) -> Value:
    digits = as_text(value)
    even = sql("CASE WHEN length({}) % 2 = 1 THEN '0' || {} ELSE {} END", digits, digits, digits)
    return byte_string(
        blob_as_characters(when(sql("regexp_matches({}, '^[0-9a-fA-F]*$')", digits), sql("unhex({})", even)))
    )


def _sha2(value: Value, size: Value) -> Value:
    """Return SHA2; NULL for an invalid size."""
    data, bits = as_blob(value), as_int32(size)
    branches = [(sql("{} IN (0, 256)", bits), sql("sha256({})", data))]
    branches += [(sql(f"{{}} = {other}", bits), sql(f"sha{other}_of({{}})", data)) for other in (224, 384, 512)]
    return string(case(branches, NULL))


def _binary_digits(value: Value) -> Value:
    return string(sql("bin({})", as_bits(value)))


def _quote(value: Value) -> Value:
    result = as_text(value)
    for plain, escaped in (("\\", "\\\\"), ("'", "\\'"), ("\0", "\\0"), ("\x1a", "\\Z")):
        result = sql("replace({}, {}, {})", result, text(plain), text(escaped))
    return string(sql("coalesce('''' || {} || '''', 'NULL')", result), value)


TEXT_FUNCTIONS: dict[str, Function] = {
    "CRC32": Function(1, 1, lambda value: integer(sql("crc32_of({})", as_blob(value)))),
    "CONCAT": Function(1, UNLIMITED, _concat),
    "CONCAT_WS": Function(2, UNLIMITED, _concat_ws),
    "LENGTH": Function(1, 1, _length),
    "OCTET_LENGTH": Function(1, 1, _length),
    "BIT_LENGTH": Function(1, 1, lambda value: integer(sql("{} * 8", _length(value).sql))),
    "CHAR_LENGTH": Function(1, 1, lambda value: integer(sql("length({})", as_text(value)))),
    "CHARACTER_LENGTH": Function(1, 1, lambda value: integer(sql("length({})", as_text(value)))),
    "LTRIM": Function(1, 1, _text_function("ltrim({}, ' ')")),
    "RTRIM": Function(1, 1, _text_function("rtrim({}, ' ')")),
    "LEFT": Function(2, 2, _side("left")),
    "RIGHT": Function(2, 2, _side("right")),
    "SUBSTRING": Function(2, 3, _substring),
    "SUBSTR": Function(2, 3, _substring),
    "MID": Function(3, 3, _substring),
    "SUBSTRING_INDEX": Function(3, 3, _substring_index),
    "REPLACE": Function(3, 3, _replace),
    "TRANSLATE": Function(3, 3, _text_function("translate({}, {}, {})")),
    "REVERSE": Function(1, 1, _reverse),
    "REPEAT": Function(2, 2, _repeat),
    "SPACE": Function(1, 1, lambda value: _repeat(string(text(" ")), value, "space")),
    "LPAD": Function(3, 3, _pad("lpad")),
    "RPAD": Function(3, 3, _pad("rpad")),
    "INSTR": Function(2, 2, lambda value, part: _locate(part, value)),
    "LOCATE": Function(2, 3, _locate),
    "POSITION": Function(2, 2, _locate),
    "FIELD": Function(2, UNLIMITED, _field),
    "FIND_IN_SET": Function(2, 2, _find_in_set),
    "STRCMP": Function(2, 2, _strcmp),
    "ASCII": Function(1, 1, _ascii),
    "HEX": Function(1, 1, _hex),
    "UNHEX": Function(1, 1, _unhex),
    "MD5": Function(1, 1, lambda value: string(sql("md5({})", as_blob(value)))),
    "SHA": Function(1, 1, lambda value: string(sql("sha1({})", as_blob(value)))),
    "SHA1": Function(1, 1, lambda value: string(sql("sha1({})", as_blob(value)))),
    "SHA2": Function(2, 2, _sha2),
    "BIN": Function(1, 1, _binary_digits),
    "QUOTE": Function(1, 1, _quote),
}
"""By TiDB's names."""
