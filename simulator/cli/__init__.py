"""The command line. One law: a user's mistake ends in one line and exit code 2, lost delivery in exit code 3."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import click

from simulator import __version__
from simulator.cli import brokers, look, play
from simulator.errors import SimulatorError

INTERRUPTED = 130
"""128 + SIGINT, as shells have it."""


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="ticdc-sim")
def commands() -> None:
    """Emits TiCDC's messages (Open Protocol, Canal-JSON) to Kafka or files, byte for byte, without a TiDB cluster."""


for command in (play.diff, play.run, look.inspect, look.explain, brokers.broker):
    commands.add_command(command)


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line and gives its exit code: 0 done, 2 the user's mistake, 3 delivery failed."""
    try:
        code = commands.main(arguments, standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.ClickException as error:
        error.show()
        return 2
    except SimulatorError as error:
        for line in str(error).splitlines():
            click.echo(f"ticdc-sim: {line}", err=True)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough; what is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def main() -> None:
    """Entry point of `ticdc-sim`."""
    sys.exit(run())
