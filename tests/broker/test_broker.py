"""A real Kafka is started, found again, and stopped; what is in the way is said in one line."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
from pathlib import Path

import pytest
from support.playing import error_of

from simulator import broker
from simulator.broker import java as broker_java
from simulator.broker.java import free_port
from simulator.errors import UserError
from simulator.sinks.kafka.admin import is_answering


@pytest.mark.kafka
def test_a_broker_that_runs_is_found_and_left_alone(kafka: str, kafka_directory: Path) -> None:
    """A second start gives the same address and the same process, which does not move to another port."""
    before = broker.status(kafka_directory)

    assert broker.start(directory=kafka_directory) == kafka
    assert broker.status(kafka_directory) == before
    assert before is not None and is_answering(before.address)
    with pytest.raises(UserError, match="already runs on .*stop it first"):
        broker.start(free_port(), kafka_directory)


def test_a_process_number_that_was_given_to_another_program_is_not_taken_for_kafka(tmp_path: Path) -> None:
    """And is not killed by a stop."""
    state = {"address": "127.0.0.1:9", "pid": os.getpid(), "directory": str(tmp_path)}
    (tmp_path / broker.BROKER.state).write_text(json.dumps(state))

    assert broker.status(tmp_path) is None
    assert not broker.stop(tmp_path)


@pytest.mark.slow
def test_a_process_that_is_just_becoming_kafka_is_not_taken_for_a_dead_one(tmp_path: Path) -> None:
    """Linux shows an empty command line during exec; here a program becomes itself again without end."""
    again = program(tmp_path / "again", 'exec "$0" "$@"')
    with subprocess.Popen([str(again), str(tmp_path / "server.properties")]) as process:
        state = {"address": "127.0.0.1:9", "pid": process.pid, "directory": str(tmp_path)}
        (tmp_path / broker.BROKER.state).write_text(json.dumps(state))
        try:
            assert all(broker.status(tmp_path) for _ in range(1000))
        finally:
            process.kill()
    assert broker.status(tmp_path) is None


@pytest.mark.parametrize("state", ["", "{}", "[]", '{"address": 5}'])
def test_a_damaged_state_file_is_no_broker(tmp_path: Path, state: str) -> None:
    """Whatever is in it."""
    (tmp_path / broker.BROKER.state).write_text(state)

    assert broker.status(tmp_path) is None


def test_a_port_that_is_taken_or_no_port_is_refused(tmp_path: Path) -> None:
    """Before anything is started."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        with pytest.raises(UserError, match=f"port {taken.getsockname()[1]} on 127.0.0.1 is taken"):
            broker.start(taken.getsockname()[1], tmp_path)
    for port in (0, -1, 65536):
        with pytest.raises(UserError, match="is not a TCP port: 1 to 65535"):
            broker.start(port, tmp_path)


@pytest.mark.parametrize("home", [None, "/nowhere"])
def test_a_machine_without_java_is_told_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: str | None
) -> None:
    """On PATH, or where JAVA_HOME points."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("JAVA_HOME", home) if home else monkeypatch.delenv("JAVA_HOME", raising=False)

    with pytest.raises(UserError, match="no Java found .*Kafka needs Java 17 or newer"):
        broker.start(directory=tmp_path)


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            'openjdk version "11.0.20" 2023-07-18',
            "Java 11 is too old: Kafka needs Java 17 or newer; point JAVA_HOME at",
        ),
        ('java version "1.8.0_202"', "Java 8 is too old: Kafka needs Java 17 or newer; point JAVA_HOME at one"),
        (
            "Segmentation fault",
            "Java does not say its version: .*java -version printed 'Segmentation fault'. Kafka needs",
        ),
    ],
)
def test_a_java_that_is_too_old_is_told_before_anything_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, words: str
) -> None:
    """A program that says so stands for it."""
    program(tmp_path / "bin" / "java", f"echo '{said}' >&2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    assert re.search(f"^ticdc-sim: {words}", error_of("broker", "start", "--directory", tmp_path / "data"))
    assert not (tmp_path / "cache").exists() and not (tmp_path / "data").exists()


@pytest.mark.slow
def test_jars_that_cannot_be_fetched_leave_one_line_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that fails stands for Java without a network."""
    java = program(tmp_path / "java", "echo 'WARN: UNRESOLVED DEPENDENCIES' >&2\nexit 1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    with pytest.raises(UserError, match="could not be fetched from Maven Central: WARN: UNRESOLVED DEPENDENCIES$"):
        broker.kafka_jars(str(java))
    assert [] == list(broker_java.cache_directory().iterdir())


def test_free_ports_are_below_the_ephemeral_range() -> None:
    """A client that retries a closed local port inside it can connect to itself."""
    assert 20000 <= free_port() < 32768
