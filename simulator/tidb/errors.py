"""TiDB's errors of refused statements (MySQL's number, SQLSTATE and text), and the problems that functions report.

`errors.tsv` lists them (tidb v8.5 pkg/errno/errname.go, pkg/util/dbterror/ddl_terror.go, pkg/infoschema/error.go;
SQLSTATEs: pkg/parser/mysql/state.go). The texts of some are written where they are raised.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from typing import Any, NamedTuple

from simulator.errors import CodedError, DdlError, SchemaError, SqlError


class KnownError(NamedTuple):
    state: str
    """SQLSTATE."""

    text: str
    """Each brace is a value that the text names."""


def _read_errors() -> Iterator[tuple[int, KnownError]]:
    with resources.files(__package__).joinpath("errors.tsv").open(encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            number, state, text = line.rstrip("\n").split("\t")
            yield int(number), KnownError(state, text)


ERRORS = dict(_read_errors())
"""By number."""


def sql_error(number: int, *values: object) -> SqlError:
    state, text = ERRORS[number]
    return SqlError(number, state, text.format(*values))


def sql_error_with_text(number: int, text: str) -> SqlError:
    """Return an error whose text TiDB writes at the place where it is raised."""
    return SqlError(number, sqlstate(number), text)


def not_simulated(text: str) -> SqlError:
    """Return the error of a statement that the simulator does not compute. `text` says which part, and what is
    accepted."""
    return sql_error_with_text(1235, text)


# -- DDL ---------------------------------------------------------------------------------------------------------------


def tidb_error(code: str, *values: object) -> DdlError:
    """Return the error of a code, such as `ddl:1059`, with its text about these values."""
    return DdlError(ERRORS[int(code.partition(":")[2])].text.format(*values), code)


def unsupported_error(what: str) -> DdlError:
    return DdlError(f"Unsupported {what}", "ddl:8200")


def error_with_text(code: str, text: str) -> DdlError:
    return DdlError(text, code)


def syntax_error(text: str) -> DdlError:
    return error_with_text("parser:1064", f"You have an error in your SQL syntax: {text}")


def auto_random_error(text: str) -> DdlError:
    return tidb_error("ddl:8216", text)


@contextmanager
def converting_errors(code: str) -> Iterator[None]:
    """Convert a SchemaError to a DdlError of that code."""
    try:
        yield
    except SchemaError as error:
        raise DdlError(str(error), code) from error


# -- numbers -----------------------------------------------------------------------------------------------------------


def error_number(error: SqlError | CodedError) -> int:
    """Return MySQL's number of an error (1146 for `schema:1146`), or 1105 for an error without one."""
    if isinstance(error, SqlError):
        return error.number
    number = error.code.rpartition(":")[2]
    return int(number) if number.isdigit() else 1105


def sqlstate(number: int) -> str:
    return ERRORS[number].state if number in ERRORS else "HY000"


class FunctionProblem(Exception):
    """An error or a warning with MySQL's number and text, and the value of the function for a statement that goes on.

    The kinds are those of `expressions.expression.KINDS`: `E` is an error in every statement, `T` an error where
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
