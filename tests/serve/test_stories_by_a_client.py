"""Scripts that are played through the wire protocol give the messages of the same scripts in process.

Two are played by default. All, more than a hundred:

    pytest tests/serve/test_stories_by_a_client.py --stories tests/stories --endtoend tests/endtoend \
        --recordings tests/recordings
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from functools import partial
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
"""Stories that are played where no directory is given."""

Statements = Sequence[str]


def statements_of_story(path: Path) -> Statements:
    return [statement.text for statement in split_script(path.read_text("utf-8"))]


def statements_of_case(path: Path) -> Statements:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [statement["sql"] for statement in json.load(file)["statements"]]


def statements_of_recording(path: Path) -> Statements:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line)["sql"] for line in file]


def cases(config: pytest.Config) -> Iterator[tuple[str, Callable[[], Statements]]]:
    """Yield the name of each script, and what reads its statements."""
    directories = {option: config.getoption(f"--{option}") for option in ("stories", "endtoend", "recordings")}
    all_stories = directories["stories"] or not any(directories.values())
    for path in story.stories(Path(directories["stories"] or story.DEFAULT)) if all_stories else ():
        if directories["stories"] or path.stem in PLAYED:
            yield path.stem, partial(statements_of_story, path)
    if directories["endtoend"]:
        for path in sorted(Path(directories["endtoend"]).glob("v8.0.0.*.json.gz")):
            name = path.name.removesuffix(".json.gz").removeprefix("v8.0.0.")
            if not name.startswith(("options-", "story-2")):  # statements of other cases and of stories
                yield name, partial(statements_of_case, path)
    if directories["recordings"]:
        for path in sorted(Path(directories["recordings"]).glob("*.jsonl.gz")):
            yield path.name.removesuffix(".jsonl.gz"), partial(statements_of_recording, path)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    found = [pytest.param(read, id=name) for name, read in cases(metafunc.config)]
    metafunc.parametrize("read", found)


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
def test_a_story_gives_the_same_messages_by_a_client(
    read: Callable[[], Statements], connect: Callable[..., Any]
) -> None:
    statements = read()
    assert in_process(statements) == by_a_client(statements, connect)
