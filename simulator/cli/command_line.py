"""The command line.

Exit codes: 1 for a failed expectation, 2 for a user's mistake, 3 for failed delivery, 70 for a defect; each with one line
on standard error. A closed pipe at standard output is no error.
"""

from __future__ import annotations

import errno
import gc
import io
import os
import select
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress

import click

from simulator import signals
from simulator.cli.output import complain
from simulator.cli.tree import commands
from simulator.errors import SimulatorError, UserError, mask_secrets

GENERATION = 200_000
"""Threshold of Python's garbage collector: imports create many objects that stay, 160,000 in a run."""

COMPLETION = "_TICDC_SIM_COMPLETE"
"""The variable by which a shell asks click for a script, or for the words that may come next."""

DEFECT = 70
"""EX_SOFTWARE of sysexits.h."""

REMOVED = {
    (f"ticdc-sim {command}", option)
    for command in ("diff", "load", "run")
    for option in ("--driver", "--plain-producer")
}
"""Commands and the options that they had in 0.2.0, which chose between clients of Kafka."""


def _everywhere(command: click.Command, option: click.Option) -> None:
    """Add an option to a command and to all its subcommands."""
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
    """Run one command line and return its exit code.

    0 success, 1 failed expectation, 2 user's mistake, 3 failed delivery, 70 defect, 128 and more stopped by a signal.
    """
    flags: dict[str, bool] = {}
    try:
        _check(sys.argv[1:] if arguments is None else arguments)
        with signals.stop_on_signal():
            code = commands.main(arguments, prog_name="ticdc-sim", standalone_mode=False, obj=flags)
            return flushed(code if isinstance(code, int) else 0)
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
    except SystemExit as exit:
        return _left_by_click(exit)
    except RecursionError as error:
        if "traceback" in flags:
            return _unforeseen(error, True)
        return _complain(2, "a statement, an expression or a document is nested too deeply")
    except Exception as error:
        return _unforeseen(error, "traceback" in flags)


def _check(arguments: Sequence[str]) -> None:
    """Raise UserError for an argument that no operating system passes, as it holds NUL or a lone surrogate."""
    for argument in arguments:
        try:
            possible = b"\0" not in os.fsencode(argument)
        except UnicodeEncodeError:
            possible = False
        if not possible:
            raise UserError(f"the argument {argument[:60]!r} holds what no argument can hold: NUL, or half a character")


def _complain(code: int, *lines: str) -> int:
    """Print error lines and return the code."""
    complain(f"ticdc-sim: {line}" for line in lines)
    return code


def _left_by_click(exit: SystemExit) -> int:
    """Return the exit code of what click has done instead of a command: a broken pipe, or completion for a shell."""
    asked = os.environ.get(COMPLETION)
    if not asked:
        return _refused(BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE)))
    if exit.code:
        return _complain(2, f"{COMPLETION}={asked[:60]}: expected bash_source, zsh_source or fish_source")
    return flushed(0)


def _refused(error: OSError) -> int:
    """Report an error of the operating system; a closed pipe at standard output is none."""
    if isinstance(error, BrokenPipeError) and reader_gone():
        return 0
    if _is_nowhere():
        return _complain(2, NOWHERE)
    return _complain(3, ": ".join(str(part) for part in (error.filename, error.strerror or error) if part))


def _is_nowhere() -> bool:
    """Return whether the working directory was deleted."""
    try:
        os.getcwd()
    except OSError:
        return True
    return False


NOWHERE = "the working directory does not exist any more: change to one that does"


def _unforeseen(error: Exception, whole: bool) -> int:
    """Report a defect with its type and first line, or with the whole traceback."""
    if _is_nowhere():
        return _complain(2, NOWHERE)
    if whole:
        return _complain(DEFECT, *"".join(traceback.format_exception(error)).splitlines())
    kind, text = type(error).__name__, (str(error).strip().splitlines() or [""])[0]
    summary = f"{kind}: {text[:200]}" if text else kind
    return _complain(DEFECT, f"this is a defect of ticdc-sim itself: {summary} (--traceback shows where it arose)")


def _misused(error: click.UsageError) -> int:
    """Report a usage error in one line; a command without arguments shows its help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return 2
    command = error.ctx.command_path if error.ctx is not None else "ticdc-sim"
    if isinstance(error, click.NoSuchOption) and (command, error.option_name) in REMOVED:
        return _complain(2, f"{error.option_name} was removed in 0.3.0: kafka-python alone sends to Kafka")
    return _complain(2, f"{mask_secrets(error.format_message()).rstrip('.')} (see {command} --help)")


def main() -> int:
    """Run `ticdc-sim` and return the exit code; characters that the terminal's charset lacks are printed as escapes."""
    reopen_closed()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    gc.set_threshold(GENERATION)
    code = run()
    # Without this the interpreter collects all objects at exit, a fifth of a short command's time.
    gc.freeze()
    signals.ignore_signals()
    let_go()
    return code


STANDARD = (("stdin", "r"), ("stdout", "w"), ("stderr", "w"))


def reopen_closed() -> None:
    """Open closed standard streams as /dev/null, so that no other file gets their numbers."""
    while (number := os.open(os.devnull, os.O_RDWR)) < len(STANDARD):
        os.set_inheritable(number, True)
    os.close(number)
    for name, mode in STANDARD:
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))


def flushed(code: int) -> int:
    """Flush standard output and return the code; raises OSError unless only the reader has closed the pipe."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        if not reader_gone():
            raise
    return code


def reader_gone() -> bool:
    """Return whether standard output is a pipe or a socket whose reader has closed it."""
    try:
        waits = select.poll()
        waits.register(sys.stdout.fileno(), 0)
        return any(events & (select.POLLERR | select.POLLHUP) for _, events in waits.poll(0))
    except (OSError, ValueError):
        return False


def let_go() -> None:
    """Discard unwritable output, with which the interpreter would end with exit code 120."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            with suppress(OSError, ValueError, io.UnsupportedOperation):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
