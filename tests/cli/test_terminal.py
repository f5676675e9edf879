"""What leaves for a person's terminal: names, values and settings are text, whatever a terminal would make of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

import pytest
from support.playing import said

from simulator.reader import records

URI = "kafka://127.0.0.1:1/shop?protocol=canal-json"
RED = "\x1b[31m"
CSI = "\x9b"
BIDI = "\u202e"
NASTY = f"a{RED}\n{CSI}{BIDI}é😀"
SHOWN = r"a\x1b[31m\n\x9b\u202eé😀"
QUOTED = r'"a\u001b[31m\n\u009b\u202eé😀"'
"""In JSON and in TOML."""


def lines(code: int, *arguments: object) -> tuple[list[str], list[str]]:
    """The lines on standard output and on standard error, every one of them for any terminal."""
    found = said(*arguments)
    assert found.code == code
    out = found.out.split("\n")
    assert [line for line in (*out, *found.err) if not line.isprintable()] == []
    return out, found.err


ROW = ("row", json.dumps({"after": {"id": 1, NASTY: NASTY}}))


@pytest.mark.parametrize(
    "arguments",
    [ROW, ("table", NASTY), ("ddl", f"alter table `{NASTY}` add column b int comment '{NASTY}'")],
    ids=["row", "table", "ddl"],
)
def test_explain_shows_names_and_values_with_escapes(here: Path, arguments: tuple[str, ...]) -> None:
    """For people; what is printable stays as it is. So do warnings. A program reads the names as they are, in JSON."""
    Path("schema.sql").write_text(f"CREATE TABLE `{NASTY}` (id INT PRIMARY KEY, `{NASTY}` VARCHAR(20));")
    Path("feed.toml").write_text(f"[sink]\n{QUOTED} = 1\n")
    out, err = lines(0, "explain", *arguments, "--schema", "schema.sql", "--config", "feed.toml")
    assert [line for line in out if f"test.{SHOWN}" in line]
    assert err == [f"warning: feed.toml: unknown key {NASTY!r} in [sink] is ignored."]
    out, _ = lines(0, "explain", *arguments, "--schema", "schema.sql", "--json")
    assert (QUOTED in "".join(out) or arguments[0] == "ddl") and json.loads("\n".join(out))
    assert json.loads(QUOTED) == NASTY


@pytest.mark.parametrize("how", [(), ("--raw",), ("--json",)])
def test_inspect_shows_topics_with_escapes(tmp_path: Path, how: tuple[str, ...]) -> None:
    """A topic is a directory here, and may be called anything."""
    (tmp_path / NASTY).mkdir()
    record = {"offset": 0, "timestamp": 0, "key": None, "value": "eyJpc0RkbCI6IBtbMzFt"}
    (tmp_path / NASTY / "0.jsonl").write_text(json.dumps(record))
    out, _ = lines(0, "inspect", tmp_path, *how)
    assert len(out) == 2 and (SHOWN in out[0] or QUOTED in out[0])


def test_errors_show_files_and_words_with_escapes(here: Path) -> None:
    """A line break in a name begins no line of its own, a mistake of a scenario does."""
    _, err = lines(2, "run", here / NASTY)
    assert err == [f"ticdc-sim: cannot read {here}/{SHOWN}: No such file or directory"]
    Path("scenario.toml").write_text(f"{QUOTED} = 1\nseed = 'x'\n")
    _, err = lines(2, "run", "scenario.toml")
    assert [line.split(".toml: ")[1][:15] for line in err] == ["line 1: unknown", "line 2: seed: b"]


@pytest.mark.slow
def test_a_terminal_of_another_charset_is_shown_what_it_has(tmp_path: Path) -> None:
    """In a process of its own: Latin-1, and an argument whose bytes are no text."""
    schema = tmp_path / "schema.sql"
    schema.write_text("CREATE TABLE `é表` (id INT PRIMARY KEY);", "utf-8")
    main = [sys.executable, "-c", "from simulator.cli import main; main()"]
    latin = dict(os.environ, PYTHONIOENCODING="latin-1")
    shown = subprocess.run([*main, "explain", "table", "é表", "--schema", schema], capture_output=True, env=latin)
    assert shown.stdout.splitlines()[0] == b"test.\xe9\\u8868 under TiCDC v8.5.3 (classic)"
    said = subprocess.run([*main, "inspect", b"/no/caf\xe9"], capture_output=True, env=latin)
    assert (said.returncode, said.stdout) == (2, b"")
    assert said.stderr.startswith(rb"ticdc-sim: no such directory: /no/caf\udce9")


def test_tables_called_like_markup_are_shown_as_they_are_called(here: Path) -> None:
    """In the tables at the end, where rich would read `[red]` as a colour, `[/x]` as its end and `:cat:` as a cat."""
    for directory, rows in (("before", ""), ("after", "1\n2\n")):
        Path(directory).mkdir()
        for name in ("[red]", "[/x]", ":cat:", f"a{RED}"):
            file = Path(directory, f"shop.{quote(name, safe='')}")
            file.with_name(f"{file.name}-schema.sql").write_text(f"CREATE TABLE `{name}` (id int PRIMARY KEY)")
            file.with_name(f"{file.name}.csv").write_text(rows)
    out, _ = lines(0, "diff", "before", "after", "--sink-uri", URI, "--fixtures", "out")
    shown = [line.split()[0] for line in out if line.startswith("shop.")]
    assert shown == ["shop.:cat:", "shop.[/x]", "shop.[red]", r"shop.a\x1b[31m"]


# What nobody foresaw


@pytest.mark.parametrize(
    ("arguments", "whole"),
    [(("inspect", "x"), False), (("--traceback", "inspect", "x"), True), (("inspect", "x", "--traceback"), True)],
)
def test_defects_have_their_exit_code(monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], whole: bool) -> None:
    """Its kind and its text; where it arose is shown when asked for, before the command's name or behind it."""

    def broken(source: str, follow: bool, warn: object) -> None:
        raise ZeroDivisionError(f"{RED}one\ntwo")

    monkeypatch.setattr(records, "read_records", broken)
    code, _, err = said(*arguments)
    defect = r"this is a defect of ticdc-sim itself: ZeroDivisionError: \x1b[31mone (--traceback shows where it arose)"
    assert code == 70 and all(line.startswith("ticdc-sim: ") for line in err)
    if whole:
        assert "Traceback" in err[0] and "in broken" in "".join(err)
    else:
        assert err == [f"ticdc-sim: {defect}"]
