"""The command line. One law: a user's mistake ends in one line and exit code 2, lost delivery in exit code 3."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

import click

from simulator import __version__, signals
from simulator.cli import brokers, explain_ddl, look, play, releases
from simulator.errors import SimulatorError


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="ticdc-sim")
def commands() -> None:
    """Emits TiCDC's messages (Open Protocol, Canal-JSON) to Kafka or files, byte for byte, without a TiDB cluster."""


for command in (play.diff, play.run, look.inspect, look.explain, releases.releases, brokers.broker):
    commands.add_command(command)

for command in (explain_ddl.ddl, explain_ddl.table):
    look.explain.add_command(command)


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line and gives its exit code: 0 done, 2 the user's mistake, 3 delivery failed, 128 and more
    stopped by a signal."""
    try:
        with signals.heeded():
            code = commands.main(arguments, prog_name="ticdc-sim", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.UsageError as error:
        return _misused(error)
    except click.ClickException as error:
        return _said(error.format_message(), 2)
    except SimulatorError as error:
        return _said(str(error), error.exit_code)
    except signals.Stopped as stopped:
        return _said(str(stopped), stopped.exit_code)
    except (BrokenPipeError, SystemExit):
        # Whoever read our output has seen enough (click answers EPIPE with an exit); the rest has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _said(": ".join(str(part) for part in (error.filename, error.strerror or error) if part), 3)


def _said(text: str, code: int) -> int:
    """Says what is wrong and gives the code; where nobody listens to standard error, the code alone tells."""
    with suppress(OSError):
        for line in text.splitlines():
            click.echo(f"ticdc-sim: {line}", err=True)
    return code


def _misused(error: click.UsageError) -> int:
    """One line in place of click's four; a command without any arguments shows its help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return 2
    command = error.ctx.command_path if error.ctx is not None else "ticdc-sim"
    return _said(f"{error.format_message().rstrip('.')} (see {command} --help)", 2)


def main() -> None:
    """Entry point of `ticdc-sim`."""
    code = run()
    signals.ignored()
    sys.exit(code)
