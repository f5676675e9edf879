"""The walk of an INSERT in docs/code.md, compared with the calls of one."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from msgspec import Struct
from msgspec.structs import astuple

from simulator import TiCDC
from simulator.columns import change_frame

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "simulator"
PAGE = (ROOT / "docs" / "code.md").read_text("utf-8")
WALK = PAGE.partition("### An INSERT of a scenario\n")[2].partition("\n### ")[0]
CELL = "the cell of the row"
FRAMES = {name: schema for name, schema in vars(change_frame).items() if isinstance(schema, pa.Schema)}
MOST_FILES, MOST_TYPES = 15, 9
"""What a reader of the walk meets; a change may lower them."""

DEPTH = 4
"""Levels of containers in which the row is looked for."""


def walk() -> list[tuple[str, list[str]]]:
    """The files of the first table, each with the types that the row has in it."""
    lines = re.findall(r"^\| `([\w/]+\.py)` \| .* \|(.*)\|$", WALK, re.MULTILINE)
    return [(path, re.findall(r"`(\w+)`", types)) for path, types in lines]


def parts(value: object) -> Iterator[object]:
    """The direct parts of a container."""
    if isinstance(value, Struct):
        yield from astuple(value)
    elif is_dataclass(value) and not isinstance(value, type):
        yield from members(value)
    elif isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list | tuple):
        yield from value


def members(value: DataclassInstance) -> Iterator[object]:
    for field in fields(value):
        yield getattr(value, field.name)


def holders(value: object, depth: int = DEPTH) -> set[str]:
    """The types in a value that hold the row; `` for a bare text or column that does."""
    if isinstance(value, str):
        return {""} if CELL in value else set()
    if isinstance(value, bytes):
        return {""} if CELL.encode() in value else set()
    if isinstance(value, pa.Array | pa.ChunkedArray | pa.RecordBatch | pa.Table):
        return frames(value) if CELL in str(value.to_pylist()) else set()
    if not depth:
        return set()
    inside = set().union(*(holders(part, depth - 1) for part in parts(value)))
    return inside | ({type(value).__name__} if inside else set())


def frames(value: object) -> set[str]:
    """The names of the schemas that a batch has, without the optional ones."""
    columns = set(value.schema.names) - {"row_id", "op", "rank"} if isinstance(value, pa.RecordBatch) else set()
    return {"", *(name for name, schema in FRAMES.items() if columns == set(schema.names) - {"row_id", "op", "rank"})}


@pytest.fixture(scope="module")
def handled() -> dict[str, set[str]]:
    """For each file, the types in which its functions have the row of an INSERT, from their call to their return."""
    changefeed = TiCDC("v8.5.3", sink_uri="kafka://host/topic?protocol=canal-json")
    changefeed.execute("CREATE TABLE test.t (id INT PRIMARY KEY, a VARCHAR(30))")
    found: dict[str, set[str]] = defaultdict(set)

    def note(frame: FrameType, event: str, value: object) -> None:
        path = Path(frame.f_code.co_filename)
        if event in ("call", "return") and path.is_relative_to(PACKAGE):
            sys.setprofile(None)
            values = [*frame.f_locals.values(), *([value] if event == "return" else [])]
            found[path.relative_to(PACKAGE).as_posix()].update(*map(holders, values))
            sys.setprofile(note)

    sys.setprofile(note)
    try:
        changefeed.execute(f"INSERT INTO test.t VALUES (1, '{CELL}')")
        messages = changefeed.messages()
    finally:
        sys.setprofile(None)
    assert CELL in str(messages)
    return found


@pytest.mark.slow
def test_every_file_of_the_walk_handles_the_row_as_the_walk_says(handled: dict[str, set[str]]) -> None:
    wrong = {path: types for path, types in walk() if not handled[path] or not handled[path].issuperset(types)}

    assert wrong == {}


def test_the_walk_says_how_many_files_and_types_there_are() -> None:
    types = {name for _, names in walk() for name in names}

    assert f"passes {len(walk())} files and has {len(types)} types" in WALK
    assert len(walk()) <= MOST_FILES
    assert len(types) <= MOST_TYPES
