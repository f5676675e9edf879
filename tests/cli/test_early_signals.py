"""A signal ends a command quietly from its first import on."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

INTERRUPTED = """
import os, sys
module, number = sys.argv[1], int(sys.argv[2])

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == module:
            os.kill(os.getpid(), number)

sys.meta_path.insert(0, Finder())
from simulator.cli import main
sys.argv = ["ticdc-sim", "run", "bank", "--console"]
main()
"""
"""`ticdc-sim run bank --console`, which gets a signal when it imports a module."""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("module", ["simulator.cli.command_line", "click", "simulator.cli.tree", "simulator.run"])
def test_a_signal_during_imports_ends_it_without_a_traceback(module: str, number: signal.Signals) -> None:
    command = [sys.executable, "-c", INTERRUPTED, module, str(int(number))]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 128 + number
    assert ended.stdout == ""
    assert ended.stderr in ("", "ticdc-sim: interrupted\n", "ticdc-sim: stopped by SIGTERM\n")
