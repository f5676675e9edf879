"""Statements that are parsed once for many values: trees with places for parameters, or for literals of the text.

A template is for values of the same kinds. It is made by two parses with different values, and only if the values of the
first one, replaced in its tree by those of the second, give the tree of the second: what the parser derives of a value,
such as the name of a column, is then no part of the tree. For literals, the tree must be that of the text, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import astuple, replace

from simulator.errors import SimulatorError
from simulator.tidb.syntax.definitions import Statement
from simulator.tidb.syntax.expressions import Literal, Node, Unary
from simulator.tidb.syntax.session import SqlStatement

Parse: TypeAlias = "Callable[[Sequence[Node]], SqlStatement | None]"
Fill: TypeAlias = "Callable[[Sequence[Node]], Any]"

OTHERS = {
    "integer": ("7", "8"),
    "decimal": ("7.5", "8.5"),
    "float": ("7e0", "8e0"),
    "string": ("x", "y"),
    "hex": ("78", "79"),
}
"""Two values of a kind."""

MOST = 256


class Seen(Enum):
    """What is known of a statement without a template."""

    ONCE = "once"
    PARSED = "always parsed"


class Templates:
    """The newest templates. A statement has one from its second execution on."""

    def __init__(self) -> None:
        self._fills: dict[object, Fill | Seen] = {}

    def statement(
        self, text: object, written: Callable[[], SqlStatement | None], parse: Parse, values: Sequence[Node]
    ) -> SqlStatement | None:
        """Return the tree of a statement with values, as `written` does, which parses it as it is; `parse` takes values for
        its parameters. Raises what `written` raises."""
        key = text, kinds_of(values)
        fill = self._fills.get(key)
        if fill is not None and not isinstance(fill, Seen):
            filled: SqlStatement | None = fill(values)
            return filled
        statement = written()
        if fill is None:
            if len(self._fills) >= MOST:
                self._fills.clear()
            self._fills[key] = Seen.ONCE
        elif fill is Seen.ONCE:
            made = None if isinstance(statement, Statement) else template_of(parse, values)
            self._fills[key] = made if made is not None and made(values) == statement else Seen.PARSED
        return statement


def kinds_of(values: Sequence[Node]) -> tuple[object, ...]:
    """Return what values must have in common to share a template."""
    return tuple(
        (value.kind, value.charset)
        if isinstance(value, Literal)
        else (value.operator, value.operand.kind)
        if isinstance(value, Unary) and isinstance(value.operand, Literal)
        else value
        for value in values
    )


def template_of(parse: Parse, values: Sequence[Node]) -> Fill | None:
    """Return what makes a tree of values of the same kinds; None if they must be parsed."""
    if len({id(value) for value in values}) < len(values):
        return None
    places = {id(value): place for place, value in enumerate(values)}
    found: list[int] = []
    try:
        statement = parse(values)
        if not values:
            return lambda values: statement
        fill = _filler(statement, places, found)
        if fill is None or sorted(found) != list(range(len(values))):
            return None
        others = [_other(value) for value in values]
        return fill if fill(others) == parse(others) else None
    except SimulatorError:
        return None


def _other(value: Node) -> Node:
    if isinstance(value, Unary):
        return replace(value, operand=_other(value.operand))
    if not isinstance(value, Literal) or value.kind not in OTHERS:
        return value
    one, other = OTHERS[value.kind]
    return replace(value, text=other if value.text == one else one)


def _filler(node: Any, places: dict[int, int], found: list[int]) -> Fill | None:
    """Return what replaces the values in a part of a tree, and append their places; None for a part without any."""
    place = places.get(id(node))
    if place is not None:
        found.append(place)
        return lambda values: values[place]
    if isinstance(node, tuple):
        fillers = [_filler(each, places, found) for each in node]
        if not any(fillers):
            return None
        parts = [*zip(node, fillers, strict=True)]
        make = getattr(node, "_make", tuple)
        return lambda values: make([part if fill is None else fill(values) for part, fill in parts])
    if not isinstance(node, Struct):
        return None
    named = zip(node.__struct_fields__, astuple(node), strict=True)
    filled = [(name, fill) for name, part in named if (fill := _filler(part, places, found)) is not None]
    return (lambda values: replace(node, **{name: fill(values) for name, fill in filled})) if filled else None
