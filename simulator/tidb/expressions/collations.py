"""Collation of operations and functions, by coercibility (tidb: pkg/expression/collation.go)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from simulator.errors import SqlError
from simulator.tidb.errors import sql_error
from simulator.tidb.expressions.expression import CONNECTION_COLLATION, Expression
from simulator.tidb.model.types import CHARSETS

EXPLICIT, NONE, IMPLICIT, SYSTEM, COERCIBLE, NUMERIC, IGNORABLE = range(7)
COERCIBILITY_NAMES = ("EXPLICIT", "NONE", "IMPLICIT", "SYSCONST", "COERCIBLE", "NUMERIC", "IGNORABLE")
"""Names of coercibilities as errors show them."""

UNICODE_CHARSETS = ("utf8", "utf8mb4")


class DerivedCollation(NamedTuple):
    """The collation that several values have in common."""

    collation: str
    coercibility: int
    ascii: bool
    """Whether all characters are ASCII for certain."""

    @property
    def charset(self) -> str:
        return charset_of(self.collation)


def charset_of(collation: str) -> str:
    return (collation or CHARSETS["utf8mb4"][0]).partition("_")[0]


def value_collation(value: Expression) -> DerivedCollation:
    if value.kind == "json":
        return DerivedCollation("utf8mb4_bin", IMPLICIT, False)
    if value.kind == "null":
        return DerivedCollation("binary", IGNORABLE, True)
    if value.kind == "string":
        is_ascii = value.ascii if value.constant is None else value.constant.isascii()
        return DerivedCollation(
            "binary" if value.is_binary else value.collation or "utf8mb4_bin", value.coercibility, is_ascii
        )
    if value.column_type is not None and value.column_type.name == "bit":
        return DerivedCollation("binary", IMPLICIT, False)
    return DerivedCollation("binary", NUMERIC, True)


def derive_collation(operation: str, values: Sequence[Expression], gives_text: bool = False) -> DerivedCollation:
    """Return the collation of an operation. Raises SqlError 1267, 1270 and 1271."""
    each = [value_collation(value) for value in values]
    result = _infer(each)
    if result is None or not gives_text and result.coercibility == NONE:
        raise _illegal_mix(operation, each)
    if gives_text and result.coercibility == NUMERIC:
        return DerivedCollation(CONNECTION_COLLATION, COERCIBLE, True)
    if not all(_converts_safely(value, own, result) for value, own in zip(values, each, strict=True)):
        raise _illegal_mix(operation, each)
    return result


def _infer(each: Sequence[DerivedCollation]) -> DerivedCollation | None:
    """Aggregate collations from left to right; None if they do not mix (inferCollation)."""
    result, unknown = each[0], False
    for other in each[1:]:
        joined = _aggregate(result, other)
        if joined is None:
            return None
        unknown = (
            unknown
            or joined.coercibility == NONE
            and result.charset != other.charset
            and "binary" not in (result.collation, other.collation)
        )
        result = joined._replace(ascii=result.ascii and other.ascii)
    return None if unknown and result.coercibility != EXPLICIT else result


def _aggregate(left: DerivedCollation, right: DerivedCollation) -> DerivedCollation | None:
    if "binary" in (left.collation, right.collation):
        wins = (
            left.coercibility > right.coercibility
            or left.coercibility == right.coercibility
            and right.collation == "binary"
        )
        return right if wins else left
    if left.charset != right.charset:
        return _aggregate_charsets(left, right)
    if left.coercibility != right.coercibility:
        return min(left, right, key=lambda each: each.coercibility)
    if left.collation == right.collation or left.coercibility == EXPLICIT:
        return left if left.collation == right.collation else None
    if left.collation == f"{left.charset}_bin":
        return left
    bin = f"{right.charset}_bin"
    return right if right.collation == bin else DerivedCollation(bin, NONE, False)


def _aggregate_charsets(left: DerivedCollation, right: DerivedCollation) -> DerivedCollation:
    """Return the charset, of two, to which the other converts."""
    strong, weak = (left, right) if left.coercibility <= right.coercibility else (right, left)
    if left.coercibility != right.coercibility:
        if weak.ascii or weak.coercibility >= SYSTEM or strong.charset in UNICODE_CHARSETS:
            return strong
    else:
        for one, other in ((left, right), (right, left)):
            wider = one.charset in UNICODE_CHARSETS and other.charset not in UNICODE_CHARSETS
            if wider or (one.charset, other.charset) == ("utf8mb4", "utf8"):
                return one
        if left.ascii != right.ascii:
            return right if left.ascii else left
    return DerivedCollation("binary", NONE, False)


def _converts_safely(value: Expression, own: DerivedCollation, expression: DerivedCollation) -> bool:
    """Return whether a value converts to the charset without loss (safeConvert)."""
    if own.charset == expression.charset or own.ascii or own.charset == "binary":
        return True
    if value.constant is None:
        return expression.charset in ("binary", *UNICODE_CHARSETS)
    if expression.charset not in ("ascii", "gbk", "gb18030"):
        return True
    try:
        value.constant.encode(expression.charset)
    except UnicodeEncodeError:
        return False
    return True


def _illegal_mix(operation: str, each: Sequence[DerivedCollation]) -> SqlError:
    if operation == "UNION" or len(each) not in (2, 3):
        return sql_error(1271, operation)
    mixed = [f"({own.collation},{COERCIBILITY_NAMES[own.coercibility]})" for own in each]
    return sql_error(1267, *mixed, operation) if len(each) == 2 else sql_error(1270, ", ".join(mixed), operation)


def union_collation(values: Sequence[Expression]) -> DerivedCollation:
    """Return the collation of a column of a UNION. Raises SqlError 1271."""
    result = derive_collation("UNION", values, True)
    if result.coercibility == NONE:
        raise _illegal_mix("UNION", ())
    return result


def with_explicit_collation(collation: str, values: Sequence[Expression]) -> list[Expression]:
    """Return values as if each had a COLLATE clause."""
    return [
        value if value.kind == "null" else replace(value, collation=collation, coercibility=EXPLICIT)
        for value in values
    ]


# -- functions ------------------------------------------------------------------------------------------------------

ArgumentSelection = Callable[[Sequence[Expression]], Sequence[Expression]]


COLLATED_ARGUMENTS: dict[str, ArgumentSelection] = {
    **dict.fromkeys(
        "CONCAT CONCAT_WS LOWER LCASE REVERSE UPPER UCASE QUOTE COALESCE GREATEST LEAST IFNULL".split(),
        lambda values: values,
    ),
    **dict.fromkeys(
        "LEFT RIGHT REPEAT TRIM LTRIM RTRIM SUBSTR SUBSTRING_INDEX REPLACE SUBSTRING MID TRANSLATE".split(),
        lambda values: values[:1],
    ),
    "INSERT_FUNC": lambda values: [*values[:1], *values[3:4]],
    "LPAD": lambda values: [*values[:1], *values[2:3]],
    "RPAD": lambda values: [*values[:1], *values[2:3]],
    "REGEXP_REPLACE": lambda values: values[:3],
    **dict.fromkeys(("ELT", "EXPORT_SET", "MAKE_SET", "IF"), lambda values: values[1:]),
    "REGEXP_SUBSTR": lambda values: values[:2],
}
"""The arguments that decide the collation of the result, by function."""

COMPARED_ARGUMENTS: dict[str, ArgumentSelection] = {
    "FIND_IN_SET": lambda values: values,
    "FIELD": lambda values: values if values[0].kind == "string" else (),
    **dict.fromkeys(("LOCATE", "INSTR", "POSITION", "REGEXP_LIKE", "REGEXP_INSTR"), lambda values: values[:2]),
}
"""The arguments whose collations have to agree, by function that does not return text."""

SYSTEM_FUNCTIONS = tuple("DATABASE USER CURRENT_USER VERSION CURRENT_ROLE TIDB_VERSION CURRENT_RESOURCE_GROUP".split())
"""Functions whose results have the coercibility SYSCONST."""


def function_collation(name: str, values: Sequence[Expression]) -> DerivedCollation | None:
    """Return the collation of a function's result, or None for functions without a rule. Raises SqlError 1267."""
    if name in SYSTEM_FUNCTIONS:
        return DerivedCollation("utf8mb4_bin", SYSTEM, False)
    if name in ("JSON_QUOTE", "JSON_PRETTY"):
        return DerivedCollation("utf8mb4_bin", COERCIBLE, False)
    if name in ("DATE_FORMAT", "TIME_FORMAT") and len(values) == 2:
        return value_collation(values[1])._replace(collation=CONNECTION_COLLATION)
    gives_text = name in COLLATED_ARGUMENTS
    counts = (COLLATED_ARGUMENTS if gives_text else COMPARED_ARGUMENTS).get(name)
    arguments = counts(values) if counts else ()
    return derive_collation(name.lower(), arguments, gives_text) if arguments else None


def with_collation(value: Expression, expression: DerivedCollation | None) -> Expression:
    """Return a text with the derived collation; binary strings stay binary."""
    if expression is None or value.kind != "string":
        return value
    if value.is_binary or expression.collation == "binary":
        return replace(
            value, collation="binary" if value.is_binary else value.collation, coercibility=expression.coercibility
        )
    return replace(value, collation=expression.collation, coercibility=expression.coercibility, ascii=expression.ascii)
