"""What is wrong with the arguments of a function."""

from __future__ import annotations


class Problem(Exception):
    """MySQL's number and text, how TiDB takes it, and the value that the function gives all the same.

    The kinds are those of `expressions.problems`: `E` is an error in every statement, `T` one where strict mode writes
    rows, `D` a division by 0, `W` a warning.
    """

    def __init__(self, number: int, text: str, kind: str = "E", value: str | None = None) -> None:
        super().__init__(text)
        self.number, self.text, self.kind, self.value = number, text, kind, value
