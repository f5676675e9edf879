"""`ticdc-sim load` as users type it: plans, presets, truths, where a run ends and goes on."""

from __future__ import annotations

import json
import os
import re
import signal
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from support.cut_short import held
from support.playing import play, said, state
from support.processes import children, end_within, errors, started, wait_until

from simulator.reader.decode import RowEvent, Watermark, decode
from simulator.reader.records import Record, read_records
from simulator.reader.truth_metadata import FILE, read
from simulator.run import scenario
from simulator.sinks.kafka import library as kafka_library

pytestmark = pytest.mark.usefixtures("here")

OPTIONS = "protocol=canal-json&enable-tidb-extension=true&partition-num=2"
URI = f"kafka://127.0.0.1:9/load?{OPTIONS}"
LOAD = ("load", "--master", "none", "--sink-uri", URI)
OUTPUTS = ("--fixtures", "out", "--truth", "truth")
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


@pytest.fixture(autouse=True)
def plan(here: Path) -> Path:
    """PLAN in the working directory."""
    file = here / "plan.toml"
    file.write_text(PLAN)
    return file


def events_of(records: Iterable[Record]) -> list[object]:
    return [event for record in records for event in decode(record.key, record.value)]


@pytest.mark.slow
@pytest.mark.parametrize("name", scenario.preset_names())
def test_every_preset_keeps_the_contract_and_leads_to_its_truth(name: str, plan: Path) -> None:
    """Its tables begin with fewer rows here, so that many of the changes are those of the mix."""
    text = scenario.preset_file(name).read_text("utf-8").replace('initial = "present"', "").replace("32KiB", "4KiB")
    plan.write_text(re.sub(r"^rows = (\d+)", lambda found: f"rows = {min(int(found[1]), 40)}", text, flags=re.M))
    Path("feed.toml").write_text('[sink]\ndispatchers = [{matcher = ["*.*"], partition = "index-value"}]\n')
    assert play(*LOAD, "plan.toml", "--config", "feed.toml", *OUTPUTS, "--rate", "400", "--duration", "1s") == 0
    assert play("verify", "out", "--truth", "truth") == 0
    rows = [record.partition for record in read_records("out") if b'"isDdl":false' in (record.value or b"")]
    assert len({*rows}) == 2


@pytest.mark.slow
def test_statements_come_at_intervals() -> None:
    uri = "kafka://127.0.0.1:9/load?protocol=open-protocol&partition-num=2"
    assert play(*LOAD, "plan.toml", "--sink-uri", uri, *OUTPUTS, "--duration", "3s", "--seed", "3") == 0
    assert play("verify", "out", "--truth", "truth") == 0
    shown = said("inspect", "out").out
    words = ("ADD COLUMN", "DROP COLUMN", "ADD INDEX", "DROP INDEX", "TRUNCATE")
    assert [word for word in words if word not in shown] == []


@pytest.mark.slow
def test_the_same_plan_gives_the_same_bytes_and_another_seed_others() -> None:
    for directory, seed in (("one", 1), ("two", 1), ("three", 2)):
        assert play(*LOAD, "plan.toml", "--fixtures", directory, "--seed", seed, "--duration", "500ms") == 0
    one, two, three = (
        [Path(directory, "load", f"{number}.jsonl").read_bytes() for number in range(2)]
        for directory in ("one", "two", "three")
    )
    assert one == two != three


@pytest.mark.slow
def test_a_unique_text_may_come_from_a_provider(plan: Path) -> None:
    plan.write_text(
        """
        [[table]]
        definition = "CREATE TABLE shop.c (id BIGINT PRIMARY KEY, email VARCHAR(120) UNIQUE)"
        rows = 20
        mix = {inserts = 1}
        columns = {email = "email"}
        """
    )
    code, out, _ = said("load", "plan.toml", "--console", "--duration", "1ms")
    assert code == 0 and "email=" in out


def summary_of(*arguments: object) -> dict[str, Any]:
    assert play(*LOAD, "plan.toml", "--fixtures", "out", "--summary", "s.json", *arguments) == 0
    document: dict[str, Any] = json.loads(Path("s.json").read_text())
    return document


@pytest.mark.slow
def test_the_summary_and_the_report_are_written() -> None:
    summary = summary_of("--duration", "1s", "--report", "report.html")
    rows = [event for event in events_of(read_records("out")) if isinstance(event, RowEvent)]
    assert (summary["plan"], summary["rows"], summary["simulated_ms"]) == ("fair", len(rows), 1000)
    assert "<title>Load: fair</title>" in Path("report.html").read_text()


@pytest.mark.slow
def test_a_rate_in_bytes_is_turned_into_rows() -> None:
    """By what rows of the plan have, as measured; the watermarks say how much simulated time went by."""
    assert summary_of("--duration", "2s", "--rate", "100KiB")["bytes"] / 2 == pytest.approx(100 * 1024, rel=0.1)


@pytest.mark.slow
def test_the_console_shows_messages() -> None:
    shown = said("load", "plan.toml", "--console", "--sink-uri", URI, "--duration", "200ms", "--rate", "100").out
    assert "INSERT fair.visitor id=1 " in shown
    assert shown.rstrip().splitlines()[-1].endswith("WATERMARK")


def test_a_plan_is_printed_as_it_is() -> None:
    assert said("load", "plan.toml", "--print-plan") == (0, PLAN, [])
    shop = scenario.preset_file("shop").read_text("utf-8")
    assert said("load", "--preset", "shop", "--print-plan") == (0, shop, [])


@pytest.mark.slow
def test_another_version_of_kafka_python_is_one_line_with_what_installs_the_right_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kafka_library, "version", lambda name: "3.0.13")
    code, _, lines = said(*LOAD, "plan.toml", "--checkpoint", "stands")
    assert (code, lines[-1]) == (
        2,
        "ticdc-sim: kafka-python 3.0.13 is installed, and 3.0.12 is needed, as its internals are used: "
        "pip install kafka-python==3.0.12",
    )


# The truth of a stream that is not sent

PRESENT = PLAN.replace("rows-per", 'initial = "present"\nrows-per')


def contents(directory: str) -> dict[str, bytes]:
    """All but what says where the stream goes."""
    return {path.name: path.read_bytes() for path in Path(directory).iterdir() if path.name != FILE}


@pytest.mark.slow
def test_a_truth_is_what_a_run_to_there_leaves(plan: Path) -> None:
    """By the time since the start, or by the watermark; without a word of where it would be sent. What is there from
    the start can be had, so that a consumer's tables can be filled with it."""
    plan.write_text(PRESENT.replace("400ms", "700ms"))
    uri = "kafka://127.0.0.1:9/load?protocol=open-protocol"
    assert play(*LOAD, "plan.toml", "--sink-uri", uri, *OUTPUTS, "--duration", "2s") == 0
    code, told, _ = said("load", "plan.toml", "--truth", "asked", "--at", "2s")
    rows = len(state(Path("asked"))["fair", "visitor"])
    assert code == 0 and told.startswith("fair.visitor") and f"{rows:,} rows" in told
    (watermark,) = re.findall(r"\b\d{18}\b", told)
    assert play("load", "plan.toml", "--truth", "again", "--at", watermark) == 0
    assert contents("truth") == contents("asked") == contents("again")
    assert rows > 50
    about = read(Path("truth"))
    assert (about.command, about.played, about.topics, about.watermark) == ("load", "fair", {"load": 3}, int(watermark))
    assert play("load", "plan.toml", "--truth", "first", "--at", "0s") == 0
    assert len(state(Path("first"))["fair", "visitor"]) == 50
    assert about.empty == read(Path("first")).empty == ()


def test_what_is_not_there_from_the_start_is_called_empty(plan: Path) -> None:
    plan.write_text(PRESENT.replace("rows = 50", "rows = 0\nmix = {inserts = 1}"))
    assert play("load", "plan.toml", "--truth", "truth", "--truth-format", "parquet", "--at", "1s") == 0
    assert read(Path("truth")).empty == ("fair.visitor",)
    assert len(list(Path("truth").glob("*.parquet"))) == 1


# Runs that are stopped, each in a process of its own, which gets the signal

SIGNALLED_TWICE = """
import signal
from simulator.sinks.files import JsonLines
deliver = JsonLines._deliver
def delivered(*given):
    deliver(*given)
    signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGTERM)
JsonLines._deliver = delivered
"""
LEFT = (*LOAD, "plan.toml", "--fixtures", "left/out", "--truth", "left/truth")


def left(pattern: str = "*") -> list[str]:
    return sorted(path.name for path in Path("left").glob(pattern))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "signals", "words"),
    [
        (SIGNALLED_TWICE, (), "no fixtures were written; no truth was written"),
        ("", (signal.SIGINT,), "ticdc-sim: interrupted"),
    ],
    ids=["twice", "once"],
)
def test_fixtures_are_there_behind_one_signal_but_not_two(first: str, signals: tuple[int, ...], words: str) -> None:
    """Nothing is counted that was thrown away."""
    with started(*LEFT, "--summary", "s.json", first=first) as process:
        wait_until(process, lambda: bool(left(".out*/*/*")))
        for number in signals:
            process.send_signal(number)
        assert process.stdout is not None
        lines = [*errors(process), process.stdout.read()]
    assert (words in lines, any("row changes in" in line for line in lines)) == (True, bool(signals)), lines
    assert sum("interrupted" in line or "stopped" in line for line in lines) == 1
    assert left() == (["out", "truth"] if signals else [])
    lost = [] if signals else ["no fixtures were written", "no truth was written"]
    assert json.loads(Path("s.json").read_text())["lost"] == lost
    assert process.returncode == (130 if signals else 143)


@pytest.mark.slow
@pytest.mark.parametrize("hard", [False, True], ids=["stopped", "killed"])
def test_spark_outlives_a_signal_to_the_whole_group_and_not_its_driver(plan: Path, hard: bool) -> None:
    """`timeout` sends SIGTERM to the process and to its group: Java goes on until the fixtures are put away."""
    arguments = ("load", "plan.toml", "--master", "local[2]", "--fixtures", "left/out")
    with started(*arguments) as process:
        wait_until(process, lambda: sum(path.stat().st_size for path in Path("left").rglob("*.jsonl")) > 50_000)
        java = children(process.pid, "java")
        os.killpg(process.pid, signal.SIGKILL if hard else signal.SIGTERM)
        if not hard:
            process.send_signal(signal.SIGTERM)
            assert errors(process)[-1] == "ticdc-sim: stopped by SIGTERM"
    assert process.wait(60) == (-signal.SIGKILL if hard else 143)
    assert java and end_within(60, java)
    assert ("out" in left()) is not hard


@pytest.mark.slow
def test_what_a_killed_run_leaves_is_cleared_away_by_the_next() -> None:
    Path("left/.out-archived").mkdir(parents=True)
    with started(*LEFT) as process:
        wait_until(process, lambda: bool(left(".out.*/*/*")))
        process.kill()
    assert play(*LEFT, "--duration", "1s") == 0
    assert left() == [".out-archived", "out", "truth"]


@pytest.mark.kafka
def test_a_run_that_was_stopped_goes_on_and_another_one_is_refused(plan: Path, kafka: str) -> None:
    """From the first row to the truth at the end; what comes twice lies behind the watermark that was repeated."""
    uri = f"kafka://{kafka}/load-resumed?{OPTIONS}"
    plan.write_text(PLAN.partition("[[ddl]]")[0])
    arguments = ("load", "plan.toml", "--master", "none", "--sink-uri", uri, "--checkpoint", "stands")
    assert "nothing to --resume: there is no stands/checkpoint.json" in said(*arguments, "--resume").err[-1]

    with started(*arguments, "--rate", "200") as process:
        wait_until(process, lambda: len(held(kafka, "load-resumed")) > 100)
        os.killpg(process.pid, signal.SIGINT)
        lines = errors(process)
        assert (process.returncode, lines[-1:]) == (130, ["ticdc-sim: interrupted"])

    goes_on = ("--rate", "200", "--duration", "1s")
    assert "--resume goes on with it" in said(*arguments, *goes_on).err[-1]
    other = said(*arguments, "--resume", "--rate", "300", "--seed", "5")
    assert (
        "is of another run: --seed was 0, now it is 5, --rate was 200 rows/s, now it is 300 rows/s; --resume takes "
        "what that run was given"
    ) in other.err[-1]
    assert (other.code, play(*arguments, "--resume", *goes_on, "--truth", "truth")) == (2, 0)
    assert not Path("stands").exists()
    assert play("verify", f"kafka://{kafka}/load-resumed", "--truth", "truth") == 0
    events = events_of(held(kafka, "load-resumed"))
    watermarks = Counter(event.ts for event in events if isinstance(event, Watermark))
    assert [count for count in watermarks.values() if count > 2] == [4]
