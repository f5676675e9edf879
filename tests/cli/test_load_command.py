"""`ticdc-sim load` as users type it: plans, presets, options that do not go together, where a run ends and goes on."""

from __future__ import annotations

import json
import os
import re
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.cut_short import held
from support.playing import assert_leads, play, state, tables_of
from support.processes import errors, started, wait_until

from simulator.consumer.decode import DdlEvent, RowEvent, Watermark, decode
from simulator.consumer.records import Record, read_records
from simulator.run import library
from simulator.sinks.kafka import connect
from simulator.ticdc.changefeed import load as load_changefeed

OPTIONS = "protocol=canal-json&enable-tidb-extension=true&partition-num=2"
URI = f"kafka://127.0.0.1:9/load?{OPTIONS}"
LOAD = ("load", "--master", "none", "--sink-uri", URI)
BY_KEY = '[sink]\ndispatchers = [{matcher = ["*.*"], partition = "index-value"}]\n'
PLAN = """\
name = "fair"
rows-per-second = 400

[[table]]
definition = "CREATE TABLE fair.visitor (id INT PRIMARY KEY, name VARCHAR(80), points INT)"
rows = 50

[[ddl]]
every = "400ms"
kinds = ["add-column", "drop-column", "add-index", "drop-index", "truncate"]
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    file = tmp_path / "plan.toml"
    file.write_text(PLAN)
    return file


def assert_true(fixtures: Path, truth: Path, uri: str, toml: str = "") -> list[Record]:
    """The stream keeps the contract, and leads from nothing to the truth that was written."""
    changefeed, records = load_changefeed(uri, toml), list(read_records(str(fixtures)))
    partitions = {changefeed.topic: changefeed.kafka.partitions}
    assert_leads(records, changefeed, partitions, tables_of(truth), {}, state(truth))
    return records


@pytest.mark.slow
@pytest.mark.parametrize("name", library.preset_names())
def test_every_preset_keeps_the_contract_and_leads_to_its_truth(name: str, tmp_path: Path) -> None:
    """Its tables begin with fewer rows here, so that many of the changes are those of the mix."""
    text = re.sub(
        r"^rows = (\d+)",
        lambda found: f"rows = {min(int(found[1]), 40)}",
        library.preset_file(name).read_text("utf-8"),
        flags=re.M,
    )
    text = text.replace('initial = "present"', "").replace("32KiB", "4KiB")
    (tmp_path / "plan.toml").write_text(text)
    (tmp_path / "changefeed.toml").write_text(BY_KEY)

    outputs = "--fixtures", tmp_path / "out", "--truth", tmp_path / "truth"
    assert (
        play(
            *LOAD,
            tmp_path / "plan.toml",
            "--config",
            tmp_path / "changefeed.toml",
            *outputs,
            "--rate",
            "400",
            "--duration",
            "1s",
        )
        == 0
    )

    records = assert_true(tmp_path / "out", tmp_path / "truth", URI, BY_KEY)
    assert len({record.partition for record in records if record.key is not None or record.value}) == 2


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["canal-json&enable-tidb-extension=true", "open-protocol"])
def test_statements_come_at_intervals(protocol: str, plan: Path, tmp_path: Path) -> None:
    uri = f"kafka://127.0.0.1:9/load?protocol={protocol}&partition-num=2"

    outputs = "--fixtures", tmp_path / "out", "--truth", tmp_path / "truth"
    assert play(*LOAD, plan, "--sink-uri", uri, *outputs, "--duration", "3s", "--seed", "3") == 0

    records = assert_true(tmp_path / "out", tmp_path / "truth", uri)
    events = [event for record in records for event in decode(record.key, record.value)]
    texts = [event.query for event in events if isinstance(event, DdlEvent)]
    assert [
        word
        for word in ("ADD COLUMN", "DROP COLUMN", "ADD INDEX", "DROP INDEX", "TRUNCATE")
        if not any(word in text for text in texts)
    ] == []


def test_the_same_plan_gives_the_same_bytes_and_another_seed_others(plan: Path, tmp_path: Path) -> None:
    given = [("one", "1"), ("two", "1"), ("three", "2")]
    for directory, seed in given:
        assert play(*LOAD, plan, "--fixtures", tmp_path / directory, "--seed", seed, "--duration", "1s") == 0

    one, two, three = (
        [(tmp_path / directory / "load" / f"{number}.jsonl").read_bytes() for number in range(2)]
        for directory, _ in given
    )
    assert one == two
    assert one != three


def test_a_unique_text_may_come_from_a_provider(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Also in an epoch that inserts no row of the table."""
    (tmp_path / "plan.toml").write_text(
        """
        [[table]]
        definition = "CREATE TABLE shop.c (id BIGINT PRIMARY KEY, email VARCHAR(120) UNIQUE)"
        rows = 20
        mix = {inserts = 1}
        columns = {email = "email"}
        """
    )
    assert play("load", tmp_path / "plan.toml", "--console", "--duration", "1ms") == 0
    assert "email=" in capsys.readouterr().out


def summary_of(plan: Path, directory: Path, *arguments: object) -> dict[str, Any]:
    """The summary of a load into `directory`/out."""
    summary = directory / "summary.json"
    assert play(*LOAD, plan, "--fixtures", directory / "out", "--summary", summary, *arguments) == 0
    document: dict[str, Any] = json.loads(summary.read_text())
    return document


@pytest.mark.slow
def test_the_summary_and_the_report_are_written(plan: Path, tmp_path: Path) -> None:
    summary = summary_of(plan, tmp_path, "--duration", "1s", "--report", tmp_path / "report.html")

    rows = [
        event
        for record in read_records(str(tmp_path / "out"))
        for event in decode(record.key, record.value)
        if isinstance(event, RowEvent)
    ]
    assert (summary["plan"], summary["rows"], summary["simulated_ms"]) == ("fair", len(rows), 1000)
    assert "<title>Load: fair</title>" in (tmp_path / "report.html").read_text()


def test_the_console_shows_messages(plan: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert play("load", plan, "--console", "--sink-uri", URI, "--duration", "200ms", "--rate", "100") == 0

    shown = capfd.readouterr().out
    assert "INSERT fair.visitor id=1 " in shown
    assert shown.rstrip().splitlines()[-1].endswith("WATERMARK")


def test_a_plan_is_printed_as_it_is(plan: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert play("load", plan, "--print-plan") == 0
    assert capfd.readouterr().out == PLAN
    assert play("load", "--preset", "shop", "--print-plan") == 0
    assert capfd.readouterr().out == library.preset_file("shop").read_text("utf-8")


def watermarks(records: list[Record]) -> list[int]:
    """Of all partitions."""
    events = (event for record in records for event in decode(record.key, record.value))
    return [event.ts for event in events if isinstance(event, Watermark)]


KAFKA = ("--sink-uri", "kafka://127.0.0.1:9/load")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (
            (),
            "a plan is expected, and one alone: PLAN.toml, or --preset with one of bank, documents, large-rows, shop,",
        ),
        (("PLAN", "--preset", "shop"), "a plan is expected, and one alone"),
        (("--preset", "shpo", *KAFKA), "no preset 'shpo'. Did you mean 'shop'? Presets: bank, documents,"),
        (("nowhere.toml", *KAFKA), "cannot read nowhere.toml: No such file or directory"),
        (("PLAN",), "no sink-uri: give --sink-uri 'kafka://host:port/topic?protocol=open-protocol', or --console or"),
        (("PLAN", "--console", "--fixtures", "out"), "--console and --fixtures exclude each other: choose one"),
        (
            ("PLAN", "--console", "--master", "local[2]"),
            "--console needs --master none: one process shows all messages",
        ),
        (
            ("PLAN", "--fixtures", "out", "--fixtures-format", "parquet"),
            "--fixtures-format parquet needs --master none",
        ),
        (("PLAN", "--console", "--resume"), "--resume is about Kafka and storages: --console contacts none"),
        (("PLAN", "--console", "--driver", "confluent"), "--driver confluent is about Kafka: --console contacts none"),
        (("PLAN", *KAFKA, "--driver", "librdkafka"), "'librdkafka' is not one of 'kafka-python', 'confluent'"),
        (
            ("PLAN", *KAFKA, "--driver", "confluent", "--plain-producer"),
            "--plain-producer is about kafka-python: --driver",
        ),
        (("PLAN", "--fixtures", "out", "--consumer-group", "g"), "--consumer-group: a group has lag on Kafka only"),
        (("PLAN", *KAFKA, "--until-lag", "5"), "--until-lag 5 needs --consumer-group GROUP: whose lag?"),
        (
            ("PLAN", *KAFKA, "--until-lag", "5", "--consumer-group", "g", "--rate", "0s:1, 5s:2"),
            "--until-lag begins with a number of rows/s and changes that itself, not with --rate '0s:1, 5s:2'",
        ),
        (
            ("PLAN", *KAFKA, "--until-lag", "5", "--consumer-group", "g", "--rate", "500", "--max-rate", "400"),
            "--until-lag begins with 500 rows/s, above --max-rate 400",
        ),
        (("PLAN", *KAFKA, "--max-rate", "400"), "--max-rate limits the search of --until-lag N"),
        (("PLAN", *KAFKA, "--max-rate", "0"), "--max-rate"),
        (("PLAN", *KAFKA, "--rate", "fast"), "bad rate 'fast': 'fast' is no rate; expected rows a second (60000),"),
        (("PLAN", *KAFKA, "--duration", "5"), "bad duration '5': expected a number and a unit"),
        (("PLAN", *KAFKA, "--release", "v1.0.0"), "unknown TiCDC release 'v1.0.0'"),
        (("PLAN", *KAFKA, "--summary", "no/such.json"), "--summary no/such.json: there is no directory no"),
        (("PLAN", *KAFKA, "--report", "no/such.html"), "--report no/such.html: there is no directory no"),
        (("PLAN", *KAFKA, "--metrics-address", "::1"), "--metrics-address ::1 needs --metrics-port PORT"),
        (("PLAN", *KAFKA, "--truth", "plan.toml"), "--truth plan.toml is a file: give a new or empty directory"),
    ],
)
def test_what_cannot_be_asked_is_one_line(
    arguments: tuple[str, ...],
    error: str,
    plan: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(plan.parent)

    assert play("load", *(str(plan.name) if argument == "PLAN" else argument for argument in arguments)) == 2

    said = capfd.readouterr().err.splitlines()
    assert [error in line for line in said] == [True], said


def test_a_driver_that_is_not_installed_is_one_line_with_what_installs_it(
    plan: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connect, "find_spec", lambda name: None)

    assert play(*LOAD, plan, "--driver", "confluent", "--checkpoint", plan.parent / "stands") == 2

    assert capfd.readouterr().err.splitlines()[-1] == (
        "ticdc-sim: --driver confluent needs the Python package confluent-kafka: pip install confluent-kafka; "
        "kafka-python, the default, needs nothing more"
    )


@pytest.mark.parametrize(
    ("definition", "config", "error"),
    [
        ("CREATE TABLE fair.visit (at INT)", "", "no primary key and no unique key of NOT NULL columns: fair.visit; "),
        (
            "CREATE TABLE fair.visit (id INT PRIMARY KEY, n INT)",
            '[filter]\nrules = ["other.*"]\n',
            "no table to replicate: the changefeed's filter leaves out every table of the plan",
        ),
    ],
)
def test_what_the_changefeed_refuses_is_told(
    definition: str, config: str, error: str, plan: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    plan.write_text(f'[[table]]\ndefinition = "{definition}"\n')
    (plan.parent / "feed.toml").write_text(config)

    assert (
        play(*LOAD, plan, "--fixtures", plan.parent / "out", "--config", plan.parent / "feed.toml", "--duration", "1s")
        == 2
    )
    assert error in capfd.readouterr().err


def test_a_rate_in_bytes_is_turned_into_rows(plan: Path, tmp_path: Path) -> None:
    """By what rows of the plan have, as measured; the watermarks say how much simulated time went by."""
    summary = summary_of(plan, tmp_path, "--duration", "2s", "--rate", "100KiB")

    assert summary["bytes"] / 2 == pytest.approx(100 * 1024, rel=0.1)


SIGNALLED_TWICE = """
import signal
from simulator.sinks.files.formats import JsonLines
deliver = JsonLines._deliver
def delivered(*given):
    deliver(*given)
    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGTERM)
JsonLines._deliver = delivered
"""


def load_arguments(plan: Path, directory: Path) -> tuple[object, ...]:
    """The command that writes fixtures and truth into a directory."""
    return (*LOAD, plan, "--fixtures", directory / "out", "--truth", directory / "truth")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "signals", "words"),
    [
        (SIGNALLED_TWICE, (), "ended early: stopped by SIGTERM; no fixtures were written; no truth was written"),
        ("", (signal.SIGINT,), "ended early: interrupted"),
    ],
    ids=["twice", "once"],
)
def test_fixtures_are_there_behind_one_signal_and_told_to_be_missing_behind_two(
    plan: Path, tmp_path: Path, first: str, signals: tuple[int, ...], words: str
) -> None:
    """Nothing is counted that was thrown away."""
    summary, left = tmp_path / "summary.json", tmp_path / "left"
    with started(*load_arguments(plan, left), "--summary", summary, first=first) as process:
        wait_until(process, lambda: any(left.glob(".out*/*/*")))
        for number in signals:
            process.send_signal(number)
        assert process.stdout is not None
        said = [*errors(process), process.stdout.read()]
    assert (words in said, any("row changes in" in line for line in said)) == (True, bool(signals)), said
    assert sorted(path.name for path in left.iterdir()) == (["out", "truth"] if signals else [])
    assert json.loads(summary.read_text())["lost"] == (
        [] if signals else ["no fixtures were written", "no truth was written"]
    )
    assert process.returncode == (130 if signals else 143)


@pytest.mark.slow
def test_what_a_killed_run_leaves_is_cleared_away_by_the_next(plan: Path, tmp_path: Path) -> None:
    """Nothing of others, be it called alike."""
    left, foreign = tmp_path / "left", tmp_path / "left" / ".out-archived"
    arguments = load_arguments(plan, left)
    foreign.mkdir(parents=True)
    with started(*arguments) as process:
        wait_until(process, lambda: any(left.glob(".out.*/*/*")))
        process.kill()
    assert play(*arguments, "--duration", "1s") == 0
    assert sorted(path.name for path in left.iterdir()) == [".out-archived", "out", "truth"]


@pytest.mark.kafka
@pytest.mark.parametrize("command", ["load", "run"])
def test_a_topic_that_has_messages_is_told(
    command: str, plan: Path, kafka: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """As a changefeed's would, those of the run come behind them."""
    (tmp_path / "story.sql").write_text("CREATE TABLE t (id INT PRIMARY KEY);")
    arguments = (
        ["load", plan, "--duration", "1s", "--checkpoint", tmp_path / "c"]
        if command == "load"
        else ["run", tmp_path / "story.sql"]
    )
    told = []
    for _ in range(2):
        uri = f"kafka://{kafka}/{command}-again?{OPTIONS}"
        assert play(*arguments, "--master", "none", "--sink-uri", uri) == 0
        told.append([line for line in capfd.readouterr().err.splitlines() if line.startswith("warning: ")])
    assert told[0] == []
    assert re.fullmatch(
        rf"warning: topic {command}-again has [\d,]+ messages already, and those of this run come after them; verify "
        "and a consumer see both: name another topic for this run alone",
        told[1][0],
    )


@pytest.mark.kafka
def test_a_run_that_was_stopped_goes_on_and_another_one_is_refused(
    plan: Path, kafka: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """From the first row to the truth at the end; what comes twice lies behind the watermark that was repeated."""
    uri, checkpoint = f"kafka://{kafka}/load-resumed?{OPTIONS}", tmp_path / "stands"
    plan.write_text(PLAN.partition("[[ddl]]")[0])
    arguments = ["load", str(plan), "--master", "none", "--sink-uri", uri, "--checkpoint", str(checkpoint)]
    assert play(*arguments, "--resume") == 2
    assert f"nothing to --resume: there is no {checkpoint}/checkpoint.json" in capfd.readouterr().err

    with started(*arguments, "--rate", "200") as process:
        wait_until(process, lambda: len(held(kafka, "load-resumed")) > 100)
        os.killpg(process.pid, signal.SIGINT)
        said = errors(process)
        assert (process.returncode, said[-2:]) == (130, ["ended early: interrupted", "ticdc-sim: interrupted"])

    assert play(*arguments, "--rate", "200", "--duration", "1s") == 2
    assert "--resume goes on with it" in capfd.readouterr().err
    assert play(*arguments, "--resume", "--rate", "300", "--seed", "5") == 2
    assert (
        "is of another run: --seed was 0, now it is 5, --rate was 200 rows/s, now it is 300 rows/s; --resume takes "
        "what that run was given"
    ) in capfd.readouterr().err
    assert play(*arguments, "--resume", "--rate", "200", "--duration", "1s", "--truth", tmp_path / "truth") == 0
    assert not checkpoint.exists()
    changefeed, records = load_changefeed(uri), held(kafka, "load-resumed")
    assert_leads(records, changefeed, {"load-resumed": 2}, tables_of(tmp_path / "truth"), {}, state(tmp_path / "truth"))
    assert [count for count in Counter(watermarks(records)).values() if count > 2] == [4]
