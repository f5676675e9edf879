"""A PostgreSQL of Debian's package `postgresql`, empty, for the tests of a module."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

USER, PASSWORD = "reader", "pass@word/1"


def programs() -> Path:
    """The directory of PostgreSQL's programs; skips the test without one, and fails it in CI."""
    found = [
        *Path("/usr/lib/postgresql").glob("*/bin"),
        *(Path(name).parent for name in [shutil.which("initdb")] if name),
    ]
    if not found:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("no PostgreSQL (Debian's package postgresql)")
    return max(found)


@contextmanager
def postgresql() -> Iterator[str]:
    """Host and port of a running server with the user USER."""
    user = "postgres" if os.getuid() == 0 else None  # it refuses to run as root
    with tempfile.TemporaryDirectory(prefix="postgresql-") as directory:
        data, secret = Path(directory, "data"), Path(directory, "secret")
        secret.write_text(PASSWORD)
        if user is not None:
            for path in (Path(directory), secret):
                shutil.chown(path, user)
        program = programs()
        subprocess.run(
            [
                program / "initdb",
                "-D",
                data,
                "-U",
                USER,
                f"--pwfile={secret}",
                "-A",
                "scram-sha-256",
                "-N",
                "-E",
                "UTF8",
            ],
            user=user,
            cwd=directory,
            check=True,
            capture_output=True,
        )
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        options = f"-p {port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off"
        control = [str(program / "pg_ctl"), "-D", str(data), "-w", "-s"]
        log = Path(directory, "log")
        subprocess.run([*control, "-l", str(log), "-o", options, "start"], user=user, cwd=directory, check=True)
        try:
            yield f"127.0.0.1:{port}"
        finally:
            subprocess.run([*control, "-m", "immediate", "stop"], user=user, cwd=directory, check=True)
