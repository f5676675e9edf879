"""The scenarios that come with the package, each under every release that it is meant for: the messages that were
recorded and looked at, and a stream that keeps the contract."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.contract_checks import find_violations, with_definitions
from support.replaying import replayed

from simulator import tso
from simulator.api.golden import Golden
from simulator.api.session import TiCDC
from simulator.cli import run
from simulator.columns import row_image
from simulator.consumer.contract.stream_spec import stream_spec_of
from simulator.consumer.contract.violations import Violation
from simulator.consumer.records import Record, read_records
from simulator.consumer.schemas import fixture_schemas
from simulator.consumer.verify import verify
from simulator.consumer.verify.options import VerifyOptions
from simulator.releases.compare import parse_release
from simulator.run import scenario as scenarios
from simulator.run.library import Shipped, shipped
from simulator.sinks.memory import Message
from simulator.ticdc.changefeed import load_file
from simulator.ticdc.codecs import Schema
from simulator.ticdc.rules import changefeed_rules
from simulator.tidb.model.table import Name, Table, visible_columns
from simulator.tidb.sql_engine.storage.rows import table_rows

GOLDEN = Path(__file__).parent / "golden"
LARGE = {"airports"}
"""Scenarios of snapshots, which tests/engines plays."""

FILES = {"storage-index-before-data", "storage-rename-chain", "storage-schema-change"}
"""Scenarios of changefeeds that write files to a storage."""

UNREAD = {
    "avro-decimal-scales": "it has no statements",
    "debezium-misses-ddl": "it has no statements",
    "debezium-numbers": "it has no statements",
    "simple-missing-bootstrap": "CREATE TABLE is filtered",
    "documented-changefeed-ddl": "a RENAME leads to a database that is not replicated, so that it fails in a catalog",
}
"""Scenarios whose stream alone does not tell the tables, so that only the recorded messages are compared."""

UNREPLAYED = {
    "exchange-partition": "rows change tables by a statement, and a stream does not say which rows are in a partition"
}
"""Scenarios that lead to a state which a replay of their stream does not know."""

PLAYED = [
    pytest.param(
        scenario,
        release,
        id=f"{scenario.name}-{release.replace(':', '-')}",
        marks=() if release == scenario.about.releases[-1] else pytest.mark.slow,
    )
    for scenario in shipped().values()
    if scenario.name not in LARGE
    for release in scenario.about.releases
    if scenario.name not in FILES
]


def recorded(scenario: Shipped, release: str, directory: Path) -> list[Record]:
    """The stream of a scenario, as `ticdc-sim run NAME` gives it."""
    kind, _, tag = release.rpartition(":")
    architecture = ["--architecture", kind] if kind else []
    where = ["--fixtures", str(directory), "--master", "none"]
    assert run(["run", scenario.name, "--release", tag, *architecture, *where]) == 0
    return list(read_records(str(directory)))


@pytest.mark.parametrize(("scenario", "release"), PLAYED)
def test_a_scenario_gives_what_was_recorded_and_keeps_the_contract(
    scenario: Shipped, release: str, tmp_path: Path, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that is not legal breaks it."""
    stream = recorded(scenario, release, tmp_path / "out")

    golden = Golden(GOLDEN / scenario.name, release.replace(":", "-"), request.config.getoption("--rewrite-golden"))
    messages = [
        Message(record.topic, record.partition, record.offset, tso.compose(record.timestamp), record.key, record.value)
        for record in stream
    ]
    golden(messages, schemas={id: Schema("", text) for id, text in fixture_schemas(tmp_path / "out").items()})
    if scenario.name not in UNREAD:
        assert (list(violations(scenario, release, stream, tmp_path / "out")) == []) == scenario.about.legal
    capsys.readouterr()


@pytest.mark.parametrize(
    ("name", "release"), [(name, release) for name in sorted(FILES) for release in shipped()[name].about.releases]
)
def test_a_scenario_of_files_gives_what_was_recorded_and_keeps_the_contract(
    name: str, release: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    out, truth = tmp_path / "out", tmp_path / "truth"
    settings = scenarios.load(shipped()[name].file).settings
    uri = f"{out.as_uri()}?{(settings.sink_uri or '').partition('?')[2]}"
    assert run(["run", name, "--release", release, "--sink-uri", uri, "--truth", str(truth)]) == 0

    files = sorted(path for path in out.rglob("*") if path.is_file())
    text = "".join(f"== {path.relative_to(out).as_posix()}\n{path.read_bytes().decode()}\n" for path in files)
    golden = GOLDEN / name / f"{release}.txt"
    if request.config.getoption("--rewrite-golden"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_bytes(text.encode())
    assert golden.read_bytes().decode() == text
    assert not verify(VerifyOptions(str(out), truth=truth)).failures


def violations(scenario: Shipped, release: str, stream: list[Record], directory: Path) -> Iterator[Violation]:
    """What of the stream breaks the contract, the tables being known from its statements alone."""
    found, settings = parse_release(release), scenarios.load(scenario.file).settings
    assert settings.sink_uri is not None
    changefeed = load_file(settings.sink_uri, settings.config, found)
    counts = {topic.name: len(list(topic.iterdir())) for topic in directory.iterdir() if topic.is_dir()}
    spec = stream_spec_of(changefeed, (), counts, release=found, restarts=True)
    yield from find_violations(stream, with_definitions(spec, stream))
    if scenario.name not in UNREPLAYED:
        tables, truth = upstream(scenario, release)
        sent = {name for name, table in tables.items() if changefeed_rules(changefeed, found).replicates(table)}
        yield from replayed(
            stream,
            spec.protocol,
            (),
            after={name: truth[name] for name in sent},
            fidelity=spec.fidelity,
            beside=tables.keys() - sent,
        ).examples


def upstream(scenario: Shipped, release: str) -> tuple[dict[Name, Table], dict[Name, list[bytes]]]:
    """The tables and their rows that TiDB has in the end."""
    settings = scenarios.load(scenario.file).settings
    assert settings.sink_uri is not None
    with TiCDC(release, sink_uri=settings.sink_uri, config=settings.config) as ticdc:
        ticdc.play(scenario.file)
        found = ticdc._live.upstream()
    tables = {(table.schema, table.name): table for table in found.catalog.tables.values()}
    return tables, {
        name: row_image.pack(
            [table_rows(found, table).cells.column(column.name).combine_chunks() for column in visible_columns(table)]
        ).to_pylist()
        for name, table in tables.items()
    }
