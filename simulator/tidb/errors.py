"""TiDB's errors of refused statements: MySQL's number, SQLSTATE and text.

`errors.tsv` lists them (tidb v8.5 pkg/errno/errname.go, pkg/util/dbterror/ddl_terror.go, pkg/infoschema/error.go;
SQLSTATEs: pkg/parser/mysql/state.go). The texts of some are written where they are raised.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from typing import NamedTuple

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
    """Return the error of a number with its text about these values."""
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
