"""MySQL clients of the served database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pymysql
import pytest


class Client(pymysql.Connection):
    """A client that answers in one call."""

    def run(self, *statements: str) -> tuple[tuple[Any, ...], ...]:
        """Execute statements, and return the rows of the last one."""
        with self.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return tuple(cursor.fetchall())

    def error(self, statement: str) -> tuple[Any, ...]:
        """Number and text of the error of a statement that must fail."""
        with pytest.raises(pymysql.MySQLError) as failure:
            self.run(statement)
        return failure.value.args


@pytest.fixture
def connect() -> Iterator[Callable[..., Any]]:
    """Connects clients as root without a password, in database `test`, with autocommit, unless other options are given."""
    with ExitStack() as clients:

        def connected(port: int, **options: Any) -> Client:
            given = {"user": "root", "database": "test", "autocommit": True, "ssl_disabled": True, **options}
            client = Client(host="127.0.0.1", port=port, **given)
            clients.callback(lambda: client._force_close())  # type: ignore[attr-defined]
            return client

        yield connected
