"""`load` to a storage: files that lead to the truth, the same by either engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.cut_short import killed_at
from support.playing import error_of, play

from simulator.reader.verify import verify
from simulator.reader.verify.options import VerifyOptions

PLAN = """
name = "two"
seed = 7
rows-per-transaction = {min = 1, max = 9}
tables-per-transaction = 2
[[table]]
definition = "CREATE TABLE d.s (id BIGINT PRIMARY KEY, v VARCHAR(20), n INT)"
rows = 50
[[table]]
definition = "CREATE TABLE d.t (id BIGINT PRIMARY KEY, v VARCHAR(20)) PARTITION BY HASH(id) PARTITIONS 3"
rows = 50
mix = {inserts = 30, updates = 40, deletes = 30}
[[ddl]]
every = "500ms"
kinds = ["add-column", "truncate"]
[[ddl]]
at = "1200ms"
sql = "ALTER TABLE d.s ADD COLUMN seat INT"
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    (tmp_path / "plan.toml").write_text(PLAN)
    (tmp_path / "changefeed.toml").write_text("[sink.csv]\ninclude-commit-ts = true\n")
    return tmp_path / "plan.toml"


def loaded(plan: Path, name: str, master: str, *more: object) -> tuple[Path, Path]:
    """Two seconds of the plan: the directory of files, and the truth."""
    out, truth = plan.parent / name, plan.parent / f"{name}-truth"
    rate = ("--rate", "1000", "--duration", "2s", "--master", master)
    sink = ("--sink-uri", f"{out.as_uri()}?protocol=csv&flush-interval=2s", "--config", plan.parent / "changefeed.toml")
    stands = ("--checkpoint", plan.parent / f"{name}-stands")
    assert play("load", plan, *rate, *sink, *stands, "--release", "v8.5.3", "--truth", truth, *more) == 0
    return out, truth


def assert_right(out: Path, truth: Path) -> None:
    verification = verify(VerifyOptions(str(out), truth=truth, master="none"))
    assert not verification.failures
    assert sum(table.found or 0 for table in verification.compared) > 50


@pytest.mark.slow
def test_the_files_lead_to_the_truth(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert_right(*loaded(plan, "out", "none"))
    assert len(list((plan.parent / "out").glob("d/*/4*"))) > 2, "statements begin versions"
    printed = capsys.readouterr().out
    assert " files, " in printed and "by the storage sink" in printed and "partition" not in printed


@pytest.mark.slow
def test_spark_writes_the_same_files(plan: Path) -> None:
    """Around statements at intervals and at a time; what is asked of the command with Spark."""
    in_process, on_spark = (
        {path.relative_to(out): path.read_bytes() for path in out.rglob("*") if path.is_file()}
        for out in (loaded(plan, "in-process", "none")[0], loaded(plan, "on-spark", "local[2]")[0])
    )
    assert in_process == on_spark


@pytest.mark.slow
def test_a_run_that_is_killed_goes_on_in_the_next_files(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed twice: a run that went on is killed as well."""
    with killed_at(monkeypatch, 40):
        loaded(plan, "out", "none")
    before = {path: path.read_bytes() for path in (plan.parent / "out").rglob("CDC*.csv")}
    with killed_at(monkeypatch, 25):
        loaded(plan, "out", "none", "--resume")
    out, truth = loaded(plan, "out", "none", "--resume")

    assert before and before.items() <= {path: path.read_bytes() for path in out.rglob("CDC*.csv")}.items()
    assert not (plan.parent / "out-stands").exists()
    assert_right(out, truth)


def test_options_about_kafka_are_refused(plan: Path) -> None:
    """As is a storage that cannot be written to."""
    load = ("load", plan, "--duration", "1s", "--master", "none", "--sink-uri")
    for option in (("--fixtures", "out"), ("--console",), ("--consumer-group", "g")):
        assert f"{option[0]} is about Kafka's messages: the sink-uri is that of a storage" in error_of(
            *load, f"{plan.parent.as_uri()}/out?protocol=csv", *option
        )
    (plan.parent / "file").touch()
    assert "cannot be written to: Not a directory" in error_of(
        *load, f"{(plan.parent / 'file').as_uri()}/out?protocol=csv", code=3
    )
