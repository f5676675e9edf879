"""A real single-node Apache Kafka for experiments, without docker: its jars come from Maven through pyspark's Ivy.

One directory is one broker. Its state file has the id of the serving process, which is checked each time.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from simulator import signals
from simulator.broker.jars import cache_directory, find_java, kafka_jars, last_line
from simulator.errors import DeliveryError, UserError

READY_WITHIN = 60.0
"""Seconds until a broker must answer: it usually takes 2 s, 6-9 s on a directory whose broker was killed."""

STOP_WITHIN = 15.0

EXEC_WITHIN = 5.0
"""Seconds in which a new process may have no command line, while the shell execs setsid, then Java (Linux)."""


@dataclass(frozen=True)
class Broker:
    """A running broker; `address` is `host:port`."""

    address: str
    pid: int
    directory: str


def default_directory() -> Path:
    """Return the data directory of `broker start` without an option."""
    return cache_directory() / "broker"


def start(
    port: int | None = None, directory: Path | None = None, extra_properties: Mapping[str, str] | None = None
) -> str:
    """Start Kafka on 127.0.0.1 and wait until it answers; return `host:port`.

    A broker that already serves the directory is kept. Without `port` it is 9092 if free, else any free port. `more`
    are additional lines of server.properties. Raise UserError or DeliveryError.
    """
    home = (directory or default_directory()).absolute()
    running = status(home)
    if running is not None:
        return _same_port(running, port)
    broker_port = _choose_port(port, home)
    java = find_java("Kafka")
    jars = kafka_jars(java)
    home.mkdir(parents=True, exist_ok=True)
    settings = home / "server.properties"
    extra_lines = "".join(f"{name}={value}\n" for name, value in (extra_properties or {}).items())
    settings.write_text(properties(broker_port, free_port(), home / "data") + extra_lines, encoding="ascii")
    _format(java, jars, settings, home)
    with signals.defer_signals():
        broker = Broker(f"127.0.0.1:{broker_port}", _launch(java, jars, settings, home), str(home))
        (home / STATE).write_text(json.dumps(asdict(broker)), encoding="utf-8")
    try:
        _wait_ready(broker)
    except signals.Stopped:
        stop(home)
        raise
    return broker.address


def status(directory: Path | None = None) -> Broker | None:
    """Return the broker that serves the directory, or None."""
    home = (directory or default_directory()).absolute()
    try:
        state = json.loads((home / STATE).read_text(encoding="utf-8"))
        broker = Broker(address=str(state["address"]), pid=int(state["pid"]), directory=str(home))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return broker if _is_kafka(broker.pid, home) else None


def stop(directory: Path | None = None) -> bool:
    """Stop the directory's broker and keep its data; return whether one was running."""
    home = (directory or default_directory()).absolute()
    broker = status(home)
    if broker is not None:
        os.kill(broker.pid, signal.SIGTERM)
        if not _wait_until_stopped(broker, STOP_WITHIN):
            os.kill(broker.pid, signal.SIGKILL)
            _wait_until_stopped(broker, STOP_WITHIN)
    (home / STATE).unlink(missing_ok=True)
    return broker is not None


def free_port() -> int:
    """Return a free port below the ephemeral range, in which a client that retries can connect to itself."""
    for port in random.sample(range(20000, 32768), 200):
        if _is_free(port):
            return port
    raise UserError("no free TCP port between 20000 and 32767 on 127.0.0.1")


STATE = "broker.json"


def _same_port(running: Broker, port: int | None) -> str:
    if port is not None and running.address != f"127.0.0.1:{port}":
        raise UserError(
            f"a broker for {running.directory} already runs on {running.address}, not on port {port}: "
            "stop it first, or give another directory"
        )
    return running.address


def _choose_port(port: int | None, home: Path) -> int:
    if port is None:
        return next((p for p in (_last_port(home), 9092) if p is not None and _is_free(p)), None) or free_port()
    if not 0 < port < 65536:
        raise UserError(f"port {port} is not a TCP port: 1 to 65535")
    if not _is_free(port):
        raise UserError(f"port {port} on 127.0.0.1 is taken by another program: give another one")
    return port


def _last_port(home: Path) -> int | None:
    """Return the port of a broker that died here, so that waiting clients find the new one."""
    try:
        return int(json.loads((home / STATE).read_text(encoding="utf-8"))["address"].rpartition(":")[2])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _format(java: str, jars: Path, settings: Path, home: Path) -> None:
    command = [java, "-Xmx128m", "-XX:TieredStopAtLevel=1", "-cp", f"{jars}/*", "kafka.tools.StorageTool", "format"]
    done = subprocess.run(
        [*command, "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c", str(settings), "--ignore-formatted"],
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise UserError(f"Kafka cannot use {home}: {last_line(done.stdout + done.stderr)}")


def _launch(java: str, jars: Path, settings: Path, home: Path) -> int:
    """Start Kafka in its own session, so that it outlives this process and Ctrl-C; return its pid."""
    setsid = [tool] if (tool := shutil.which("setsid")) else []
    command = [*setsid, java, "-Xmx256m", "-cp", f"{jars}/*", "kafka.Kafka", str(settings)]
    log = str(home / "broker.log")
    script = 'log=$1; shift; "$@" </dev/null >"$log" 2>&1 & echo $!'
    done = subprocess.run(["sh", "-c", script, "sh", log, *command], capture_output=True, text=True, check=True)
    return int(done.stdout)


def _wait_ready(broker: Broker) -> None:
    from simulator.sinks.kafka.admin import is_answering

    end = time.monotonic() + READY_WITHIN
    home = Path(broker.directory)
    while time.monotonic() < end:
        if not _is_kafka(broker.pid, home):
            log = (home / "broker.log").read_text(encoding="utf-8", errors="replace")
            raise DeliveryError(f"Kafka did not start: {last_line(log)} (see {home / 'broker.log'})")
        if is_answering(broker.address):
            return
        time.sleep(0.2)
    stop(home)
    raise DeliveryError(f"Kafka did not answer on {broker.address} in {READY_WITHIN:.0f} s (see {home / 'broker.log'})")


def _wait_until_stopped(broker: Broker, within: float) -> bool:
    end = time.monotonic() + within
    while time.monotonic() < end:
        if not _is_kafka(broker.pid, Path(broker.directory)):
            return True
        time.sleep(0.1)
    return False


def _is_kafka(pid: int, home: Path) -> bool:
    """Return whether the process is the directory's broker; another program may have got the same pid."""
    end = time.monotonic() + EXEC_WITHIN
    while (command := _command(pid)) == "" and time.monotonic() < end:
        time.sleep(0.01)
    return command is not None and str(home / "server.properties") in command


def _command(pid: int) -> str | None:
    """Return the process's command line, None if it has ended; empty during an exec (Linux)."""
    process = Path(f"/proc/{pid}")
    try:
        state = (process / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
        return None if state in "ZX" else (process / "cmdline").read_text(encoding="utf-8", errors="replace")
    except OSError:
        if Path("/proc/self").exists():
            return None
        done = subprocess.run(["ps", "-p", str(pid), "-o", "args="], capture_output=True, text=True)
        return done.stdout if done.returncode == 0 else None


def properties(port: int, controller: int, data: Path) -> str:
    """Return server.properties: broker and controller in one process, on 127.0.0.1 only, with these ports and data."""
    return PROPERTIES.format(port=port, controller=controller, data=data)


PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={data}
auto.create.topics.enable=false
num.partitions=1
default.replication.factor=1
min.insync.replicas=1
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
log.cleaner.enable=false
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
"""
"""With the last two lines a restart after a kill takes 6-9 s on the same directory, without them 12 s."""
