"""Scenario files: settings, snapshots and waits in a row, every mistake in them, and the JSON Schema for editors."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import jsonschema
import pytest
from support.databases import Rows, Table, state, write
from support.playing import BY_KEY, assert_leads, error_of, play

from simulator import tso
from simulator.cli.scenarios import scenario_schema
from simulator.errors import ScenarioError
from simulator.reader.decode import Event, RowEvent, Watermark, decode
from simulator.reader.records import read_records
from simulator.run import scenario
from simulator.run.scenario import load as load_scenario
from simulator.run.steps import STEPS
from simulator.run.steps.kind import KeyGroup, StepKind, WaitStep
from simulator.settings import Key, to_text
from simulator.ticdc.changefeed import load

TOMLS = (Path(__file__).parent.parent.parent / "scenarios").rglob("*.toml")
SHIPPED = sorted(path for path in TOMLS if "[[step]]" in path.read_text())
VALIDATOR = jsonschema.Draft202012Validator(scenario_schema())
URI = "kafka://127.0.0.1:9092/shop?protocol=canal-json&enable-tidb-extension=true&partition-num=2"
START = 450_000_000_000_000_000
"""Beginning of time in all runs: a TSO whose millisecond is START_MS."""
START_MS = START >> 18

MONDAY: Rows = [[key, "monday"] for key in range(30)]
TUESDAY: Rows = [[key, "tuesday" if key % 2 else "monday"] for key in range(5, 40)]
WEDNESDAY: Rows = [[key, "wednesday"] for key in range(20, 25)]
DAYS = {"monday": MONDAY, "tuesday": TUESDAY, "wednesday": WEDNESDAY}
STATEMENT = "CREATE TABLE `orders` (`id` int PRIMARY KEY, `day` varchar(9))"
SETTINGS = f"""\
sink-uri = "{URI}"
config = "../rules/changefeed.toml"
release = "v8.5.3"
architecture = "classic"
start-ts = {START}
over = "10s"
resolved-interval = "2s"
speed = "max"
seed = 7
"""
BARE = '[[step]]\nsnapshot = "../monday"\n[[step]]\nsnapshot = "../tuesday"\n'
WEEK = """
[[step]]
snapshot = "../monday"
[[step]]
wait = "1m"
[[step]]
snapshot = "../tuesday"
[[step]]
snapshot = "../wednesday"
over = "1500ms"
[[step]]
wait = "30s"
[[step]]
snapshot = "../monday"
[[step]]
wait = "5s"
"""
SPANS = ((60_001, 70_001), (70_003, 71_503), (101_505, 111_505))
"""Between which milliseconds since the start each change of the week happens."""


def table(day: str) -> Table:
    return Table(STATEMENT, DAYS[day])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Snapshots of three days, and scenarios in a directory beside them."""
    made = tmp_path_factory.mktemp("scenarios")
    for day in DAYS:
        write(made / day, [table(day)], 0)
    for directory in ("rules", "plays"):
        (made / directory).mkdir()
    (made / "rules" / "changefeed.toml").write_text(BY_KEY)
    (made / "plays" / "bare.toml").write_text(BARE)
    (made / "plays" / "two.toml").write_text(SETTINGS + BARE)
    (made / "plays" / "week.toml").write_text(SETTINGS + WEEK)
    return made


@pytest.fixture(scope="module")
def two(folder: Path) -> Path:
    """Fixtures of the scenario of two snapshots."""
    assert play("run", folder / "plays" / "two.toml", "--fixtures", folder / "two", "--master", "none") == 0
    return folder / "two"


@pytest.fixture(scope="module")
def week(folder: Path) -> Path:
    """Fixtures of the scenario of a week, and its summary beside them."""
    options = ("--fixtures", folder / "week", "--summary", folder / "week.json", "--master", "none")
    assert play("run", folder / "plays" / "week.toml", *options) == 0
    return folder / "week"


def events(fixtures: Path) -> list[tuple[int, Event]]:
    """Partition and event, each partition in its order."""
    return [
        (record.partition, event)
        for record in read_records(str(fixtures))
        for event in decode(record.key, record.value)
    ]


def rows(fixtures: Path) -> list[tuple[int, RowEvent]]:
    """Rows of all partitions with the milliseconds since the start at which they were committed, in that order."""
    found = [event for _, event in events(fixtures) if isinstance(event, RowEvent)]
    return sorted(((moment(event.commit_ts or 0), event) for event in found), key=lambda pair: pair[0])


def moment(ts: int) -> int:
    return tso.physical(ts) - START_MS


def marks(fixtures: Path, partition: int) -> list[int]:
    return [event.ts for where, event in events(fixtures) if where == partition and isinstance(event, Watermark)]


def lines(fixtures: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in fixtures.rglob("*.jsonl")}


def test_diff_is_the_scenario_of_two_snapshots(folder: Path, two: Path) -> None:
    """Byte for byte, whether a file says the settings or the command line does."""
    said = ("--sink-uri", URI, "--config", folder / "rules" / "changefeed.toml", "--start-ts", START)
    times = ("--over", "10s", "--resolved-interval", "2s", "--seed", 7, "--release", "v8.5.3", "--master", "none")
    assert play("diff", folder / "monday", folder / "tuesday", "--fixtures", folder / "diff", *said, *times) == 0
    assert lines(folder / "diff") == lines(two)
    assert sorted(lines(two)) == ["0.jsonl", "1.jsonl"]


@pytest.mark.slow
def test_several_snapshots_lead_from_each_to_the_next(week: Path) -> None:
    definitions = {table("monday").name: table("monday").definition}
    monday = state([table("monday")], 0)
    assert_leads(read_records(str(week)), load(URI, BY_KEY), {"shop": 2}, definitions, monday, monday)
    held = {str(key): day for key, day in MONDAY}
    for day, (first, end) in zip(("tuesday", "wednesday", "monday"), SPANS, strict=True):
        for event in (event for at, event in rows(week) if first < at <= end):
            before, after = event.before or event.after or {}, event.after
            held.pop(str(before["id"]), None)
            held |= {str(after["id"]): str(after["day"])} if after else {}
        assert held == {str(key): text for key, text in DAYS[day]}


def test_a_wait_moves_what_follows_and_has_only_watermarks(two: Path, week: Path) -> None:
    """The rows of the first change are those of the scenario without a wait, a minute later; each change takes as long
    as its step says, else the whole scenario, and the steps follow each other."""
    first = [(at, event.op, event.after) for at, event in rows(two)]
    assert first == [(at - 60_000, event.op, event.after) for at, event in rows(week) if at <= SPANS[0][1]]
    times = [at for at, _ in rows(week)]
    assert set(times).isdisjoint(range(60_000))
    assert {2_000, 30_000, 58_000} < {moment(mark) - 1 for mark in marks(week, 0)}
    found = [[at for at in times if first < at <= last] for first, last in SPANS]
    assert sum(map(len, found)) == len(times)
    assert all(max(at) - min(at) > (last - first) / 2 for at, (first, last) in zip(found, SPANS, strict=True))


def test_watermarks_come_at_their_interval_and_the_last_one_at_the_end(folder: Path, week: Path) -> None:
    """The rate that the summary says counts the time of sending, which begins when everything was read and compared."""
    summary = json.loads((folder / "week.json").read_text())
    for partition in range(2):
        found = marks(week, partition)
        steps = {moment(after) - moment(before) for before, after in zip(found, found[1:-1])}
        assert (steps, moment(found[0])) == ({2_000}, 2_001)
        assert (found[-1], moment(found[-1])) == (summary["end_ts"], 116_507)
    assert (moment(summary["start_ts"]), summary["rows"]) == (1, len(rows(week)))
    sending, count = summary["sending_seconds"], summary["rows"]
    assert 0 < sending < summary["seconds"]
    assert count / (sending + 0.001) - 1 < summary["rows_per_second"] < count / (sending - 0.0006) + 1


def test_the_command_line_wins_over_the_file(folder: Path, two: Path) -> None:
    """Another seed, time, length, interval, sink-uri: the same changes at other times, in other places."""
    uri, other = URI.replace("/shop", "/elsewhere").replace("partition-num=2", "partition-num=3"), folder / "other"
    times = ("--start-ts", "2030-01-01T00:00:00+01:00", "--over", "1s", "--resolved-interval", "100ms", "--seed", "8")
    options = ("--sink-uri", uri, *times, "--fixtures", other, "--master", "none")
    assert play("run", folder / "plays" / "two.toml", *options) == 0
    start = 1_893_452_400_000
    found = [(event.commit_ts or 0) >> 18 for _, event in rows(other)]
    assert start < min(found) and max(found) <= start + 1_001
    assert len(marks(other, 2)) == 11 and len(lines(other / "elsewhere")) == 3
    changes = [[(event.op, str(event.before), str(event.after)) for _, event in rows(each)] for each in (two, other)]
    assert sorted(changes[0]) == sorted(changes[1])
    assert changes[0] != changes[1]


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_scenario_is_valid(path: Path) -> None:
    """tests/scenarios plays them."""
    VALIDATOR.validate(tomllib.loads(path.read_text("utf-8")))


@pytest.mark.slow
def test_the_shipped_airports_play(tmp_path: Path) -> None:
    (path,) = (path for path in SHIPPED if path.stem == "airports")
    assert play("run", path, "--fixtures", tmp_path / "out", "--master", "none") == 0
    assert len(events(tmp_path / "out")) > 500


def test_editors_get_the_schema_of_scenario_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert play("scenarios", "--schema") == 0
    printed = json.loads(capsys.readouterr().out)
    VALIDATOR.check_schema(printed)
    assert printed == VALIDATOR.schema and printed["$id"] == "urn:ticdc-simulator:scenario"

    for other in ("bank", "--json"):
        assert play("scenarios", "--schema", other) == 2
        assert "give neither NAME nor --json with it" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text",
    [
        "[[step]]\nsql = 1\n",
        '[[step]]\nwait = "5"\n',
        '[[step]]\nwait = "5s"\nover = "5s"\n',
        "seed = 1\n",
        '[[step]]\nsql = "SELECT 1"\nsnapshot = "x"\n',
        'sinkuri = "x"\n[[step]]\nsql = "SELECT 1"\n',
    ],
)
def test_what_the_reader_refuses_is_not_valid(text: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        VALIDATOR.validate(tomllib.loads(text))


@pytest.mark.parametrize(("text", "words"), [
    ('sinkuri = "x"\n' + BARE, ["unknown key 'sinkuri'. Did you mean 'sink-uri'?"]),
    ('[[step]]\nsnapshto = "x"\n' + BARE, ["step 1: unknown key 'snapshto'. Did you mean 'snapshot'?",
                                           "step 1: exactly one of sql, sql-file, snapshot, generate, wait, expect, "]),
    ('over = "1 minute"\nseed = "x"\nspeed = -1\n' + BARE, ["over: bad duration '1 minute'", "seed: bad seed 'x'",
                                                            "speed: bad speed '-1'"]),
    (BARE + '[[step]]\nwait = "5"\n', ["step 3: wait: bad duration '5'"]),
    (BARE + '[[step]]\nwait = "5s"\nover = "5s"\n', ["step 3: over: only a step in which rows change is spread over"]),
    ('[[step]]\nsnapshot = "a"\nover = "1s"\n[[step]]\nwait = "1s"\n', ["step 1: over: only a snapshot that follows"]),
    ('[[step]]\nwait = "1s"\n' + BARE, ["the first [[step]] must be one of sql, sql-file, snapshot"]),
    ('[[step]]\nsnapshot = "../monday"\n', ["after the first snapshot, another one or SQL is expected"]),
    ('[[step]]\nsnapshot = "../monday"\n[[step]]\nwait = "1m"\n', ["another one or SQL is expected"]),
    ("[step]\n", ["step must be a list of tables"]),
    ("seed = 1\n", ["the first [[step]] must be one of sql, sql-file, snapshot"]),
    ("seed = 99999999999999999999999\n" + BARE, ["seed: bad seed 99999999999999999999999: expected"]),
    ("a = \n", ["is not TOML", "line 1"]),
    ('config = ""\n' + BARE, ["line 1: config: expected a path, got an empty text"]),
    ('[[step]]\nsql-file = ""\n', ["line 2: step 1: sql-file: expected a path, got an empty text"]),
    ('[[step]]\nsnapshot = " "\n', ["line 2: step 1: snapshot: expected a path, got an empty text"]),
    (BARE + '[[step]]\nsnapshot = "a"\nddl = ""\n', ["ddl: expected a path, got an empty text"]),
])  # fmt: skip
def test_every_mistake_is_named_at_once(folder: Path, text: str, words: list[str]) -> None:
    """In lines that name the file, before anything is started."""
    path = folder / "plays" / "mistaken.toml"
    path.write_text(text)
    said = error_of("run", path, "--sink-uri", URI, "--console")
    assert [word for word in words if word not in said] == []
    assert str(path) in said and "Traceback" not in said


def test_a_kind_of_step_is_known_to_the_registry_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One more there is read, is named where a step is none, and its keys are refused in steps of other kinds."""
    hours = KeyGroup({"hours": Key("hours", int)}, "only a nap has hours", first=True)
    nap = StepKind(to_text, lambda _, values, file: WaitStep(3_600_000 * int(values["hours"])), (hours,), starts=True)
    monkeypatch.setattr(scenario, "STEPS", {**STEPS, "nap": nap})
    path = tmp_path / "naps.toml"
    path.write_text(BARE + '[[step]]\nnap = "deep"\nhours = 2\n')
    assert load_scenario(path).steps[-1] == WaitStep(7_200_000)
    path.write_text('[[step]]\nnap = "light"\nhours = 1\n' + BARE)
    assert load_scenario(path).steps[0] == WaitStep(3_600_000)
    path.write_text(BARE + '[[step]]\nwait = "1s"\nhours = 2\n[[step]]\nhours = 2\n')
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    assert [line.partition(": ")[2] for line in caught.value.args] == [
        "line 7: step 3: hours: only a nap has hours",
        "line 8: step 4: exactly one of sql, sql-file, snapshot, generate, wait, expect, fault, nap is expected",
    ]


STEPS_OF_SQL = """
[[step]]
sql = "CREATE TABLE t (id INT PRIMARY KEY); INSERT INTO t VALUES (1)"
[[step]]
name = "second"
sql = "CREATE TABLE u (id INT PRIMARY KEY); INSERT INTO u VALUES (2); DELETE FROM t"
[[step]]
name = "third"
sql = "INSERT INTO t VALUES (3); INSERT INTO u VALUES (3)"
"""


def part(directory: Path, *options: object) -> list[tuple[int, str]]:
    """Rows and statements of a part of the scenario, however they are batched, by commit-ts."""
    path, out = directory / "story.toml", directory / "-".join(map(str, ("out", *options)))
    path.write_text(STEPS_OF_SQL)
    uri = "kafka://127.0.0.1:9092/all?protocol=open-protocol&partition-num=1"
    assert play("run", path, "--sink-uri", uri, "--fixtures", out, *options) == 0
    found = (event for _, event in events(out) if not isinstance(event, Watermark))
    return sorted((event.commit_ts or 0, repr(event)) for event in found)


@pytest.mark.slow
@pytest.mark.parametrize(("second", "third"), [("second", "third"), ("2", "3")])
def test_what_comes_before_a_part_happens_without_being_sent(tmp_path: Path, second: str, third: str) -> None:
    """Times, rows and tables are those of the whole run; the parts make the whole."""
    parts = (("--until", "1"), ("--from", second, "--until", second), ("--from", third))
    found = [part(tmp_path, *options) for options in parts]
    assert [event for each in found for event in each] == part(tmp_path)
    assert min(map(len, found)) > 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--from", "secnd"), "--from 'secnd': no such step. Did you mean 'second'? Steps: 1, 2 second, 3 third"),
        (("--until", "4"), "--until '4': no such step."),
        (("--from", "3", "--until", "2"), "--until 2: this step comes before --from 3"),
    ],
)
def test_steps_that_are_not_there_are_named(tmp_path: Path, options: tuple[str, ...], words: str) -> None:
    path = tmp_path / "story.toml"
    path.write_text(STEPS_OF_SQL)
    assert words in error_of("run", path, "--console", *options)
