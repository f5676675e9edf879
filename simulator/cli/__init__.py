"""The command line.

One law: a user's mistake ends in one line and exit code 2, what a scenario expects in vain in 1, lost delivery in 3,
what nobody foresaw in 70. Who closes standard output early has seen enough, which changes no verdict.
"""

from __future__ import annotations

import errno
import gc
import io
import os
import sys
import traceback
from collections.abc import Sequence

import click

from simulator import signals
from simulator.cli import streams
from simulator.cli.output import complain
from simulator.cli.tree import commands
from simulator.errors import SimulatorError, UserError, mask_secrets

GENERATION = 100_000
"""Objects that come between two looks of Python's garbage collector: what imports make stays, and is much."""

DEFECT = 70
"""EX_SOFTWARE of sysexits.h."""


def _everywhere(command: click.Command, option: click.Option) -> None:
    """Gives an option to a command and to all below it."""
    command.params.append(option)
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        _everywhere(inner, option)


def _traceback_asked(context: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        context.obj["traceback"] = True


_everywhere(
    commands,
    click.Option(
        ["--traceback"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_traceback_asked,
        help="Show where a defect of ticdc-sim itself arose.",
    ),
)


def run(arguments: Sequence[str] | None = None) -> int:
    """Runs one command line and gives its exit code: 0 done, 1 what a scenario expects is not so, 2 the user's mistake,
    3 delivery failed, 70 our defect, 128 and more stopped by a signal.
    """
    asked: dict[str, bool] = {}
    try:
        _check(sys.argv[1:] if arguments is None else arguments)
        with signals.stop_on_signal():
            code = commands.main(arguments, prog_name="ticdc-sim", standalone_mode=False, obj=asked)
            return streams.flushed(code if isinstance(code, int) else 0)
    except click.UsageError as error:
        return _misused(error)
    except click.ClickException as error:
        return _complain(2, error.format_message())
    except SimulatorError as error:
        return _complain(error.exit_code, *error.args)
    except signals.Stopped as stopped:
        return _complain(stopped.exit_code, str(stopped))
    except OSError as error:
        return _refused(error)
    except SystemExit:  # click's answer to EPIPE
        return _refused(BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)))
    except Exception as error:
        return _unforeseen(error, "traceback" in asked)


def _check(arguments: Sequence[str]) -> None:
    """Raises UserError for an argument that no operating system passes on, and that no file can be called."""
    for argument in arguments:
        try:
            possible = b"\0" not in os.fsencode(argument)
        except UnicodeEncodeError:
            possible = False
        if not possible:
            raise UserError(f"the argument {argument[:60]!r} holds what no argument can hold: NUL, or half a character")


def _complain(code: int, *lines: str) -> int:
    """Says what is wrong and gives the code."""
    complain(f"ticdc-sim: {line}" for line in lines)
    return code


def _refused(error: OSError) -> int:
    """What the operating system refuses; nothing is wrong where only the reader of standard output is gone."""
    if isinstance(error, BrokenPipeError) and streams.reader_gone():
        return 0
    return _complain(3, ": ".join(str(part) for part in (error.filename, error.strerror or error) if part))


def _unforeseen(error: Exception, whole: bool) -> int:
    """A defect of ours: its kind and the first line of its text, or all of where it arose."""
    if whole:
        return _complain(DEFECT, *"".join(traceback.format_exception(error)).splitlines())
    kind, text = type(error).__name__, (str(error).strip().splitlines() or [""])[0]
    said = f"{kind}: {text[:200]}" if text else kind
    return _complain(DEFECT, f"this is a defect of ticdc-sim itself: {said} (--traceback shows where it arose)")


def _misused(error: click.UsageError) -> int:
    """One line in place of click's four; a command without any arguments shows its help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return 2
    command = error.ctx.command_path if error.ctx is not None else "ticdc-sim"
    return _complain(2, f"{mask_secrets(error.format_message()).rstrip('.')} (see {command} --help)")


def main() -> None:
    """Entry point of `ticdc-sim`; what a terminal's charset lacks is shown as escapes."""
    streams.reopen_closed()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    gc.set_threshold(GENERATION)
    code = run()
    # The interpreter looks through all that was made before it ends, a fifth of a short command's time; without that
    # DuckDB 2.0 complains of what its bindings (nanobind) still hold.
    if "duckdb" not in sys.modules:
        gc.freeze()
    signals.ignore_signals()
    streams.let_go()
    sys.exit(code)
