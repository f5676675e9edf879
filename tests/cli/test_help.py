"""What people type first: --help, the Tab key, SQL from a pipe, and no sink at all."""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from support.playing import said

from simulator import TiCDC, limits
from simulator.cli.command_line import commands
from simulator.cli.options import EVERYWHERE, SECTIONS

pytestmark = pytest.mark.usefixtures("here")

SQL = "CREATE TABLE t (id INT PRIMARY KEY);\nINSERT INTO t VALUES (1);\n"
RUN = ("run", "-", "--console")


def every(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command with the words that lead to it."""
    yield path, command
    for name, inner in command.commands.items() if isinstance(command, click.Group) else ():
        yield from every(inner, (*path, name))


COMMANDS = dict(every(commands))


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_fits_a_screen_of_80_columns(path: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """And says all of it: no description of a command is cut. Many options come in sections: what only this command
    has first, what all have last."""
    monkeypatch.setenv("COLUMNS", "80")
    code, text, _ = said(*path, "--help")
    assert code == 0
    assert [line for line in text.splitlines() if len(line) > 80] == []
    assert "..." not in text.replace("COMMAND [ARGS]...", "")
    inner = COMMANDS[path]
    below = inner.commands.values() if isinstance(inner, click.Group) else ()
    assert [each.name for each in below if each.get_short_help_str() not in " ".join(text.split())] == []
    if path in (("load",), ("run",), ("diff",), ("serve",), ("verify",)):
        titles = re.findall(r"^(\S.*):$", text, re.MULTILINE)
        assert titles == [title for title in ("Options", *SECTIONS, EVERYWHERE) if title in titles]
        assert titles[0] == "Options" and titles[-1] == EVERYWHERE and len(titles) > 5
        assert max(len(part.splitlines()) for part in text.split("\n\n")) < 30


def test_an_example_of_a_page_is_a_command_line() -> None:
    examples = [
        (path, example)
        for path, command in COMMANDS.items()
        for example in re.findall(r"^ *((?:.*\| )?ticdc-sim (?:.*\\\n)*.*)$", command.help or "", re.MULTILINE)
        if "`" not in example
    ]
    assert {path[0] for path, _ in examples} >= {"run", "diff", "load", "serve", "verify", "releases"}
    for _, example in examples:
        line = example.partition("| ")[2] or example
        words = shlex.split(line.replace("\\\n", "").partition(" > ")[0])
        assert words[0] == "ticdc-sim", example
        COMMANDS[(words[1],)].make_context(words[1], words[2:], obj={})


# Completion


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_a_shell_gets_its_script_of_completion(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On standard output, with exit code 0; bash below."""
    monkeypatch.setenv("_TICDC_SIM_COMPLETE", f"{shell}_source")
    code, out, _ = said()
    assert (code, "_TICDC_SIM_COMPLETE" in out) == (0, True)


def test_another_word_for_completion_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_TICDC_SIM_COMPLETE", "tcsh_source")
    error = "ticdc-sim: _TICDC_SIM_COMPLETE=tcsh_source: expected bash_source, zsh_source or fish_source"
    assert said() == (2, "", [error])


@pytest.mark.slow
def test_the_script_completes_a_command_and_an_option() -> None:
    """As bash does when Tab is pressed, which runs the command as a process."""
    script = """
        eval "$(_TICDC_SIM_COMPLETE=bash_source ticdc-sim)"
        complete -p ticdc-sim
        COMP_WORDS=(ticdc-sim rel); COMP_CWORD=1; _ticdc_sim_completion ticdc-sim; echo "${COMPREPLY[@]}"
        COMPREPLY=(); COMP_WORDS=(ticdc-sim diff --ren); COMP_CWORD=2; _ticdc_sim_completion ticdc-sim; echo "${COMPREPLY[@]}"
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, env={**os.environ, "PATH": path})

    assert done.stderr == ""
    assert done.stdout.splitlines()[1:] == ["releases", "--rename"]


@pytest.mark.slow
def test_python_runs_the_package_as_the_command() -> None:
    done = subprocess.run([sys.executable, "-m", "simulator", "verify"], capture_output=True, text=True)
    assert (done.returncode, done.stderr[:31]) == (2, "ticdc-sim: nothing to verify: g")


# Standard input

Typed = Callable[..., None]


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Typed:
    """Lets standard input be a text, from a pipe or from a terminal."""

    def type_it(text: str, terminal: bool = False) -> None:
        stdin = io.TextIOWrapper(io.BytesIO(text.encode("utf-8", "surrogateescape")))
        monkeypatch.setattr(stdin, "isatty", lambda: terminal)
        monkeypatch.setattr(sys, "stdin", stdin)

    return type_it


@pytest.mark.slow
def test_run_reads_sql_from_a_pipe_or_a_terminal(typed: Typed) -> None:
    typed(f"\ufeff{SQL}")
    piped = said(*RUN)
    Path("story.sql").write_text(SQL)
    assert piped[:2] == said("run", "story.sql", "--console")[:2]
    assert (piped.code, "INSERT test.t id=1" in piped.out, "terminal" in "".join(piped.err)) == (0, True, False)
    typed(SQL, terminal=True)
    code, out, err = said(*RUN)
    assert (code, out, err[0]) == (0, piped.out, "reading SQL from the terminal; Ctrl-D ends it")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "standard input: it has no statement"),
        ("SELECT 1;\nSELEC 2;\n", "standard input:2: SELEC 2: ERROR 1064 (42000)"),
        ("CREATE TABLE t (id INT PRIMARY KEY);\nINSERT INTO t VALUES ('x')", "standard input:2: INSERT INTO t"),
        ("SELECT '\udcff'", "standard input is not UTF-8: "),
        ("[[step]]\nsql = 'SELECT 1'\n", "standard input:1: "),
        ("-" * ((1 << 20) + 1), "standard input is too large: at most 1 MiB of it are read"),
    ],
    ids=lambda value: value[:20],
)
def test_a_mistake_in_piped_sql_says_so(text: str, words: str, typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FILE_BYTES", 1 << 20)
    typed(text)
    code, _, err = said(*RUN)
    assert code == 2 and f"ticdc-sim: {words}" in "\n".join(err)


@pytest.mark.parametrize("option", ["--config", "--ddl"])
def test_other_files_are_not_read_from_standard_input(option: str, typed: Typed) -> None:
    """So that no terminal waits for what nobody types."""
    typed(SQL, terminal=True)
    assert said("diff", ".", ".", "--console", option, "-").code == 2
    assert sys.stdin.read() == SQL


@pytest.mark.slow
def test_all_commands_have_the_same_default_topic(typed: Typed) -> None:
    Path("t.sql").write_text("CREATE TABLE t (id INT PRIMARY KEY)")
    load = ("load", "--preset", "bank", "--console", "--rate", "9", "--duration", "100ms")
    topics = []
    for arguments in (RUN, ("shell",), load):
        typed(SQL)
        code, out, _ = said(*arguments)
        topics += [out.partition("/")[0]] if code == 0 else []
    out = said("explain", "row", '{"after": {"id": 1}}', "--schema", "t.sql", "--json").out
    topics += re.findall(r'"topic": "(\w+)"', out)[:1]
    with TiCDC() as ticdc:
        ticdc.execute("CREATE DATABASE a")
        topics.append(ticdc.messages()[0].topic)

    assert topics == ["ticdc"] * 5
