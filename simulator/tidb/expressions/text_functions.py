"""MySQL's functions of texts. Results have the collation of the arguments (tidb pkg/expression/builtin_string.go)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from simulator.tidb.errors import sql_error
from simulator.tidb.expressions.arithmetic import as_bits
from simulator.tidb.expressions.collations import IGNORABLE, derive_collation
from simulator.tidb.expressions.conversions import as_int32, as_number, as_real, as_text, signed_bits
from simulator.tidb.expressions.expression import (
    INTEGER_KINDS,
    NULL_VALUE,
    NUMERIC_KINDS,
    UNLIMITED,
    WARNED,
    Context,
    Evaluate,
    Expression,
    Function,
    Row,
    apply,
    apply_in_context,
    boolean,
    call,
    call_with_nulls,
    fixed,
    integer,
    null,
    string,
)
from simulator.tidb.expressions.texts import (
    FEW,
    as_blob,
    as_bytes,
    byte_size,
    collation_key,
    compared_text,
    fits,
    is_exact,
    legacy_charset,
    limited,
    strings,
    text_operands,
    unify_bytes,
    unify_texts,
    with_bits_as_bytes,
)
from simulator.tidb.functions import texts
from simulator.tidb.functions.texts import BINARY_COLLATION

MAX_BYTES_OF_CHARACTER = 4
"""LPAD and RPAD count so many for each character (builtinLpadUTF8Sig)."""


def _of_text(compute: Callable[..., str]) -> Callable[..., Expression]:
    """Return a function of texts whose result has the collation of the first."""
    return lambda *values: string(apply(compute, *map(as_text, values)), values[0])


def _change_case(fold: Callable[[str], str]) -> Callable[[Expression], Expression]:
    """Return UPPER or LOWER; binary strings stay unchanged."""
    return lambda value: value if value.is_binary else string(apply(fold, as_text(value)), value)


def _joined(name: str, glue: Expression | None, values: Sequence[Expression]) -> Expression:
    """Return CONCAT, or CONCAT_WS with a separator, which skips NULL."""
    if glue is None and all(value.kind == "null" for value in values):
        return Expression(NULL_VALUE, "string", "binary", IGNORABLE, is_binary=True)
    each = unify_texts(values if glue is None else (glue, *values))
    parts, is_binary = [as_text(value) for value in each], each[0].is_binary
    first = 0 if glue is None else 1

    def evaluate(row: Row, context: Context) -> str | None:
        found = []
        for place, part in enumerate(parts):
            text = part(row, context)
            if text is not None:
                found.append(text)
            elif place >= first and glue is not None:
                continue
            else:
                return None
        between = found.pop(0) if glue is not None else ""
        size = sum(map(len, found)) + len(between) * len(found)
        if size > FEW and not fits(context, name, sum(byte_size(text, is_binary) for text in (*found, between))):
            return None
        return between.join(found)

    return string(evaluate, *strings(each))


def _replace(value: Expression, old: Expression, new: Expression) -> Expression:
    is_binary = value.is_binary

    def replaced(context: Context, text: str, part: str, other: str) -> str | None:
        if not part:
            return text
        size = byte_size(text, is_binary)
        more = byte_size(other, is_binary) - byte_size(part, is_binary)
        if more > 0 and size + more * (size // len(part)) > FEW:
            if not fits(context, "replace", size + more * text.count(part)):
                return None
        return text.replace(part, other)

    return string(apply_in_context(replaced, as_text(value), as_text(old), as_text(new)), value)


def _translate(text: str, old: str, new: str) -> str:
    """Return a text with characters replaced, or removed where `new` is shorter."""
    return text.translate({ord(each): new[place : place + 1] for place, each in reversed([*enumerate(old)])})


def _substring(value: Expression, start: Expression, length: Expression | None = None) -> Expression:
    def cut(text: str, first: int, count: int = 2**31 - 1) -> str:
        if first < 0:
            first += len(text) + 1
        return text[first - 1 : first - 1 + count] if first > 0 and count > 0 else ""

    rest = () if length is None else (as_int32(length),)
    return string(apply(cut, as_text(value), as_int32(start), *rest), value)


def _side(cut: Callable[[str, int], str]) -> Callable[[Expression, Expression], Expression]:
    return lambda value, length: string(
        apply(lambda text, count: cut(text, count) if count > 0 else "", as_text(value), as_int32(length)), value
    )


def _substring_index(value: Expression, separator: Expression, count: Expression) -> Expression:
    """Return SUBSTRING_INDEX: the text before `count` separators, counted from the end if negative."""

    def cut(text: str, glue: str, number: int) -> str:
        if not number or not glue:
            return ""
        parts = text.split(glue)
        return glue.join(parts[:number] if number > 0 else parts[number:])

    return string(apply(cut, as_text(value), as_text(separator), as_int32(count)), value)


def _repeat(value: Expression, count: Expression, name: str = "repeat") -> Expression:
    is_binary = value.is_binary

    def repeated(context: Context, text: str, number: int) -> str | None:
        return text * number if fits(context, name, byte_size(text, is_binary) * number) else None

    return string(apply_in_context(repeated, as_text(value), as_int32(count)), value)


def _pad(name: str, join: Callable[[str, str], str]) -> Callable[[Expression, Expression, Expression], Expression]:
    """Return LPAD or RPAD; NULL for a negative length or an empty fill."""

    def padded(value: Expression, length: Expression, fill: Expression) -> Expression:
        most = 1 if value.is_binary else MAX_BYTES_OF_CHARACTER

        def filled(context: Context, text: str, wanted: int, more: str) -> str | None:
            if not fits(context, name, wanted * most % 2**64) or wanted < 0:
                return None
            lacking = wanted - len(text)
            if lacking <= 0:
                return text[:wanted]
            return join(text, (more * (lacking // len(more) + 1))[:lacking]) if more else None

        return string(apply_in_context(filled, as_text(value), as_int32(length), as_text(fill)), value)

    return padded


def _trim(value: Expression, part: Expression | None = None, side: Expression | None = None) -> Expression:
    if part is None:
        return string(apply(lambda text: text.strip(" "), as_text(value)), value)
    first, second = unify_texts((value, part))
    where = side.constant or "" if side else "BOTH"
    return string(
        apply(lambda text, each: texts.trim(text, each, where), as_text(first), as_text(second)), *strings((first,))
    )


def _insert(value: Expression, place: Expression, length: Expression, new: Expression) -> Expression:
    first, second = unify_texts((value, new))
    result = apply(texts.insert, as_text(first), signed_bits(place), signed_bits(length), as_text(second))
    return string(limited("insert", result, first.is_binary), *strings((first, second)))


def _make_set(bits: Expression, *members: Expression) -> Expression:
    arguments = unify_texts(members)
    return string(call_with_nulls(texts.make_set, signed_bits(bits), *map(as_text, arguments)), *strings(arguments))


def _export_set(
    bits: Expression, on: Expression, off: Expression, glue: Expression | None = None, count: Expression | None = None
) -> Expression:
    arguments = unify_texts((on, off, *((glue,) if glue else ())))
    between = as_text(arguments[2]) if glue else fixed(",")
    size = fixed(64) if count is None else signed_bits(count)
    parts = (signed_bits(bits), as_text(arguments[0]), as_text(arguments[1]), between, size)
    return string(apply(texts.export_set, *parts), *strings(arguments))


# -- numbers of texts --------------------------------------------------------------------------------------------------


def _locate(part: Expression, value: Expression, start: Expression | None = None) -> Expression:
    """Return LOCATE: the position of a text in another, in lower case for most collations (IsCICollation)."""
    name = derive_collation("locate", (part, value)).collation
    first, second = unify_bytes(part, value, name)
    if not is_exact(name):
        first, second = apply(texts.lower, first), apply(texts.lower, second)

    def place(searched: str, text: str, begin: int = 1) -> int:
        return text.find(searched, begin - 1) + 1 if 1 <= begin <= len(text) + 1 else 0

    return integer(apply(place, first, second, *(() if start is None else (as_int32(start),))))


def _field(*values: Expression) -> Expression:
    """Return FIELD, which compares all as texts, integers or doubles."""
    kinds = {value.kind for value in values}
    if kinds <= {"string", "null"}:
        name = derive_collation("field", values).collation
        wanted, *others = [compared_text(value, as_text(value), name) for value in unify_texts(values)]
    elif kinds <= set(INTEGER_KINDS):
        wanted, *others = [as_number(value).evaluate for value in values]
    else:
        wanted, *others = [as_real(value) for value in values]

    def evaluate(row: Row, context: Context) -> int:
        found = wanted(row, context)
        if found is None:
            return 0
        return next((place for place, other in enumerate(others, 1) if other(row, context) == found), 0)

    return integer(evaluate)


def _find_in_set(value: Expression, members: Expression) -> Expression:
    """Return FIND_IN_SET; the empty text has no members."""
    name = derive_collation("find_in_set", (value, members)).collation
    key = collation_key(name or "utf8mb4_bin") or str

    def place(text: str, listed: str) -> int:
        keys = [key(member) for member in listed.split(",")] if listed else []
        return keys.index(wanted) + 1 if (wanted := key(text)) in keys else 0

    return integer(apply(place, *unify_bytes(value, members, name)))


def _strcmp(left: Expression, right: Expression) -> Expression:
    if "null" in (left.kind, right.kind):
        return null()
    return integer(apply(lambda one, other: (one > other) - (one < other), *text_operands(left, right, "strcmp")))


def _ord(value: Expression) -> Expression:
    charset = legacy_charset(value)
    if charset:
        return integer(apply(lambda text: int.from_bytes(text[:1].encode(charset, "replace"), "big"), as_text(value)))
    return integer(apply(texts.ordinal_byte if value.is_binary else texts.ordinal, as_text(value)))


def _interval(value: Expression, *others: Expression) -> Expression:
    """Return INTERVAL: the number of others that are not greater, -1 for NULL."""
    whole = all(each.kind in (*INTEGER_KINDS, "null") for each in (value, *others))
    numbers = [as_number(each).evaluate if whole else as_real(each) for each in (value, *others)]
    are_literals = all(each.constant is not None for each in others)
    return integer(call_with_nulls(lambda *each: texts.interval(are_literals, *each), *numbers))


# -- numbers as texts --------------------------------------------------------------------------------------------------


def _octal(value: Expression) -> Expression:
    if value.kind in INTEGER_KINDS or value.number is not None and value.is_binary:
        return string(apply(texts.octal, signed_bits(value)))
    return string(apply(texts.octal_text, as_text(value)))


def _conv(value: Expression, source: Expression, target: Expression) -> Expression:
    return string(call(texts.conv, as_text(value), signed_bits(source), signed_bits(target)))


def _format(value: Expression, places: Expression, locale: Expression | None = None) -> Expression:
    """Return FORMAT. Another locale than en_US is only warned of (builtinFormatWithLocaleSig)."""
    number = as_text(value if value.kind in NUMERIC_KINDS else as_number(value))
    shown = apply(texts.format_number, number, signed_bits(places))
    if locale is None:
        return string(shown)
    wanted = as_text(locale)

    def evaluate(row: Row, context: Context) -> str | None:
        result: str | None = shown(row, context)
        name = "en_US" if result is None else wanted(row, context)
        if name is None or name.lower() != "en_us":
            context.problem(WARNED, f"1649 Unknown locale: '{'NULL' if name is None else name}'")
        return result

    return string(evaluate)


def _quote(value: Expression) -> Expression:
    """Return QUOTE; the word NULL for NULL."""
    text = as_text(value)

    def evaluate(row: Row, context: Context) -> str:
        found = text(row, context)
        return "NULL" if found is None else f"'{found.translate(_QUOTED)}'"

    return string(evaluate, value)


_QUOTED = str.maketrans({"\\": "\\\\", "'": "\\'", "\0": "\\0", "\x1a": "\\Z"})


# -- patterns ----------------------------------------------------------------------------------------------------------


def _regexp(
    compute: Callable[..., Any], defaults: Sequence[int], gives: Callable[[Evaluate], Expression], shown: int = 2
) -> Callable[..., Expression]:
    """Return a function of a text and a pattern. The first `shown` arguments are texts, then follow numbers, which have
    defaults, and flags."""
    name = compute.__name__

    def called(*values: Expression) -> Expression:
        subject, pattern = values[:2]
        kinds = [value.kind for value in values[:shown]]
        is_text = any(kind in ("string", "json", "date", "datetime", "time") for kind in kinds)
        binary = subject.is_binary or pattern.is_binary or not is_text
        if binary and name != "regexp_like":
            raise sql_error(1139, BINARY_COLLATION)
        folds = not binary and not is_exact(derive_collation(name, (subject, pattern)).collation)
        arguments, rest = [as_text(value) for value in values[:shown]], values[shown:]
        numbers = [fixed(default) for default in defaults]
        numbers[: len(rest)] = map(signed_bits, rest[: len(defaults)])
        flags = as_text(rest[-1]) if len(rest) > len(defaults) else fixed("")
        return gives(call(lambda *each: compute(folds, *each), *arguments, *numbers, flags))

    return called


TEXT_FUNCTIONS: dict[str, Function] = {
    "BIN": Function(1, 1, lambda value: string(apply(lambda bits: f"{bits:b}", as_bits(value)))),
    "OCT": Function(1, 1, _octal),
    "CONV": Function(3, 3, _conv),
    "FORMAT": Function(2, 3, _format),
    "INTERVAL": Function(2, UNLIMITED, _interval),
    **with_bits_as_bytes(
        {
            "CONCAT": Function(1, UNLIMITED, lambda *values: _joined("concat", None, values)),
            "CONCAT_WS": Function(2, UNLIMITED, lambda glue, *values: _joined("concat_ws", glue, values)),
            **dict.fromkeys(
                ("LENGTH", "OCTET_LENGTH"), Function(1, 1, lambda value: integer(apply(len, as_bytes(value))))
            ),
            "BIT_LENGTH": Function(1, 1, lambda value: integer(apply(lambda data: 8 * len(data), as_bytes(value)))),
            **dict.fromkeys(
                ("CHAR_LENGTH", "CHARACTER_LENGTH"), Function(1, 1, lambda value: integer(apply(len, as_text(value))))
            ),
            **dict.fromkeys(("UPPER", "UCASE"), Function(1, 1, _change_case(texts.upper))),
            **dict.fromkeys(("LOWER", "LCASE"), Function(1, 1, _change_case(texts.lower))),
            "TRIM": Function(1, 3, _trim, (2,)),
            "LTRIM": Function(1, 1, _of_text(lambda text: text.lstrip(" "))),
            "RTRIM": Function(1, 1, _of_text(lambda text: text.rstrip(" "))),
            "LEFT": Function(2, 2, _side(lambda text, count: text[:count])),
            "RIGHT": Function(2, 2, _side(lambda text, count: text[-count:])),
            **dict.fromkeys(("SUBSTRING", "SUBSTR"), Function(2, 3, _substring)),
            "MID": Function(3, 3, _substring),
            "SUBSTRING_INDEX": Function(3, 3, _substring_index),
            "REPLACE": Function(3, 3, _replace),
            "TRANSLATE": Function(3, 3, _of_text(_translate)),
            "REVERSE": Function(1, 1, _of_text(lambda text: text[::-1])),
            "REPEAT": Function(2, 2, _repeat),
            "SPACE": Function(1, 1, lambda value: _repeat(string(fixed(" ")), value, "space")),
            "LPAD": Function(3, 3, _pad("lpad", lambda text, more: more + text)),
            "RPAD": Function(3, 3, _pad("rpad", lambda text, more: text + more)),
            "INSERT_FUNC": Function(4, 4, _insert),
            "MAKE_SET": Function(2, UNLIMITED, _make_set),
            "EXPORT_SET": Function(3, 5, _export_set),
            "INSTR": Function(2, 2, lambda value, part: _locate(part, value)),
            "LOCATE": Function(2, 3, _locate),
            "POSITION": Function(2, 2, _locate),
            "FIELD": Function(2, UNLIMITED, _field),
            "FIND_IN_SET": Function(2, 2, _find_in_set),
            "STRCMP": Function(2, 2, _strcmp),
            "ASCII": Function(1, 1, lambda value: integer(apply(lambda data: data[0] if data else 0, as_blob(value)))),
            "ORD": Function(1, 1, _ord),
            "QUOTE": Function(1, 1, _quote),
            "REGEXP_LIKE": Function(2, 3, _regexp(texts.regexp_like, (), boolean)),
            "REGEXP_SUBSTR": Function(2, 5, _regexp(texts.regexp_substr, (1, 1), string)),
            "REGEXP_INSTR": Function(2, 6, _regexp(texts.regexp_instr, (1, 1, 0), integer)),
            "REGEXP_REPLACE": Function(3, 6, _regexp(texts.regexp_replace, (1, 0), string, 3)),
        }
    ),
}
"""By TiDB's names."""
