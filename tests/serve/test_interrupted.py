"""A statement that runs for long: KILL and SIGTERM end it, whoever has sent it."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path
from typing import Any

import pymysql
import pytest

from test_killed import connect, free_port, start  # type: ignore[import-not-found]

LONG = "SELECT COUNT(*) FROM n a, n b, n c, n d WHERE a.id + b.id + c.id + d.id = -1"


def failed_number(client: Any, statement: str, numbers: list[int]) -> None:
    try:
        client.query(statement)
    except pymysql.MySQLError as error:
        numbers.append(error.args[0])
