"""Comparisons and patterns of texts by collation, and conversions between texts and bytes.

A binary string is a text with one character per byte.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from simulator.tidb.collations import compare
from simulator.tidb.expressions.sql.graph import Sql, sql, text, when
from simulator.tidb.expressions.sql.python_functions import python_call
from simulator.tidb.expressions.values.collations import derive_collation
from simulator.tidb.expressions.values.value import CONNECTION_COLLATION, Value, as_text


def text_operands(left: Value, right: Value, operation: str) -> tuple[Sql, Sql]:
    """Return two values as keys that compare as their collation compares their texts. Raises SqlError 1267."""
    name = derive_collation("!=" if operation == "<>" else operation, (left, right)).collation
    first, second = unify_bytes(left, right, name)
    return collation_key(first, name), collation_key(second, name)


def unify_bytes(left: Value, right: Value, collation: str) -> tuple[Sql, Sql]:
    """Return both as bytes or both as text, as the collation requires."""
    if left.is_binary == right.is_binary:
        return as_text(left), as_text(right)
    if collation != "binary":
        charset = text(collation.partition("_")[0])
        first, second = (
            python_call("bytes_as_text", value.sql, charset) if value.is_binary else as_text(value)
            for value in (left, right)
        )
        return first, second
    first, second = as_bytes(left), as_bytes(right)
    return first, second


def like(value: Value, pattern: Value, escape: str) -> Sql:
    """Return `value LIKE pattern`."""
    name = derive_collation("like", (value, pattern)).collation
    if pattern.constant is not None:
        pattern, escape = replace(pattern, sql=text(_escaped(pattern.constant, escape, name)), text=None), "\\"
    first, second = unify_bytes(value, pattern, name)
    return sql("{} LIKE {} ESCAPE {}", fold_case(first, name), fold_case(second, name), text(escape))


def _escaped(pattern: str, escape: str, collation: str) -> str:
    """Return the pattern in folded case, with a backslash as escape character; one at its end is doubled."""
    pieces, characters = [], iter(zip(pattern, fold_literal(pattern, collation), strict=True))
    for character, alike in characters:
        if character in "%_" and character != escape:
            pieces.append(character)
            continue
        literal = next(characters, (escape, escape))[1] if character == escape else alike
        pieces.append(f"\\{literal}" if literal in "%_\\" else literal)
    return "".join(pieces)


def regexp(value: Value, pattern: Value) -> Sql:
    """Return `value REGEXP pattern`. DuckDB and Go share RE2's syntax."""
    ignores_case = not is_exact(derive_collation("regexp", (value, pattern)).collation)
    return sql(f"regexp_matches({{}}, {{}}, '{'i' if ignores_case else 'c'}')", as_text(value), as_text(pattern))


def collation_key(expression: Sql, collation: str) -> Sql:
    """Return a text or BLOB that compares as the collation compares the text."""
    if compare.has_weights(collation):
        return sql(f"sort_key_{collation}({{}})", expression)
    return sql("rtrim({}, ' ')", expression) if compare.pads_spaces(collation) else expression


def fold_case(expression: Sql, collation: str) -> Sql:
    """Return the text with each character replaced by one for all characters that the collation finds equal."""
    return sql(f"alike_{collation}({{}})", expression) if compare.has_weights(collation) else expression


def fold_literal(expression: str, collation: str) -> str:
    """Return a constant with its case folded; see `fold_case`."""
    return (
        str(compare.like_representatives(collation, pa.array([expression]))[0])
        if compare.has_weights(collation)
        else expression
    )


def is_exact(collation: str) -> bool:
    """Return whether the collation distinguishes upper and lower case."""
    return collation in (CONNECTION_COLLATION, "binary") or collation.endswith("_bin")


def bytes_as_characters(expression: Sql) -> Sql:
    """Return the bytes of a text, one character per byte."""
    pairs = sql("regexp_extract_all(hex(encode({})), '..')", expression)
    return when(
        is_ascii(expression),
        expression,
        sql("array_to_string(list_transform({}, lambda h: chr(('0x' || h)::INTEGER)), '')", pairs),
    )


def legacy_charset(value: Value) -> str:
    """Return the charset of a text that is not stored as UTF-8, else the empty text (tidb
    pkg/expression/builtin_convert_charset.go, isLegacyCharset)."""
    charset = value.collation.partition("_")[0]
    return charset if value.kind == "string" and not value.is_binary and charset in ("gbk", "gb18030") else ""


def as_bytes(value: Value) -> Sql:
    """Return the bytes of a value's text in its charset, one character per byte."""
    charset = legacy_charset(value)
    if charset:
        return python_call("encode_text", value.sql, text(charset))
    return as_text(value) if value.is_binary else bytes_as_characters(as_text(value))


def as_blob(value: Value) -> Sql:
    """Return the bytes of a value's text, as a BLOB."""
    own = legacy_charset(value)
    result = as_bytes(value) if own else as_text(value)
    if not own and not value.is_binary:
        return sql("encode({})", result)
    pairs = sql("list_transform(regexp_extract_all({}, '(?s).'), lambda c: printf('%02X', unicode(c)))", result)
    return when(is_ascii(result), sql("encode({})", result), sql("unhex(array_to_string({}, ''))", pairs))


def blob_as_characters(bytes: Sql) -> Sql:
    """Return the bytes of a BLOB, one character per byte."""
    pairs = sql("regexp_extract_all(hex({}), '..')", bytes)
    return when(
        sql("{} IS NOT NULL", bytes),
        sql("array_to_string(list_transform({}, lambda h: chr(('0x' || h)::INTEGER)), '')", pairs),
    )


def is_ascii(expression: Sql) -> Sql:
    return sql("strlen({}) = length({})", expression, expression)
