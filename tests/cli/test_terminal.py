"""What leaves for a person's terminal: names, values and settings are text, whatever a terminal would make of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.playing import play

from simulator.cli import run
from simulator.consumer import records

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

URI = "kafka://127.0.0.1:1/shop?protocol=canal-json"
RED = "\x1b[31m"
CSI = "\x9b"
BIDI = "\u202e"
NASTY = f"a{RED}\n{CSI}{BIDI}é😀"
SHOWN = r"a\x1b[31m\n\x9b\u202eé😀"
QUOTED = r'"a\u001b[31m\n\u009b\u202eé😀"'
"""In JSON and in TOML."""


@pytest.fixture(name="schema")
def _schema(tmp_path: Path) -> str:
    """A table of that name with a column of that name, beside a changefeed.toml with such a key."""
    (tmp_path / "schema.sql").write_text(f"CREATE TABLE `{NASTY}` (id INT PRIMARY KEY, `{NASTY}` VARCHAR(20));")
    (tmp_path / "feed.toml").write_text(f"[sink]\n{QUOTED} = 1\n")
    return str(tmp_path / "schema.sql")


def lines(capsys: pytest.CaptureFixture[str], code: int, *arguments: object) -> tuple[list[str], list[str]]:
    """The lines on standard output and on standard error, every one of them for any terminal."""
    assert play(*arguments) == code
    out, err = (text.split("\n") for text in capsys.readouterr())
    assert [line for line in (*out, *err) if not line.isprintable()] == []
    return out, err


@pytest.mark.parametrize(
    "arguments",
    [
        ("row", json.dumps({"after": {"id": 1, NASTY: NASTY}})),
        ("table", NASTY),
        ("ddl", f"alter table `{NASTY}` add column b int comment '{NASTY}'"),
    ],
    ids=["row", "table", "ddl"],
)
def test_explain_shows_names_and_values_with_escapes(
    capsys: pytest.CaptureFixture[str], schema: str, arguments: tuple[str, ...]
) -> None:
    """For people; what is printable stays as it is. So do warnings."""
    config = Path(schema).with_name("feed.toml")
    out, err = lines(capsys, 0, "explain", *arguments, "--schema", schema, "--config", config)
    assert [line for line in out if f"test.{SHOWN}" in line]
    assert err == [f"warning: {config}: unknown key {NASTY!r} in [sink] is ignored.", ""]


@pytest.mark.parametrize(
    "arguments", [("row", json.dumps({"after": {"id": 1, NASTY: NASTY}})), ("table", NASTY)], ids=["row", "table"]
)
def test_json_has_the_escapes_of_json(
    capsys: pytest.CaptureFixture[str], schema: str, arguments: tuple[str, ...]
) -> None:
    """A program reads the names as they are."""
    out, _ = lines(capsys, 0, "explain", *arguments, "--schema", schema, "--json")
    assert QUOTED in "".join(out)
    assert json.loads("\n".join(out)) and json.loads(QUOTED) == NASTY


@pytest.mark.parametrize("how", [(), ("--raw",), ("--json",)])
def test_inspect_shows_topics_with_escapes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, how: tuple[str, ...]
) -> None:
    """A topic is a directory here, and may be called anything."""
    (tmp_path / NASTY).mkdir()
    record = {"offset": 0, "timestamp": 0, "key": None, "value": "eyJpc0RkbCI6IBtbMzFt"}
    (tmp_path / NASTY / "0.jsonl").write_text(json.dumps(record))
    out, _ = lines(capsys, 0, "inspect", tmp_path, *how)
    assert len(out) == 2 and (SHOWN in out[0] or QUOTED in out[0])


def test_errors_show_files_and_words_with_escapes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A line break in a name begins no line of its own, a mistake of a scenario does."""
    _, err = lines(capsys, 2, "run", tmp_path / NASTY)
    assert err == [f"ticdc-sim: cannot read {tmp_path}/{SHOWN}: No such file or directory", ""]
    (tmp_path / "scenario.toml").write_text(f"{QUOTED} = 1\nseed = 'x'\n")
    _, err = lines(capsys, 2, "run", tmp_path / "scenario.toml")
    assert [line.split(".toml: ")[1][:15] for line in err[:-1]] == ["line 1: unknown", "line 2: seed: b"]


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


def test_tables_called_like_markup_are_shown_as_they_are_called(
    spark: SparkSession, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """In the tables at the end, where rich would read `[red]` as a colour, `[/x]` as its end and `:cat:` as a cat."""
    names = {"[red]": "%5Bred%5D", "[/x]": "%5B%2Fx%5D", ":cat:": "%3Acat%3A", f"a{RED}": "a%1B%5B31m"}
    for directory, rows in (("before", ""), ("after", "1\n2\n")):
        (tmp_path / directory).mkdir()
        for name, file in names.items():
            (tmp_path / directory / f"shop.{file}-schema.sql").write_text(f"CREATE TABLE `{name}` (id int PRIMARY KEY)")
            (tmp_path / directory / f"shop.{file}.csv").write_text(rows)
    out, _ = lines(
        capfd, 0, "diff", tmp_path / "before", tmp_path / "after", "--sink-uri", URI, "--fixtures", tmp_path / "out"
    )
    shown = [line.split()[0] for line in out if line.startswith("shop.")]
    assert shown == ["shop.:cat:", "shop.[/x]", "shop.[red]", r"shop.a\x1b[31m"]


# What nobody foresaw


@pytest.mark.parametrize(
    ("arguments", "whole"),
    [(("inspect", "x"), False), (("--traceback", "inspect", "x"), True), (("inspect", "x", "--traceback"), True)],
)
def test_a_defect_is_one_line_and_an_exit_code_of_its_own(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], whole: bool
) -> None:
    """Its kind and its text; where it arose is shown when asked for, before the command's name or behind it."""

    def broken(source: str, follow: bool, warn: object) -> None:
        raise ZeroDivisionError(f"{RED}one\ntwo")

    monkeypatch.setattr(records, "read_records", broken)
    assert run(arguments) == 70
    err = capsys.readouterr().err.splitlines()
    said = r"this is a defect of ticdc-sim itself: ZeroDivisionError: \x1b[31mone (--traceback shows where it arose)"
    assert all(line.startswith("ticdc-sim: ") for line in err)
    if whole:
        assert "Traceback" in err[0] and "in broken" in "".join(err)
    else:
        assert err == [f"ticdc-sim: {said}"]
