"""The scenarios that come with the package, each under every release that it is meant for: the messages that were
recorded and looked at, and a stream that keeps the contract and leads to the truth, unless it is not legal."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.playing import play

from simulator import tso
from simulator.api.results import Golden
from simulator.reader.records import fixture_schemas, read_records
from simulator.reader.verify import verify
from simulator.reader.verify.options import VerifyOptions
from simulator.run import scenario as scenarios
from simulator.run.scenario import Shipped, shipped
from simulator.sinks.memory import Message
from simulator.ticdc.codecs import Schema

pytestmark = pytest.mark.slow

GOLDEN = Path(__file__).parent / "golden"
LARGE = {"airports"}
"""Scenarios of snapshots, which tests/engines plays."""

FILES = {"storage-index-before-data", "storage-rename-chain", "storage-schema-change"}
"""Scenarios of changefeeds that write files to a storage."""

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


@pytest.mark.parametrize(("scenario", "release"), PLAYED)
def test_a_scenario_gives_what_was_recorded_and_keeps_the_contract(
    scenario: Shipped, release: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    out, truth = tmp_path / "out", tmp_path / "truth"
    kind, _, tag = release.rpartition(":")
    outputs = ("--fixtures", out, "--truth", truth, "--master", "none")
    assert play("run", scenario.name, "--release", tag, "--architecture", kind or "classic", *outputs) == 0

    golden = Golden(GOLDEN / scenario.name, release.replace(":", "-"), request.config.getoption("--rewrite-golden"))
    messages = [
        Message(record.topic, record.partition, record.offset, tso.compose(record.timestamp), record.key, record.value)
        for record in read_records(str(out))
    ]
    golden(messages, schemas={id: Schema("", text) for id, text in fixture_schemas(out).items()})
    failures = verify(VerifyOptions(str(out), truth=truth)).failures
    assert (not failures) == scenario.about.legal, failures


@pytest.mark.parametrize(
    ("name", "release"), [(name, release) for name in sorted(FILES) for release in shipped()[name].about.releases]
)
def test_a_scenario_of_files_gives_what_was_recorded_and_keeps_the_contract(
    name: str, release: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    out, truth = tmp_path / "out", tmp_path / "truth"
    settings = scenarios.load(shipped()[name].file).settings
    uri = f"{out.as_uri()}?{(settings.sink_uri or '').partition('?')[2]}"
    assert play("run", name, "--release", release, "--sink-uri", uri, "--truth", truth) == 0

    files = sorted(path for path in out.rglob("*") if path.is_file())
    text = "".join(f"== {path.relative_to(out).as_posix()}\n{path.read_bytes().decode()}\n" for path in files)
    golden = GOLDEN / name / f"{release}.txt"
    if request.config.getoption("--rewrite-golden"):
        golden.parent.mkdir(exist_ok=True)
        golden.write_bytes(text.encode())
    assert golden.read_bytes().decode() == text
    assert not verify(VerifyOptions(str(out), truth=truth)).failures
