"""The rate at which an example consumer falls behind, found by `load --until-lag` against a real Kafka."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import slow_consumer
from support.playing import play

from simulator.load.lag import monitor
from simulator.load.lag import search as lag
from simulator.sinks.kafka.admin import prepare_topics
from simulator.sinks.kafka.settings import KafkaSettings

pytestmark = [
    pytest.mark.kafka,
    # kafka-python 3.0.12 drops the socket of a refused connection without closing it (net/inet.py).
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]

FASTEST = 600
"""Messages a second that the consumer takes."""

SEARCH = ("load", "--preset", "bank", "--master", "none", "--until-lag", 150, "--rate", 300)


@pytest.fixture(name="topic")
def _topic(kafka: str) -> Iterator[str]:
    """A topic of this test alone, which group `slow-TOPIC` reads.

    The group is of this test alone, too: a killed consumer stays a member until its session ends, 45 s later, and
    holds its partitions until then.
    """
    topic = f"until-lag-{uuid.uuid4().hex[:8]}"
    prepare_topics(KafkaSettings((kafka,)), {topic: 2})
    consumer = subprocess.Popen([sys.executable, slow_consumer.__file__, kafka, topic, f"slow-{topic}", str(FASTEST)])
    yield topic
    consumer.kill()
    consumer.wait()


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds are less here."""
    for module, name, value in (
        (lag, "SETTLING", 0.5),
        (lag, "SHORTEST", 1.5),
        (lag, "PRECISION", 1.3),
        (lag, "REACHED_SHARE", 0.8),
        (monitor, "INTERVAL", 0.1),
    ):
        monkeypatch.setattr(module, name, value)


@pytest.mark.parametrize(
    ("group", "code", "words"),
    [
        (
            "nobody",
            2,
            r"^ticdc-sim: --until-lag: consumer group nobody has committed no offset of until-lag-\w+ in \d s",
        ),
        (
            "slow-{topic}",
            0,
            r"^--until-lag found no verdict before the run ended: no rate was judged so far; a longer --duration",
        ),
    ],
)
def test_a_search_without_a_verdict_says_why(
    kafka: str,
    topic: str,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    group: str,
    code: int,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of a group that there is not, and of a duration that is too short."""
    monkeypatch.setattr(lag, "SHORTEST", 60.0)
    uri = f"kafka://{kafka}/{topic}?protocol=canal-json&enable-tidb-extension=true"
    assert code == play(
        *SEARCH,
        "--sink-uri",
        uri,
        "--consumer-group",
        group.format(topic=topic),
        "--resolved-interval",
        "250ms",
        "--duration",
        "4s",
        "--checkpoint",
        tmp_path / "c",
    )
    said = capfd.readouterr()
    assert re.search(words, said.err if code else said.out, re.MULTILINE), said


def test_the_breaking_point_of_a_consumer_is_found(
    kafka: str, topic: str, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Below what it takes at most, by what a busy machine takes from it; what was too much is somewhat above."""
    uri = f"kafka://{kafka}/{topic}?protocol=canal-json&enable-tidb-extension=true"
    summary = tmp_path / "summary.json"
    assert 0 == play(
        *SEARCH,
        "--sink-uri",
        uri,
        "--consumer-group",
        f"slow-{topic}",
        "--resolved-interval",
        "250ms",
        "--summary",
        summary,
        "--checkpoint",
        tmp_path / "c",
    )
    found = json.loads(summary.read_text())["sustained"]

    assert 0.1 * FASTEST <= found["sustained"] <= 1.1 * FASTEST
    assert found["sustained"] < found["too_much"] <= 1.3 * found["sustained"]
    assert re.search(
        r"^sustained [\d,]+ rows/s: at [\d,]+ the lag of group slow-until-lag-\w+ grew by [\d,]+ records/s$",
        capfd.readouterr().out,
        re.MULTILINE,
    )
