"""A Kafka of several brokers, each of which may die, stand still and come back: every topic has all of them as replicas.

Each broker is a controller, too; a write is acknowledged when two replicas have it.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from support.processes import kill, members

from simulator.broker import kafka_jars, properties
from simulator.broker.java import find_java, free_port
from simulator.sinks.kafka import KafkaSettings
from simulator.sinks.kafka.admin import admin_client, is_answering
from simulator.sinks.kafka.library import KafkaError

CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"

REPLICATED = """\
controller.quorum.voters={voters}
node.id={number}
default.replication.factor={count}
min.insync.replicas=2
offsets.topic.replication.factor={count}
file.delete.delay.ms=1000
"""

READY_WITHIN = 120.0


class Brokers:
    """Each in a directory of its own, numbered from 0."""

    def __init__(self, directories: Sequence[Path]) -> None:
        self._java = find_java("Kafka")
        self._jars = kafka_jars(self._java)
        self._directories = directories
        ports = [free_port() for _ in directories]
        controllers = [free_port() for _ in directories]
        self.addresses = [f"127.0.0.1:{port}" for port in ports]
        voters = ",".join(f"{number}@127.0.0.1:{port}" for number, port in enumerate(controllers, 1))
        for number, (directory, port, controller) in enumerate(zip(directories, ports, controllers), 1):
            directory.mkdir(parents=True, exist_ok=True)
            more = REPLICATED.format(voters=voters, number=number, count=len(directories))
            (directory / "server.properties").write_text(
                properties(port, controller, directory / "data") + more, "ascii"
            )
            format = ["kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", "server.properties"]
            subprocess.run([*self._command, *format], cwd=directory, check=True, capture_output=True)
        self._processes = [self._start(number) for number in range(len(directories))]

    @property
    def address(self) -> str:
        """Of all of them."""
        return ",".join(self.addresses)

    def members(self, number: int) -> list[int]:
        """The processes of a broker; none if it is dead."""
        return members(self._processes[number].pid)

    def start_again(self, number: int) -> None:
        """Start a broker that is dead, with its data and its address."""
        if self._processes[number].poll() is not None:
            self._processes[number] = self._start(number)

    def wait_in_sync(self, topics: Sequence[str] = ()) -> None:
        """Until all brokers are there, and have everything of those topics."""
        end = time.monotonic() + READY_WITHIN
        while not self._in_sync(topics):
            for number, directory in enumerate(self._directories):
                if self._processes[number].poll() is not None:
                    log = (directory / "broker.log").read_text("utf-8", "replace")
                    raise AssertionError(f"broker {number} does not start:\n{log[-3000:]}")
            assert time.monotonic() < end, f"the brokers are not in sync after {READY_WITHIN:.0f} s"
            time.sleep(0.2)

    def close(self) -> None:
        """Kill all."""
        for number, process in enumerate(self._processes):
            kill(self.members(number))
            process.wait()

    @property
    def _command(self) -> list[str]:
        return [self._java, "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", f"{self._jars}/*"]

    def _start(self, number: int) -> subprocess.Popen[bytes]:
        directory = self._directories[number]
        command = [*self._command, "kafka.Kafka", "server.properties"]
        with (directory / "broker.log").open("ab") as log:
            return subprocess.Popen(command, cwd=directory, stdout=log, stderr=log, start_new_session=True)

    def _in_sync(self, topics: Sequence[str]) -> bool:
        if not all(is_answering(address) for address in self.addresses):  # Kafka counts a dead one for some seconds
            return False
        try:
            admin = admin_client(KafkaSettings(tuple(self.addresses), dial_timeout=2.0))
        except (KafkaError, OSError):
            return False
        try:
            brokers = len(admin.describe_cluster()["brokers"])
            described = admin.describe_topics(list(topics)) if topics else []
        except (KafkaError, OSError):
            return False
        finally:
            admin.close()
        replicas = [len(each["isr_nodes"]) for topic in described for each in topic["partitions"]]
        return {brokers, *replicas} == {len(self._directories)}
