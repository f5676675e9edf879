"""Scripts that are played through the wire protocol give the messages of the same scripts in process."""

from __future__ import annotations

from pathlib import Path

import pymysql
import pytest
from support.story import DEFAULT, stories

from simulator import TiCDC
from simulator.api.server import TiCDCServer
from simulator.errors import SqlError
from simulator.sinks.memory import Message
from simulator.tidb.parser.script import split_script

SINK_URI = "kafka://127.0.0.1:9092/story?protocol=canal-json&enable-tidb-extension=true&partition-num=3"
PLAYED = ("2047", "2054")
"""Stories that are played without `--stories DIR`."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    given = metafunc.config.getoption("--stories")
    cases = [path for path in stories(Path(given or DEFAULT)) if given or path.stem in PLAYED]
    metafunc.parametrize("story", cases, ids=[path.stem for path in cases])


def in_process(text: str) -> tuple[list[Message], list[int]]:
    refused = []
    with TiCDC(sink_uri=SINK_URI) as ticdc:
        for statement in split_script(text):
            try:
                ticdc.execute(statement.text)
            except SqlError as error:
                refused.append(error.number)
        return ticdc.messages(), refused


def by_a_client(text: str) -> tuple[list[Message], list[int]]:
    refused = []
    with TiCDC(sink_uri=SINK_URI) as ticdc, TiCDCServer(ticdc) as server:
        client = pymysql.connect(host=server.host, port=server.port, user="root", database="test", autocommit=None)
        with client, client.cursor() as cursor:
            for statement in split_script(text):
                try:
                    cursor.execute(statement.text)
                except pymysql.MySQLError as error:
                    refused.append(error.args[0])
        return server.messages(), refused


@pytest.mark.slow
def test_a_story_gives_the_same_messages_by_a_client(story: Path) -> None:
    text = story.read_text("utf-8")
    assert in_process(text) == by_a_client(text)
