"""Errors and warnings of functions."""

from __future__ import annotations


class FunctionProblem(Exception):
    """An error or a warning with MySQL's number and text, and the value of the function for a statement that goes on.

    The kinds are those of `expressions.sql.problems`: `E` is an error in every statement, `T` an error where
    strict mode writes rows, `D` a division by 0, `W` a warning.
    """

    def __init__(self, number: int, text: str, kind: str = "E", value: str | None = None) -> None:
        super().__init__(text)
        self.number, self.text, self.kind, self.value = number, text, kind, value
