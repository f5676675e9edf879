"""The plain literals of a statement, and its text without them, which statements of a program share."""

from __future__ import annotations

import re

from simulator.tidb.parser.expressions.literals import number_literal
from simulator.tidb.syntax.expressions import Literal, Node

LITERAL = re.compile(
    """(?<![\\w$@.'])(?:'([^'\\\\\ud800-\udfff]*)'(?!')|([0-9]{1,18}(?:\\.[0-9]{1,18})?)(?![\\w$.]))"""
)
"""A string without escapes, or a number without an exponent, that no word, variable or string touches."""


def without_literals(text: str) -> tuple[str, list[Node]]:
    """Return a text with `?` for each literal, and the literals. Those in comments, strings and names count, too: then the
    new text has fewer parameters than there are literals."""
    found = LITERAL.findall(text)
    values: list[Node] = [
        number_literal(number) if number else Literal("string", string, "utf8mb4") for string, number in found
    ]
    return (LITERAL.sub("?", text) if values else text), values
