"""Spark and one process give the same records, byte for byte; Spark's plan does not grow with the tables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.databases import AFTER, BEFORE, Table, Value, write
from support.playing import play

from simulator import releases
from simulator.engines import in_process
from simulator.engines.work import Work
from simulator.run import execute, outputs, plan, scenario
from simulator.run.steps.derivation import SchemaChangeOptions
from simulator.ticdc.changefeed import load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

URI = "kafka://127.0.0.1:9092/all?partition-num=3&protocol="
PROTOCOLS = ("open-protocol", "canal-json", "canal-json&enable-tidb-extension=true")
DISPATCHERS = ("default", "table", "index-value", "ts")

COLUMNS: dict[str, st.SearchStrategy[Value]] = {
    "id int": st.integers(0, 12),
    "id bigint unsigned": st.sampled_from([0, 1, 2**63, 2**64 - 1, 7, 8]),
    "id varchar(9)": st.sampled_from(["", "a", "A", "a ", "b", "é", "e", "aa"]),
    "id varchar(9) collate utf8mb4_general_ci": st.sampled_from(["", "a", "A", "a ", "b", "é", "e", "aa"]),
    "id decimal(6,2)": st.sampled_from(["0.00", "-1.50", "10.25", "9.99", "-0.01"]),
    "id date": st.sampled_from(["2020-02-29", "0000-00-00", "1999-12-31", "2020-03-01"]),
}
PARTITIONS = ("", "partition by hash (k) partitions 2")


@st.composite
def tables(draw: st.DrawFn, name: str) -> Table:
    """A table with rows in both states; keys repeat nowhere, if there is one."""
    column = draw(st.sampled_from(sorted(COLUMNS)))
    key = draw(st.sampled_from(list(UNIQUE)))
    parts = draw(st.sampled_from(PARTITIONS)) if key == "primary key (id, k)" else ""
    columns = f"{column} not null, k int not null, v varchar(20), g int as (k + 1) stored"
    statement = f"CREATE TABLE `{name}` ({columns}{', ' + key if key else ''}) {parts}"
    row = st.tuples(COLUMNS[column], st.integers(0, 5), st.none() | st.sampled_from(["x", "", "Ä", "long" * 5]))
    unique = UNIQUE[key]
    before, after = (draw(st.lists(row, max_size=8, unique_by=unique or None)) for _ in range(2))
    return Table(statement, before, after)


def folded(row: tuple[Value, ...]) -> str:
    """What no collation tells apart."""
    return str(row[0]).rstrip(" ").lower().replace("é", "e")


def whole(row: tuple[Value, ...]) -> tuple[str, Value]:
    return folded(row), row[1]


def second(row: tuple[Value, ...]) -> Value:
    return row[1]


UNIQUE: dict[str, tuple[Any, ...]] = {
    "primary key (id)": (folded,),
    "primary key (id, k)": (whole,),
    "unique key u (id)": (folded,),
    "primary key (id), unique key u (k)": (folded, second),
    "": (),
}
databases = st.tuples(tables("one"), tables("two"), tables("three"))


def fixtures(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in sorted(directory.rglob("*.jsonl"))}


def test_both_engines_give_the_same_ids_to_schemas(spark: SparkSession, tmp_path: Path) -> None:
    """The first row of each table decides, wherever it is sent."""
    database = [
        Table("CREATE TABLE `one` (id int primary key, v text)", [(key, "x") for key in range(40)], []),
        Table("CREATE TABLE `two` (id int primary key, v text)", [], [(key, "x") for key in range(40)]),
        Table("CREATE TABLE `three` (id int primary key, v int)", [(1, 2)], [(1, 3)]),
    ]
    before, after = [write(tmp_path / str(state), database, state, "sql") for state in (BEFORE, AFTER)]
    config = tmp_path / "changefeed.toml"
    config.write_text(
        "[sink]\nschema-registry = 'http://127.0.0.1:8081'\n"
        "dispatchers = [{matcher = ['*.*'], topic = '{schema}_{table}'}]\n"
    )
    options = ("--sink-uri", f"{URI}avro&enable-tidb-extension=true", "--config", config, "--release", "v8.0.0")
    for name, master in (("alone", "none"), ("spark", "local[2]")):
        assert 0 == play("diff", before, after, *options, "--master", master, "--fixtures", tmp_path / name)

    assert fixtures(tmp_path / "alone") == fixtures(tmp_path / "spark")
    alone, spark_schemas = ((tmp_path / name / "schemas.json").read_text() for name in ("alone", "spark"))
    assert alone == spark_schemas


def test_both_engines_tell_schemas_before_rows(spark: SparkSession, tmp_path: Path) -> None:
    """Simple, in tables that no statement of the stream tells."""
    database = [
        Table("CREATE TABLE `one` (id int primary key, v blob)", [(key, "x") for key in range(40)], []),
        Table("CREATE TABLE `two` (id int primary key, v text)", [], [(key, "x") for key in range(40)]),
    ]
    before, after = [write(tmp_path / str(state), database, state, "sql") for state in (BEFORE, AFTER)]
    options = ("--sink-uri", f"{URI}simple&encoding-format=avro")
    for name, master in (("alone", "none"), ("spark", "local[2]")):
        out = ("--fixtures", tmp_path / name, "--truth", tmp_path / f"{name}.truth")
        assert 0 == play("diff", before, after, *options, "--master", master, *out)

    assert fixtures(tmp_path / "alone") == fixtures(tmp_path / "spark")
    assert 0 == play("verify", tmp_path / "spark", "--truth", tmp_path / "spark.truth", "--master", "local[2]")


@settings(max_examples=12, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    databases,
    st.sampled_from(PROTOCOLS),
    st.sampled_from(DISPATCHERS),
    st.sampled_from(["v8.5.3", "v8.5.3", "v7.1.0", "v6.5.3", "v6.5.4"]),
    st.sampled_from(["sql", "csv", "csv.zst"]),
    st.sampled_from(["1m", "3ms"]),
)
def test_both_engines_give_the_same_fixtures(
    spark: SparkSession,
    database: tuple[Table, ...],
    protocol: str,
    dispatcher: str,
    release: str,
    format: str,
    over: str,
) -> None:
    """Over random databases: keys of several types and collations, partitions, generated columns, no keys at all."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch)
        states = [write(folder / str(state), database, state, format) for state in (BEFORE, AFTER)]
        config = folder / "changefeed.toml"
        config.write_text(
            f'force-replicate = true\n[sink]\ndispatchers = [{{matcher = ["*.*"], partition = "{dispatcher}"}}]\n'
        )
        options = ("--sink-uri", URI + protocol, "--config", config, "--release", release, "--over", over)
        for master in ("none", "local[2]"):
            assert play("diff", *states, *options, "--master", master, "--fixtures", folder / master) == 0
        assert fixtures(folder / "none") == fixtures(folder / "local[2]") != {}


def many(directory: Path, count: int) -> Path:
    directory.mkdir()
    for number in range(count):
        (directory / f"shop.t{number}-schema.sql").write_text(f"CREATE TABLE t{number} (id int primary key, n int);\n")
        (directory / f"shop.t{number}.csv").write_text(f"1,{number}\n2,{directory.name}\n".replace("before", "0"))
    return directory


@pytest.mark.parametrize("dispatcher", ["index-value", "columns"])
def test_the_plan_of_two_hundred_tables_is_as_large_as_that_of_two(
    spark: SparkSession, tmp_path: Path, dispatcher: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether a row's partition is known when it is read or not; where one task reads all, it needs no exchange."""
    from simulator.engines import on_spark

    plans: list[int] = []

    def noted(frame: Any, *arguments: Any, **options: Any) -> Any:
        found = mapped(frame, *arguments, **options)
        lines = found._jdf.queryExecution().executedPlan().toString().splitlines()
        plans.append(sum("ENSURE_REQUIREMENTS" not in line for line in lines))
        return found

    mapped = on_spark.map_in_arrow
    monkeypatch.setattr(on_spark, "map_in_arrow", noted)
    sizes = []
    for count in (2, 200):
        folder = tmp_path / str(count)
        folder.mkdir()
        before, after = many(folder / "before", count), many(folder / "1", count)
        assert play_with(spark, before, after, dispatcher) == {"index-value": 1, "columns": 2}[dispatcher]
        sizes.append(plans[-1])
    assert sizes[0] == sizes[1] > 5


def play_with(spark: SparkSession, before: Path, after: Path, dispatcher: str) -> int:
    """Into a counting sink; how often rows were shuffled."""
    from simulator.engines import on_spark

    columns = ', columns = ["n"]' if dispatcher == "columns" else ""
    toml = f'[sink]\ndispatchers = [{{matcher = ["*.*"], partition = "{dispatcher}"{columns}}}]\n'
    changefeed = load(URI + "open-protocol", toml)
    script = scenario.diff(before, after, SchemaChangeOptions()).run_spec()
    planned = plan.plan(script, changefeed, releases.V8_5)

    def engine(work: Work) -> Any:
        return on_spark.run(spark, work)

    output = outputs.to_nowhere(planned, changefeed)
    account = execute.run(engine, planned, output, releases.V8_5, 0, 0.0, None)
    alone = execute.run(in_process.run, planned, output, releases.V8_5, 0, 0.0, None)
    assert account.changes == alone.changes
    return account.shuffles


@pytest.mark.slow
def test_a_process_without_spark_compares_snapshots(tmp_path: Path) -> None:
    """pyspark is not even imported."""
    before, after = many(tmp_path / "before", 3), many(tmp_path / "1", 3)
    code = (
        "import sys; from simulator.cli import run; code = run(sys.argv[1:]); "
        "sys.exit(code or (7 if 'pyspark' in sys.modules else 0))"
    )
    options = ["--sink-uri", URI + "open-protocol", "--master", "none", "--fixtures", tmp_path / "out"]
    command = [sys.executable, "-c", code, "diff", before, after, *options]
    assert subprocess.run(list(map(str, command)), check=False, capture_output=True).returncode == 0


def test_snapshots_too_large_for_one_process_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before, after = many(tmp_path / "before", 1), many(tmp_path / "1", 1)
    monkeypatch.setattr(in_process, "MOST_BYTES", 10)
    options = ("--sink-uri", URI + "open-protocol", "--master", "none", "--fixtures", tmp_path / "out")
    assert play("diff", before, after, *options) == 2
    assert "--master none holds whole snapshots in memory" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_spark_s_daemon_has_no_thread_beside_the_one_that_forks() -> None:
    """What it imports beforehand would start some: a fork leaves them, and what they hold, behind."""
    code = "import os, simulator.engines.spark.daemon as one; one.prepare(); print(len(os.listdir('/proc/self/task')))"
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "1\n"
