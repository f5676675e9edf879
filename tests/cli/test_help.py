"""What people type first: --help, the Tab key, SQL from a pipe, and no sink at all."""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from simulator import limits
from simulator.cli.command_line import commands, run
from simulator.cli.help_page import EVERYWHERE, SECTIONS

SQL = "CREATE TABLE t (id INT PRIMARY KEY);\nINSERT INTO t VALUES (1);\n"


def every(command: click.Command, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Every command with the words that lead to it."""
    yield path, command
    for name, inner in command.commands.items() if isinstance(command, click.Group) else ():
        yield from every(inner, (*path, name))


COMMANDS = dict(every(commands))


def page(path: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("COLUMNS", "80")
    assert run([*path, "--help"]) == 0
    return capsys.readouterr().out


def typed(text: str, terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let standard input be a text, from a pipe or from a terminal."""
    stdin = io.TextIOWrapper(io.BytesIO(text.encode("utf-8", "surrogateescape")))
    monkeypatch.setattr(stdin, "isatty", lambda: terminal)
    monkeypatch.setattr(sys, "stdin", stdin)


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_help_fits_a_screen_of_80_columns(
    path: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And says all of it: no description of a command is cut."""
    text = page(path, capsys, monkeypatch)
    inner = COMMANDS[path]

    assert [line for line in text.splitlines() if len(line) > 80] == []
    assert "..." not in text.replace("COMMAND [ARGS]...", "")
    below = inner.commands.values() if isinstance(inner, click.Group) else ()
    assert [each.name for each in below if each.get_short_help_str() not in " ".join(text.split())] == []


@pytest.mark.parametrize("name", ["load", "run", "diff", "serve", "verify"])
def test_many_options_come_in_sections(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What only this command has comes first, what all have comes last."""
    text = page((name,), capsys, monkeypatch)
    titles = re.findall(r"^(\S.*):$", text, re.MULTILINE)

    assert titles == [title for title in ("Options", *SECTIONS, EVERYWHERE) if title in titles]
    assert titles[0] == "Options" and titles[-1] == EVERYWHERE and len(titles) > 5
    assert max(len(part.splitlines()) for part in text.split("\n\n")) < 30


EXAMPLES = [
    (path, example)
    for path, command in COMMANDS.items()
    for example in re.findall(r"^ *((?:.*\| )?ticdc-sim (?:.*\\\n)*.*)$", command.help or "", re.MULTILINE)
    if "`" not in example
]


def test_commands_have_examples() -> None:
    assert {path[0] for path, _ in EXAMPLES} >= {"run", "diff", "load", "serve", "verify", "releases"}


@pytest.mark.parametrize(("path", "example"), EXAMPLES, ids=lambda value: value if isinstance(value, str) else "")
def test_an_example_of_a_page_is_a_command_line(path: tuple[str, ...], example: str) -> None:
    """Its command, arguments and options exist."""
    line = example.partition("| ")[2] or example
    words = shlex.split(line.replace("\\\n", "").partition(" > ")[0])
    assert words[0] == "ticdc-sim"

    COMMANDS[(words[1],)].make_context(words[1], words[2:], obj={})


@pytest.mark.parametrize("shell", [pytest.param("bash", marks=pytest.mark.slow), "zsh", "fish"])
def test_a_shell_gets_its_script_of_completion(
    shell: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """On standard output, with exit code 0."""
    monkeypatch.setenv("_TICDC_SIM_COMPLETE", f"{shell}_source")

    assert run([]) == 0
    assert "_TICDC_SIM_COMPLETE" in capsys.readouterr().out


@pytest.mark.slow
def test_the_script_completes_a_command_and_an_option() -> None:
    """As bash does when Tab is pressed."""
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


def test_another_word_for_completion_is_an_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_TICDC_SIM_COMPLETE", "tcsh_source")

    assert run([]) == 2
    assert capsys.readouterr().err == (
        "ticdc-sim: _TICDC_SIM_COMPLETE=tcsh_source: expected bash_source, zsh_source or fish_source\n"
    )


@pytest.mark.slow
def test_python_runs_the_package_as_the_command() -> None:
    """With its exit codes."""
    called = [sys.executable, "-m", "simulator"]

    assert b"ticdc-sim, version" in subprocess.run([*called, "--version"], capture_output=True, check=True).stdout
    assert subprocess.run([*called, "verify"], capture_output=True).returncode == 2


def test_run_reads_sql_from_a_pipe(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As it reads a file; nothing is said of a terminal."""
    typed(f"\ufeff{SQL}", False, monkeypatch)
    assert run(["run", "-", "--console"]) == 0
    piped = capsys.readouterr()
    (tmp_path / "story.sql").write_text(SQL)
    assert run(["run", str(tmp_path / "story.sql"), "--console"]) == 0

    assert capsys.readouterr().out == piped.out
    assert "INSERT test.t id=1" in piped.out and "terminal" not in piped.err


def test_run_says_that_it_reads_from_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    typed(SQL, True, monkeypatch)

    assert run(["run", "-", "--console"]) == 0
    assert capsys.readouterr().err.startswith("reading SQL from the terminal; Ctrl-D ends it\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "standard input: it has no statement"),
        ("SELECT 1;\nSELEC 2;\n", "standard input:2: SELEC 2: ERROR 1064 (42000)"),
        ("CREATE TABLE t (id INT PRIMARY KEY);\nINSERT INTO t VALUES ('x')", "standard input:2: INSERT INTO t"),
        ("SELECT '\udcff'", "standard input is not UTF-8: "),
        ("[[step]]\nsql = 'SELECT 1'\n", "standard input:1: "),
    ],
)
def test_a_mistake_in_piped_sql_names_standard_input(
    text: str, said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the line."""
    typed(text, False, monkeypatch)

    assert run(["run", "-", "--console"]) == 2
    assert f"ticdc-sim: {said}" in capsys.readouterr().err


def test_piped_sql_has_a_limit(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "FILE_BYTES", 1 << 20)
    typed("-" * (1 << 20) + "-", False, monkeypatch)

    assert run(["run", "-", "--console"]) == 2
    assert capsys.readouterr().err == "ticdc-sim: standard input is too large: at most 1 MiB of it are read\n"


@pytest.mark.parametrize("option", [("--config", "-"), ("--ddl", "-")])
def test_other_files_are_not_read_from_standard_input(
    option: tuple[str, str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """So that no terminal waits for what nobody types."""
    typed(SQL, True, monkeypatch)
    monkeypatch.chdir(tmp_path)

    assert run(["diff", str(tmp_path), str(tmp_path), "--console", *option]) == 2
    assert sys.stdin.read() == SQL


def test_all_commands_have_the_same_default_topic(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where no sink-uri is given; `TiCDC` has it, too."""
    from simulator import TiCDC

    schema = tmp_path / "t.sql"
    schema.write_text("CREATE TABLE t (id INT PRIMARY KEY)")
    topics = []
    for arguments in (
        ["run", "-", "--console"],
        ["shell"],
        ["load", "--preset", "bank", "--console", "--rate", "9", "--duration", "100ms"],
    ):
        typed(SQL, False, monkeypatch)
        assert run(arguments) == 0
        topics.append(capsys.readouterr().out.partition("/")[0])
    assert run(["explain", "row", '{"after": {"id": 1}}', "--schema", str(schema), "--json"]) == 0
    topics += re.findall(r'"topic": "(\w+)"', capsys.readouterr().out)[:1]
    with TiCDC() as ticdc:
        ticdc.execute("CREATE DATABASE a")
        topics.append(ticdc.messages()[0].topic)

    assert topics == ["ticdc"] * 5
