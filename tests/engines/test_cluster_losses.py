"""The harness of `tests/benchmarks/cluster` in short: a worker and a broker are killed, and nothing is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.kafka_fixture import require_kafka_jars

TESTS = Path(__file__).parent.parent


@pytest.mark.kafka
def test_a_load_that_loses_a_machine_loses_no_row(tmp_path: Path) -> None:
    """A worker with its executors, then one of three brokers; what is sent again is above the last watermark."""
    require_kafka_jars()
    results = tmp_path / "results.jsonl"
    command = [sys.executable, "-m", "cluster", "--command", "load", "--kill", "worker", "--kill", "broker"]
    paths = os.pathsep.join((str(TESTS), str(TESTS / "benchmarks")))
    done = subprocess.run(
        [*command, "--seed", "24", "--results", str(results)],
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    outcomes = [json.loads(line) for line in results.read_text().splitlines()]
    assert [outcome["kill"] for outcome in outcomes] == ["worker", "broker"]
    for outcome in outcomes:
        assert outcome["at"] is not None
        assert [outcome["counts"][name] for name in ("lost", "misordered", "again_below")] == [0, 0, 0]
