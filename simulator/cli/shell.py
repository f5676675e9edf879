"""The command `shell`: runs SQL from a prompt or a pipe, and prints the events of each statement.

An error at the prompt affects only its statement; from a pipe it ends the shell.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings

from rich.cells import cell_len

from simulator import tso
from simulator.api.results import records
from simulator.api.session import Message, TiCDC
from simulator.cli.options import instead_of_sink
from simulator.cli.output import complain, show_lines, warn
from simulator.cli.user_files import check_places
from simulator.errors import SimulatorError, SqlError, UserError, did_you_mean
from simulator.faults import FAULTS
from simulator.limits import counted
from simulator.reader.event_lines import lines, raw_lines
from simulator.settings import DEFAULT_SINK_URI
from simulator.tidb.parser.script import split_script

if TYPE_CHECKING:
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyPressEvent

SINK_URI = f"{DEFAULT_SINK_URI}&partition-num=1"
"""The default, with one partition for short output."""

PROMPT, CONTINUED = "ticdc> ", "    -> "

HELP = """
A statement ends with ; and is answered by the events that it made, as `inspect` shows them.
\\bytes        the last messages that a statement made, as their bytes
\\watermark    send a watermark above everything so far
\\wait 10s     let simulated time pass
\\rows db.t    the rows of a table
\\fault …      something goes wrong: \\fault restart, \\fault late-partition partition=0 by=2s; \\fault alone lists what
\\release      what is simulated
\\help         this
\\quit         end (as Ctrl-D)
""".strip()

BARE = {"help": "\\help", "?": "\\help", "\\h": "\\help", "quit": "\\quit", "exit": "\\quit", "\\q": "\\quit"}
"""Commands in the spelling of MySQL's client."""

WIDEST = 100
"""The maximal characters of a value in a table of rows."""


def shell(options: dict[str, Any], force: bool) -> int:
    """Run the shell and return the exit code: 2 if a statement from a pipe failed, which ends it without `force`."""
    check_places(options, ("fixtures",), [("--config", options["config"])])
    ticdc = TiCDC(
        options["release"] or "v8.5.3",
        options["architecture"],
        sink_uri=options["sink_uri"],
        assumed_uri=SINK_URI,
        config=options["config"],
        tz=options["tz"],
        start_ts=options["start_ts"],
        resolved_interval=f"{interval}ms" if (interval := options["resolved_interval_ms"]) else None,
        seed=options["seed"] or 0,
        fixtures=options["fixtures"],
        fixtures_format=options["fixtures_format"],
        send=options["sink_uri"] is not None and instead_of_sink(options) is None,
    )
    warn(ticdc.warnings)
    with catch_warnings(record=True, action="always") as met_nothing:
        with ticdc:
            made = Shell(ticdc)
            code = made.at_a_prompt() if sys.stdin.isatty() else made.from_a_pipe(force)
    warn(str(each.message) for each in met_nothing)
    return code


class Quit(Exception):
    """Ends the shell."""


class Shell:
    """A shell on an open changefeed, which keeps the messages of the last statement."""

    def __init__(self, ticdc: TiCDC) -> None:
        self._ticdc = ticdc
        self._last: list[Message] = []

    def at_a_prompt(self) -> int:
        """Answer until Ctrl-D."""
        show_lines([f"{self._ticdc.describe()}; \\help helps, Ctrl-D ends"])
        for text in _typed_texts(self._is_whole):
            try:
                self.answer(text)
            except Quit:
                break
            except SimulatorError as error:
                show_lines(map(str, error.args))
        return 0

    def from_a_pipe(self, force: bool) -> int:
        """Answer each statement as soon as it is complete."""
        code = 0
        try:
            pieces = _pieces(sys.stdin.buffer, self._is_whole)
            for line, text in ((line, text) for line, piece in pieces for text in self._parts(piece)):
                try:
                    self.answer(text)
                except SimulatorError as error:
                    where = [f"line {line}: {argument}" for argument in error.args]
                    if not force:
                        raise UserError(*where) from None
                    code = 2
                    sys.stdout.flush()
                    complain(where)
        except Quit:
            pass
        return code

    def _parts(self, text: str) -> Sequence[str]:
        """Return the statements of a line, of which each may fail; a command, or what is no SQL, as it is."""
        if text.lstrip().startswith("\\"):
            return [text]
        try:
            return [statement.text for statement in split_script(text, self._sql_mode)] or [text]
        except SimulatorError:
            return [text]

    def answer(self, text: str) -> None:
        """Run a command or statements and print the result; raises SimulatorError and Quit."""
        name, _, argument = BARE.get(text.strip().rstrip(";").lower(), text.strip()).partition(" ")
        if not name.startswith("\\"):
            for statement in split_script(text, self._sql_mode):
                self._run(statement.text)
            return
        if name not in COMMANDS:
            raise UserError(f"unknown command {name}.{did_you_mean(name, COMMANDS)} Known: {', '.join(COMMANDS)}")
        COMMANDS[name](self, argument.strip().rstrip(";").strip())

    @property
    def _sql_mode(self) -> frozenset[str]:
        return self._ticdc.open_changefeed.upstream().settings.sql_mode

    def _is_whole(self, text: str) -> bool:
        return is_whole(text, self._sql_mode)

    def _run(self, text: str) -> None:
        try:
            result = self._ticdc.execute(text)
        finally:
            made = self._ticdc.messages(watermark=False)
            self._last = made or self._last
        if result.columns:
            show_lines(table_lines(result.columns, result.rows))
        elif not made:
            show_lines([f"OK, {_rows(result.affected)} affected"])
        show_lines(f"Warning {warning}" for warning in result.warnings)
        self._show(made)

    def _show(self, messages: Sequence[Message]) -> None:
        schemas = {id: schema.text for id, schema in self._ticdc.schemas.items()}
        show_lines(lines(records(messages), schemas=schemas))
        sys.stdout.flush()

    def bytes(self, _: str) -> None:
        show_lines(raw_lines(records(self._last)) if self._last else ["no statement has made a message yet"])

    def watermark(self, _: str) -> None:
        self._last = self._ticdc.messages()
        self._show(self._last)
        show_lines([f"everything up to {tso.describe(self._ticdc.watermark)} has been sent"])

    def wait(self, duration: str) -> None:
        self._ticdc.wait(duration or "1s")
        self._last = self._ticdc.messages(watermark=False)
        self._show(self._last)

    def rows(self, table: str) -> None:
        rows = self._ticdc.rows(table)
        cells = [[_cell(value) for value in row.values()] for row in rows]
        show_lines(table_lines(tuple(rows[0]), cells) if rows else ["no rows"])

    def fault(self, text: str) -> None:
        if not text:
            show_lines(fault_lines())
            return
        try:
            name, *arguments = shlex.split(text)
        except ValueError as error:
            raise UserError(f"\\fault {text}: {str(error).lower()}") from None
        self._ticdc.fault(name, **dict(_key(word) for word in arguments))
        made = self._ticdc.messages(watermark=False)
        self._last = made or self._last
        self._show(made)

    def release(self, _: str) -> None:
        show_lines([self._ticdc.describe()])

    def help(self, _: str) -> None:
        show_lines(HELP.splitlines())

    def quit(self, _: str) -> None:
        raise Quit


COMMANDS: dict[str, Callable[[Shell, str], None]] = {
    "\\bytes": Shell.bytes,
    "\\watermark": Shell.watermark,
    "\\wait": Shell.wait,
    "\\rows": Shell.rows,
    "\\fault": Shell.fault,
    "\\release": Shell.release,
    "\\help": Shell.help,
    "\\quit": Shell.quit,
}


def is_whole(text: str, sql_mode: frozenset[str]) -> bool:
    """Return whether a text ends with a complete statement or command."""
    words = text.strip().lower()
    if not words or words.startswith(("\\", "delimiter ")) or words in BARE or words == "-- fails" or "\0" in text:
        return True
    try:
        return len(split_script(f"{text}\nx", sql_mode)) > len(split_script(text, sql_mode))
    except SqlError:  # a quote or a comment is open
        return False


def fault_lines() -> Iterator[str]:
    """Yield every fault with its keys and its description."""
    for legal, heading in ((True, "What TiCDC does:"), (False, "What a consumer should notice:")):
        yield heading
        for name, kind in FAULTS.items():
            if kind.legal == legal:
                keys = (f"{key}=…" if key in kind.needs else f"[{key}=…]" for key in kind.keys)
                yield f"  {' '.join((name, *keys))}"
                yield f"      {kind.says}"


def _key(word: str) -> tuple[str, str | int]:
    """Parse `by=2s`; a numeric value becomes an integer."""
    key, equals, value = word.partition("=")
    if not equals:
        raise UserError(f"expected key=value, such as by=2s, got {word!r}")
    return key, int(value) if value.isdecimal() else value


def table_lines(names: Sequence[str], rows: Iterable[Sequence[str | bytes | None]]) -> Iterator[str]:
    """Yield a table of rows as MySQL's client prints it."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(map(cell_len, column)) for column in zip(names, *cells, strict=True)]
    rule = "+".join(("", *("-" * (width + 2) for width in widths), ""))
    yield rule
    yield _drawn(names, widths)
    yield rule
    yield from (_drawn(row, widths) for row in cells)
    if cells:
        yield rule
    yield f"{_rows(len(cells))} in set"


def _drawn(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (width - cell_len(cell)) for cell, width in zip(cells, widths, strict=True))
    return "| " + " | ".join(padded) + " |"


def _cell(value: object) -> str:
    if value is None:
        return "NULL"
    text = f"0x{value.hex()}" if isinstance(value, bytes) else str(value)
    text = text if text.isprintable() else repr(text)[1:-1]
    return text if len(text) <= WIDEST else f"{text[:WIDEST]}…"


def _rows(count: int) -> str:
    return counted(count, "row")


def _typed_texts(is_whole: Callable[[str], bool]) -> Iterator[str]:
    """Yield the texts typed until Ctrl-D, with line editing and a history; Ctrl-C clears the input, Enter submits a whole
    text."""
    from prompt_toolkit import PromptSession  # it takes long, and a pipe needs none
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        typed = event.current_buffer
        if is_whole(typed.text):
            typed.validate_and_handle()
        else:
            typed.insert_text("\n")

    session: PromptSession[str] = PromptSession(
        history=_history(), multiline=True, key_bindings=keys, prompt_continuation=CONTINUED
    )
    while True:
        try:
            text = session.prompt(PROMPT)
        except KeyboardInterrupt:
            continue
        except EOFError:
            return
        if text.strip():
            yield text


def _history() -> History:
    """Return a history in the user's state directory, private to the user, or else in memory."""
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    state = os.environ.get("XDG_STATE_HOME")
    file = (Path(state) if state else Path.home() / ".local" / "state") / "ticdc-simulator" / "history"
    with suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(file, os.O_CREAT | os.O_APPEND, 0o600))
        return FileHistory(str(file))
    return InMemoryHistory()


def _pieces(source: Iterable[bytes], is_whole: Callable[[str], bool]) -> Iterator[tuple[int, str]]:
    """Yield the commands and statements of a pipe, each with the number of its first line."""
    pending, first = "", 1
    for number, line in enumerate(source, 1):
        try:
            pending += line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError:
            raise UserError(f"line {number}: not UTF-8") from None
        if (not pending.strip() or b";" in line or pending.lstrip().startswith("\\")) and is_whole(pending):
            yield first, pending
            pending = ""
        if not pending.strip():
            pending, first = "", number + 1
    if pending:
        yield first, pending
