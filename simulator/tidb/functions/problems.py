"""Errors and warnings of functions."""

from __future__ import annotations

from typing import Any


class FunctionProblem(Exception):
    """An error or a warning with MySQL's number and text, and the value of the function for a statement that goes on.

    The kinds are those of `expressions.sql.problems`: `E` is an error in every statement, `T` an error where
    strict mode writes rows, `D` a division by 0, `W` a warning.
    """

    def __init__(self, number: int, text: str, kind: str = "E", value: Any = None) -> None:
        super().__init__(text)
        self.number, self.text, self.kind, self.value = number, text, kind, value


MAX_SHOWN = 128
"""Characters of a value that an error shows (`%-.128s`)."""

MAX_ALLOWED_PACKET = 64 << 20
"""Bytes of the longest text that a function returns: the default of the system variable of that name."""


def packet_overflow(name: str, most: int = MAX_ALLOWED_PACKET) -> str:
    """Return the text of 1301 (tidb pkg/errno/errname.go, ErrWarnAllowedPacketOverflowed)."""
    return f"Result of {name}() was larger than max_allowed_packet ({most}) - truncated"


def incorrect_value(shown: str, value: Any = None) -> FunctionProblem:
    return FunctionProblem(1292, f"Incorrect datetime value: '{shown[:MAX_SHOWN]}'", "T", value)


def incorrect_string(text: str, function: str) -> FunctionProblem:
    return FunctionProblem(1411, f"Incorrect string value: '{text}' for function {function}")


def truncated_value(type: str, shown: str, value: Any = None, kind: str = "T") -> FunctionProblem:
    return FunctionProblem(1292, f"Truncated incorrect {type} value: '{shown[:MAX_SHOWN]}'", kind, value)


def field_overflow(what: str = "datetime") -> FunctionProblem:
    return FunctionProblem(1441, f"Datetime function: {what} field overflow", "T")


def invalid_json() -> FunctionProblem:
    return FunctionProblem(3140, "Invalid JSON text: The document root must not be followed by other values.")


def invalid_path(position: int | str) -> FunctionProblem:
    return FunctionProblem(3143, f"Invalid JSON path expression. The error is around character position {position}.")


def regexp_error(text: str) -> FunctionProblem:
    return FunctionProblem(1139, f"Got error '{text}' from regexp")
