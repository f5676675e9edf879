"""Recordings of a real TiDB (`--recordings DIR`, by default tests/recordings, whose README says what must be equal).

`check.py` of that directory plays them on the simulator; `python tests/recordings/check.py FILE… --differences OUT`
shows what differs.
"""

from __future__ import annotations

import gzip
import json
import re
import runpy
import signal
import zlib
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support.budget import left_out
from support.vectors.files import RECORDINGS, Json, parametrize

from simulator import releases
from simulator.run import open_changefeed
from simulator.tidb.ddl import Action
from simulator.tidb.restore import quote_name

CHECK = runpy.run_path(str(RECORDINGS / "check.py"))
"""The names of that script."""

RELEASE = "v8.0.0"

LEAST_EQUAL = 0.985
"""The share of a file's statements that TiDB and the simulator answer alike."""

FEWER_EQUAL = {
    "sql-set-show": 0.95,
    "sql-integ-executor-jointest-join": 0.95,
    "sql-integ-executor-partition-write": 0.98,
}
"""The same of short files with SELECTs without ORDER BY, whose rows come in the order of TiDB's plan."""

MOST_REFUSED = 0.01
"""The share of a file's statements that the simulator refuses by name."""

MORE_REFUSED = {"sql-json-functions": 2, "sql-string-functions": 3}
"""How many it refuses of short files: functions that are not computed, such as COMPRESS()."""

LONGEST_S = 120
"""Seconds by the clock after which a statement hangs, on a machine with much other work, too."""

MOST_OTHER_TEXTS = 0.03
"""The share of the tables of a file whose SHOW CREATE TABLE differs."""

REPLICATED = {code for code in Action if code in releases.find(RELEASE).allowed_ddl}
"""The types of the jobs that TiCDC replicates, as the vectors of DDL have them. The list in check.py says that it is from
those vectors, and lacks 19, 41 and 72."""


FAST = "ddl-limits|sql-checks|sql-foreign-keys.*|sql-lengths"
"""Recordings that are not marked slow: those that are played in a second or two."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    parametrize(metafunc, "recording", RECORDINGS, "*.jsonl.gz", FAST, ".jsonl.gz")


class SentJob(NamedTuple):
    type: int


class SentJobs:
    """The types of the jobs that TiCDC would send since they were asked for last; messages wait until the end, as
    sending them after each statement would take four times as long as all else."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._sent: list[SentJob] = []
        self._execute = open_changefeed.execute_statement
        patch.setattr(open_changefeed, "execute_statement", self._planned)
        patch.setattr(open_changefeed.OpenChangefeed, "deliver", lambda changefeed: None)

    def _planned(self, *arguments: Any) -> Any:
        planned = self._execute(*arguments)
        self._sent += (SentJob(event.type_code) for job in planned[1].jobs for event in job.events)
        return planned

    def taken(self) -> list[SentJob]:
        taken, self._sent = self._sent, []
        return taken


LITERAL = re.compile(r"INSERT (?:IGNORE )?INTO \w+ VALUES \((\d+), ")
"""An INSERT of `sql-literals-*`: a literal with an id of its own into a column of some type."""

LITERALS = 10
"""INSERTs of `sql-literals-*` of which one is played, unless `--everything` is given."""


def some_literals(recording: Path, directory: Path, request: pytest.FixtureRequest) -> Path:
    """A recording without most of its INSERTs, and without their rows in the tables."""
    kept, left, sample = set[str](), 0, directory / recording.name
    with gzip.open(recording, "rt") as lines, gzip.open(sample, "wt") as out:
        for line in map(json.loads, lines):
            if line["sql"].startswith("CREATE TABLE"):
                kept.clear()
            if found := LITERAL.match(line["sql"]):
                if zlib.crc32(line["sql"].encode()) % LITERALS:
                    left += 1
                    continue
                kept.add(found[1])
                for table in line.get("tables", {}).values():
                    table["rows"] = [row for row in table["rows"] if row[0] in kept]
            out.write(json.dumps(line) + "\n")
    left_out(request, left, "INSERT")
    return sample


def rows_differ(recorded: Json, got: list[Json]) -> Any:
    """`rows_differ` of that script, which compares each row with each, of the rows that are not equal as they stand."""
    names = recorded["columns"]
    if got and set(got[0]) == set(names):
        left: dict[object, list[Json]] = {}
        for row in got:
            left.setdefault(key([row[name] for name in names]), []).append(row)
        rows = [row for row in recorded["rows"] if not ((alike := left.get(key(row))) and alike.pop())]
        recorded, got = {**recorded, "rows": rows}, [row for alike in left.values() for row in alike]
    return CHECK["rows_differ"](recorded, got)


def key(row: list[Any]) -> object:
    """What only rows have that are the same by that script."""
    return tuple(
        value if value is None or isinstance(value, bytes) else str(value) for value in map(CHECK["value"], row)
    )


class CreateTexts:
    """Holds SHOW CREATE TABLE behind each statement of a recording against what TiDB showed."""

    def __init__(self, recording: Path, execute: Any) -> None:
        self._lines = map(json.loads, gzip.open(recording, "rt"))
        self._execute = execute
        self.compared, self.different = 0, list[str]()
        self.ticdc: Any = None

    def execute(self, player: Any, sql: str) -> Any:
        answer, self.ticdc = self._execute(player, sql), player.ticdc
        if not sql.startswith("SET time_zone = '+00:00'; SET timestamp"):  # what the player itself sets
            line = next(line for line in self._lines if line["sql"] == sql)
            if answer[0] == line.get("error", 0):
                for name, text in line.get("created", {}).items():
                    self._compare(player, name, text, sql)
        return answer

    def _compare(self, player: Any, name: str, text: str, sql: str) -> None:
        quoted = ".".join(map(quote_name, name.split(".", 1)))
        shown = player.ticdc.execute(f"SHOW CREATE TABLE {quoted}").rows[0][1]
        self.compared += 1
        if shown != text:
            self.different.append(f"{sql}\n{text}\n{shown}")


def test_the_simulator_answers_as_tidb_did(
    recording: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Success or the error's number, rows of tables and SELECTs, types of DDL jobs, SHOW CREATE TABLE; no statement
    crashes or hangs, and all can be sent."""
    if recording.name.startswith("sql-literals") and not request.config.getoption("--everything"):
        recording = some_literals(recording, tmp_path, request)
    created = CreateTexts(recording, CHECK["Player"].execute)
    before = signal.signal(signal.SIGALRM, CHECK["alarm"])
    found: Counter[str] = Counter()
    differences = tmp_path / "differences.jsonl"
    try:
        with monkeypatch.context() as patch, differences.open("w") as out:
            jobs = SentJobs(patch)
            patch.setattr(CHECK["Player"], "execute", lambda player, sql: created.execute(player, sql))
            patch.setattr(CHECK["Player"], "events", lambda player: jobs.taken())
            patch.setitem(CHECK["play"].__globals__, "SENT", REPLICATED)
            patch.setitem(CHECK["play"].__globals__, "LIMIT_S", LONGEST_S)
            patch.setitem(CHECK["play"].__globals__, "rows_differ", rows_differ)
            CHECK["play"](recording, RELEASE, out, found)
    finally:
        signal.signal(signal.SIGALRM, before)
    created.ticdc.close()

    shown = f"{found}\n{differences.read_text()[:4000]}"
    assert 0 == found["crash"], shown
    name = recording.name.partition(".")[0]
    assert found["equal"] >= FEWER_EQUAL.get(name, LEAST_EQUAL) * found["compared"], shown
    most = MOST_REFUSED * (found["compared"] + found["refused"])
    assert found["refused"] <= MORE_REFUSED.get(name, most), shown
    assert len(created.different) <= MOST_OTHER_TEXTS * created.compared, "\n".join(created.different)[:4000]
