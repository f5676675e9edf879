"""Vectors of RENAME TABLE under a table filter."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

import pytest

from simulator.errors import DdlError
from simulator.releases import Release
from simulator.ticdc.ddl.events import job_events, sent_query
from simulator.ticdc.ddl.jobs_text import execute_text
from simulator.ticdc.ddl.rename import Rename, replicated_pairs, schema_snapshot
from simulator.ticdc.ddl.sent_text import sent_text
from simulator.ticdc.filters import replication
from simulator.tidb.ddl.session import Job, Session
from simulator.tidb.syntax.definitions import Pair, TableName
from support.vectors.codecs import Json
from support.vectors.files import Vector
from support.vectors.kinds import Kind, keys_of


def check_rename(vector: Vector) -> None:
    """A vector of `facts.rename`."""
    data, release = vector.data, vector.release
    filtered = replication(data["rules"], data["case_sensitive"])
    snapshot = schema_snapshot(map(named, data["known_tables"] or ()), data["known_schemas"] or ())
    rename = Rename(pairs(data["pairs"]), data["ddl"])
    assert job_of(data, release).renames == rename.pairs

    def decide() -> tuple[Pair, ...]:
        return replicated_pairs(rename, lambda schema, table: not filtered.table(schema, table), snapshot, release)

    if data["expected"] == "error":
        with pytest.raises(DdlError) as caught:
            decide()
        wraps = covers(data.get("error_wrapper_releases", ()), release.name)
        code = data["error_code"] or caught.value.code
        assert caught.value.code == (data["error_wrapper"] if wraps else code)
        assert code in str(caught.value)
        assert re.search(worded(data["error_text"] or ""), caught.value.text)
        return
    assert decide() == pairs(data["kept_pairs"])
    assert bool(data["kept_pairs"]) == (data["expected"] == "replicate")
    sent = data.get("queries_sent") or data.get("query_sent")
    if sent:
        whole = len(data["pairs"]) > 1 and not release.splits_renames
        queries = [sent_text(data["ddl"], release)] if whole else [sent] if isinstance(sent, str) else sent
        assert texts(job_of(data, release), decide(), release) == queries


def job_of(data: Json, release: Release) -> Job:
    """The job of the statement, RENAME TABLE or ALTER TABLE … RENAME; what names no schema is of the current one, or
    of that of the first table."""
    database = data.get("current_database") or named(data["pairs"][0][0]).schema
    (job,) = execute_text(data["ddl"], Session(database, None, release)).jobs
    return job


def texts(job: Job, kept: tuple[Pair, ...], release: Release) -> list[str]:
    """What is sent of the pairs of a job that are left: up to 6.0 the job's own text, whatever is left (tiflow v5.4.0
    cdc/owner/schema.go BuildDDLEvent; from v6.1.0 BuildDDLEvents)."""
    written = tuple(said for pair, said in zip(job.renames, job.renames_as_written, strict=True) if pair in kept)
    return [
        sent_query(event, release)
        for event in job_events(replace(job, renames=kept, renames_as_written=written), release)
    ]


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


KINDS = {
    "facts.rename": Kind(
        check_rename,
        keys_of(
            "rules case_sensitive ddl current_database pairs known_tables known_schemas expected kept_pairs error_code "
            "error_text error_wrapper error_wrapper_releases query_sent queries_sent"
        ),
    )
}
