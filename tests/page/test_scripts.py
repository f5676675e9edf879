"""Stories and scenarios of a page: what is saved can be played, and what is opened becomes SQL."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator import releases
from simulator.errors import UserError
from simulator.page.scripts import Executed, is_playable, open_shipped, open_text, scenario, story
from simulator.run.scenario import find_shipped, load, shipped
from simulator.run.steps.fault import FaultStep
from simulator.run.steps.kind import WaitStep
from simulator.run.steps.sql import SqlStep

LOG = (
    Executed("one", "CREATE TABLE test.t (id INT PRIMARY KEY)", 0, 1),
    Executed("one", "INSERT INTO test.t VALUES (1)", 0, 2),
    Executed("one", "INSERT INTO test.t VALUES (1)", 1062, 3),
    Executed("one", "CALL ticdc.wait('3s')", 0, 4),
    Executed("one", "CALL ticdc.fault('restart')", 1105, 5),
    Executed("one", "CALL ticdc.fault('late-partition', 'partition=0', 'by=2s', 'changefeed=a')", 0, 5),
    Executed("one", "CALL ticdc.watermark()", 0, 6),
    Executed("one", "INSERT INTO test.t VALUES (2)", 0, 7),
)
URI = "kafka://127.0.0.1:9092/t?protocol=canal-json"


def test_a_story_says_which_statements_fail() -> None:
    assert story(LOG[:3]) == (
        "CREATE TABLE test.t (id INT PRIMARY KEY);\n"
        "INSERT INTO test.t VALUES (1);\n"
        "-- fails 1062\n"
        "INSERT INTO test.t VALUES (1);\n"
    )


def test_commands_that_failed_are_left_out_of_a_story() -> None:
    """They have done nothing, whatever was wrong with them; a client that plays the story would end there."""
    failed = ["CALL ticdc.fault('restart')", "CALL ticdc.fly()", "CALL ticdc.fault(x=)"]

    log = [*LOG[3:4], *(Executed("one", text, 1105, 5) for text in failed), *LOG[-1:]]

    assert story(log) == "CALL ticdc.wait('3s');\nINSERT INTO test.t VALUES (2);\n"
    assert "fault" not in scenario(log, releases.find("v8.5.3"), URI)


def test_a_saved_scenario_is_one_that_run_plays(tmp_path: Path) -> None:
    """Commands become steps."""
    (tmp_path / "saved-changefeed.toml").write_text("[filter]\nrules = ['*.*']\n")
    (file := tmp_path / "saved.toml").write_text(
        scenario(LOG, releases.find("v8.5.4", "new"), URI, "Asia/Shanghai", "saved-changefeed.toml")
    )

    loaded = load(file)

    assert [type(step) for step in loaded.steps] == [SqlStep, WaitStep, FaultStep, SqlStep]
    assert (loaded.settings.release, loaded.settings.architecture) == ("v8.5.4", "new")
    assert (loaded.settings.sink_uri, loaded.settings.tz) == (URI, "Asia/Shanghai")
    assert loaded.steps[1] == WaitStep(3000)
    assert isinstance(loaded.steps[2], FaultStep)
    assert loaded.steps[2].values == {"partition": 0, "by_ms": 2000}


@pytest.mark.parametrize("text", ["'''", "\x7f", "\r\n", 'a "quoted" \\ text', "日本\n'"])
def test_any_sql_is_kept_in_a_scenario(tmp_path: Path, text: str) -> None:
    statement = "SELECT '{}'".format(text.replace("\\", "\\\\").replace("'", "''"))
    (file := tmp_path / "saved.toml").write_text(
        scenario([Executed("one", statement, 0, 1)], releases.find("v8.5.3"), URI), newline=""
    )

    (step,) = load(file).steps

    assert isinstance(step, SqlStep)
    assert [each.text for each in step.statements] == [statement]


def test_what_is_saved_as_a_scenario_is_opened_as_the_same_sql() -> None:
    opened = open_text("saved.toml", scenario(LOG, releases.find("v7.5.4"), URI))

    assert (opened.release, opened.sink_uri) == ("classic:v7.5.4", URI)
    steps = [each for each in LOG if each.at_ms != 6]
    assert opened.sql.split() == story(steps).replace(", 'changefeed=a'", "").split()


def test_a_file_of_sql_is_opened_as_it_is() -> None:
    assert open_text("a.sql", "SELECT 1").sql == "SELECT 1"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a = ", "is not TOML"),
        ("a = 1", "has no \\[\\[step\\]\\]"),
        ("[[step]]\nsnapshot = '/etc'", "step 1: a page plays SQL, waits and faults"),
        ("[[step]]\nsql-file = '/etc/passwd'", "step 1: a page plays"),
        ("[[step]]\nsql = 'SELECT 1'\n[step.fault]\nkind = 'restart'", "step 1: a page plays"),
    ],
)
def test_what_a_page_cannot_play_is_refused(text: str, why: str) -> None:
    """Files that a scenario names are never read for a page."""
    with pytest.raises(UserError, match=why):
        open_text("mine.toml", text)


def test_the_changefeed_of_a_users_file_is_not_read() -> None:
    assert open_text("mine.toml", "config = '/etc/passwd'\n[[step]]\nsql = 'SELECT 1'").config == ""


def test_scenarios_of_the_library_become_sql() -> None:
    playable = [each for each in shipped().values() if is_playable(each)]

    assert len(playable) > 30
    for each in playable:
        assert open_shipped(each).sql
    opened = open_shipped(find_shipped("pk-update"))
    assert opened.sql.startswith("CREATE TABLE clustered")
    assert "sink" in opened.config
    assert "-- here the scenario checks" in opened.sql
