"""Vectors of RENAME TABLE under a table filter."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

from simulator.ddl.read import read_statement
from simulator.ddl.rename import Pair, Rename, kept_pairs, known
from simulator.ddl.rename_text import rename_texts
from simulator.ddl.statements import RenameTable
from simulator.errors import DdlError
from simulator.filters import replication
from simulator.schema.syntax import TableName
from vector_files import Vector


def check_rename(vector: Vector) -> None:
    """A vector of `facts.rename`."""
    data, release = vector.data, vector.release
    filtered = replication(data["rules"], data["case_sensitive"])
    snapshot = known(map(named, data["known_tables"] or ()), data["known_schemas"] or ())
    rename = Rename(pairs(data["pairs"]), data["ddl"])

    def decide() -> tuple[Pair, ...]:
        return kept_pairs(rename, lambda schema, table: not filtered.table(schema, table), snapshot, release)

    if data["expected"] == "error":
        with pytest.raises(DdlError) as caught:
            decide()
        wraps = covers(data.get("error_wrapper_releases", ()), release.name)
        assert caught.value.code == (data["error_wrapper"] if wraps else data["error_code"])
        assert data["error_code"] in str(caught.value)
        assert re.search(worded(data["error_text"]), caught.value.text)
        return
    assert decide() == pairs(data["kept_pairs"])
    assert bool(data["kept_pairs"]) == (data["expected"] == "replicate")
    sent = data.get("queries_sent") or data.get("query_sent")
    if sent:
        statement = read_statement(data["ddl"])
        assert isinstance(statement, RenameTable)
        assert rename_texts(decide(), statement.pairs, release) == tuple([sent] if isinstance(sent, str) else sent)


def named(full: str) -> TableName:
    """The name that a vector writes with a dot."""
    schema, _, table = full.partition(".")
    return TableName(schema, table)


def pairs(data: Iterable[tuple[str, str]]) -> tuple[Pair, ...]:
    """Old and new names of a vector."""
    return tuple((named(old), named(new)) for old, new in data)


def worded(text: str) -> str:
    """The pattern of an error's text, whose `%d` and `%s` stand for a number and anything."""
    return re.escape(text).replace("%d", r"\d+").replace("%s", ".*")


def covers(lines: Iterable[str], release: str) -> bool:
    """Whether releases written as `v7.1.2+` (of that line), `v7.4.0-v7.5.1`, `v7.5.7` or at last `v7.6.0+` (and all
    later ones) include one."""
    own, spans = numbers(release), list(lines)
    for place, span in enumerate(spans, 1):
        first, _, last = span.removesuffix("+").partition("-")
        low, high = numbers(first), numbers(last or first)
        if low <= own <= high:
            return True
        if span.endswith("+") and low <= own and (place == len(spans) or own[:2] == low[:2]):
            return True
    return False


def numbers(tag: str) -> tuple[int, ...]:
    """Of `v7.5.1` 7, 5 and 1."""
    return tuple(map(int, re.findall(r"\d+", tag)[:3]))
