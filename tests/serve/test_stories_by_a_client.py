"""Scripts that are played through the wire protocol give the messages of the same scripts in process: two stories, and all
of them, more than a hundred, with `--everything`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pymysql
import pytest
from support import story

from simulator import TiCDC
from simulator.api.server import TiCDCServer
from simulator.errors import SqlError
from simulator.sinks.memory import Message
from simulator.tidb.parser.script import split_script

SINK_URI = "kafka://127.0.0.1:9092/story?protocol=canal-json&enable-tidb-extension=true&partition-num=3"
PLAYED = ("2047", "2054")

Statements = Sequence[str]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    long = pytest.mark.long(reason="a further story")
    paths = story.stories(story.DEFAULT)
    given = [pytest.param(path, id=path.stem, marks=() if path.stem in PLAYED else (long,)) for path in paths]
    metafunc.parametrize("path", given)


def in_process(statements: Statements) -> tuple[list[Message], list[tuple[int, int]]]:
    refused = []
    with TiCDC(sink_uri=SINK_URI, databases=()) as ticdc:
        ticdc.execute("USE test")
        for place, statement in enumerate(statements):
            try:
                ticdc.execute(statement)
            except SqlError as error:
                refused.append((place, error.number))
        return ticdc.messages(), refused


def by_a_client(statements: Statements, connect: Callable[..., Any]) -> tuple[list[Message], list[tuple[int, int]]]:
    refused = []
    with TiCDC(sink_uri=SINK_URI, databases=()) as ticdc, TiCDCServer(ticdc) as server:
        client = connect(server.port, autocommit=None, client_flag=pymysql.constants.CLIENT.MULTI_STATEMENTS)
        with client.cursor() as cursor:
            for place, statement in enumerate(statements):
                try:
                    cursor.execute(statement)
                    while cursor.nextset():
                        pass
                except pymysql.MySQLError as error:
                    refused.append((place, error.args[0]))
        return server.messages(), refused


@pytest.mark.slow
def test_a_story_gives_the_same_messages_by_a_client(path: Path, connect: Callable[..., Any]) -> None:
    statements = [statement.text for statement in split_script(path.read_text("utf-8"))]
    assert in_process(statements) == by_a_client(statements, connect)
