"""A protocol is one thing: what depends on it is asked of its Codec, and its name stands where it is made or read back.

The tables come first; a protocol that is added changes none of them.
"""

from __future__ import annotations

import ast
import re
from fnmatch import fnmatch
from pathlib import Path

import click
import pytest

from simulator.cli.tree import commands
from simulator.reader.decode import DECODERS
from simulator.ticdc.changefeed.protocols import OTHERS, PROTOCOLS
from simulator.ticdc.codecs import CODECS

HOMES = (
    "releases/*",  # which names each release takes, and what it says
    "ticdc/codecs/*",
    "ticdc/changefeed/protocols.py",  # TiCDC's protocols that are not made here
    "reader/decode/*",
    "openapi/replica_config.py",  # fields of TiCDC's API that are called after a protocol
    "cli/read_commands.py",  # whose import is to be quick: held against DECODERS below
)
"""Where a protocol may be named."""

EXAMPLE = re.compile(r"protocol=[a-z-]+|debezium-disable-schema|sink\.debezium|avro-[a-z-]+|[a-z]+(?:_[a-z]+)+")
"""In a sink-uri that shows people what one looks like; settings and fields that are called after a protocol."""

MEANS_MORE = {"csv", "avro"}
"""Names that files have, too."""

PACKAGE = Path(__file__).parent.parent.parent / "simulator"
ELSEWHERE = [
    path
    for path in sorted(PACKAGE.rglob("*.py"))
    if not any(fnmatch(path.relative_to(PACKAGE).as_posix(), home) for home in HOMES)
]


def texts(path: Path) -> list[tuple[int, str]]:
    """Every string of a file with its line, but for docstrings and examples of sink-uris."""
    tree = ast.parse(path.read_text("utf-8"))
    said = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [
        (node.lineno, EXAMPLE.sub("", node.value))
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said
    ]


@pytest.mark.slow
def test_a_protocol_is_named_where_it_is_made_and_compared_nowhere_else() -> None:
    """Not written into a message either: its Codec has the name; what TiCDC checks of others stands in the table."""
    made, others = CODECS.keys() - MEANS_MORE, {protocol.name for protocol in OTHERS} - MEANS_MORE
    assert [] == [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in ELSEWHERE
        for line, text in texts(path)
        if text in others or any(name in text for name in made)
    ]


def test_what_is_made_can_be_read_back() -> None:
    """A codec whose rows are messages has a decoder, and the command line knows both."""
    inspect = commands.commands["inspect"]
    choice = next(option.type for option in inspect.params if option.name == "protocol")

    assert isinstance(choice, click.Choice)
    messages = [name for name, codec in CODECS.items() if "kafka" in codec.protocol.sinks]
    assert messages == [*DECODERS] == [*choice.choices]


def test_one_protocol_is_taken_for_those_that_old_releases_do_not_know() -> None:
    spellings = [spelling for protocol in PROTOCOLS.values() for spelling in (protocol.name, *protocol.aliases)]

    assert 1 == sum(protocol.is_fallback for protocol in PROTOCOLS.values())
    assert sorted(set(spellings)) == sorted(spellings)
