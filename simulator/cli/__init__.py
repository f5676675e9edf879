"""The command line. One law: a user's mistake ends in one line and exit code 2, lost delivery in exit code 3."""

from __future__ import annotations

import sys

import click

from simulator import __version__
from simulator.cli import brokers, look, play
from simulator.errors import SimulatorError

INTERRUPTED = 130
"""128 + SIGINT, as shells have it."""


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="ticdc-sim")
def commands() -> None:
    """Emits TiCDC's messages (Open Protocol, Canal-JSON) to Kafka or to files, byte for byte, without a TiDB cluster."""


for command in (play.diff, play.run, look.inspect, look.explain, brokers.broker):
    commands.add_command(command)


def main() -> None:
    """Entry point of `ticdc-sim`."""
    try:
        code = commands.main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = 2
    except click.Abort:
        code = INTERRUPTED
    except SimulatorError as error:
        for line in str(error).splitlines():
            click.echo(f"ticdc-sim: {line}", err=True)
        code = error.exit_code
    except (KeyboardInterrupt, BrokenPipeError):
        code = INTERRUPTED
    sys.exit(code if isinstance(code, int) else 0)
