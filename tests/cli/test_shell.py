"""`ticdc-sim shell`, from a pipe and at a terminal."""

from __future__ import annotations

import io
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.playing import Said, said

SHOP = "CREATE TABLE shop.item (id BIGINT PRIMARY KEY,\n  stock INT);\n"
Piped = Callable[..., Said]


@pytest.fixture
def piped(monkeypatch: pytest.MonkeyPatch) -> Piped:
    """A shell with that text in its pipe."""

    def play_it(text: str, *options: object) -> Said:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return said("shell", *options)

    return play_it


ROWS = """+----+-------+
| id | stock |
+----+-------+
| 1  | 5     |
+----+-------+
1 row in set"""


def test_each_statement_is_answered_by_what_it_made(piped: Piped) -> None:
    """Events as `inspect` shows them, rows of a SELECT as MySQL's client draws them."""
    text = (
        SHOP + "INSERT INTO shop.item VALUES (1, 5);\n\\bytes\nSELECT * FROM shop.item;\nBEGIN;\n\\watermark\n"
        "\\wait 1s\n\\rows shop.item\n\\release\n\\quit\nSELECT nothing"
    )
    assert piped(text) == (0, ANSWERS, [])


ANSWERS = f"""\
ticdc/0@0 455000614502662146 2025-01-01T00:00:00.001Z DDL shop.item [3] CREATE TABLE `shop`.`item` (`id` BIGINT PRIMARY KEY,`stock` INT)
ticdc/0@1 455000614502662146 2025-01-01T00:00:00.001Z WATERMARK
ticdc/0@2 455000614502924289 2025-01-01T00:00:00.002Z INSERT shop.item id=1 stock=5
ticdc/0@2 KEY \\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00A{{"ts":455000614502924289,"scm":"shop","tbl":"item","rid":1,"t":1}} VALUE \\x00\\x00\\x00\\x00\\x00\\x00\\x00G{{"u":{{"id":{{"t":8,"h":true,"f":11,"v":1}},"stock":{{"t":3,"f":65,"v":5}}}}}}
{ROWS}
OK, 0 rows affected
ticdc/0@3 455000614503186432 2025-01-01T00:00:00.003Z WATERMARK
everything up to 455000614503186432 (2025-01-01 00:00:00.003 UTC) has been sent
ticdc/0@4 455000614764806144 2025-01-01T00:00:01.001Z WATERMARK
{ROWS}
TiCDC classic, v8.5.3, open-protocol, topic ticdc
"""


def test_a_pipe_stops_at_the_first_statement_that_fails(piped: Piped) -> None:
    """As MySQL's client does; --force goes on, and says so with the exit code."""
    text = SHOP + "INSERT INTO shop.item VALUES (1, 5);\nINSERT INTO shop.item VALUES (1, 5);\nSELECT 'later';\n"
    error = "line 4: ERROR 1062 (23000): Duplicate entry '1' for key 'item.PRIMARY'"
    code, out, err = piped(text)
    assert (code, "later" in out, err) == (2, False, [f"ticdc-sim: {error}"])
    code, out, err = piped(text, "--force")
    assert (code, "later" in out, err) == (2, True, [error])
    code, out, err = piped("SELECT 'x' FROM nothing; SELECT 'the same line';", "--force")
    assert (code, "the same line" in out, len(err)) == (2, True, 1)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("\\nothing\n", "unknown command \\nothing. Known: \\bytes,"),
        ("\\wait soon\n", "bad duration 'soon'"),
        ("SELECT 'open", "ERROR 1064 (42000)"),
        ("-- fails\nSELECT 1;\n", "line 1: ERROR 1064 (42000)"),
        ("LOAD DATA INFILE 'x' INTO TABLE t;", "LOAD DATA"),
        ("\\rows shop.nothing\n", "Table 'shop.nothing' doesn't exist"),
    ],
)
def test_mistakes_are_said_on_one_line(text: str, words: str, piped: Piped) -> None:
    code, _, err = piped(text)
    assert (code, [words in line for line in err]) == (2, [True]), err


def test_a_pipe_keeps_carriage_returns_and_drops_a_byte_order_mark(piped: Piped) -> None:
    """Both come with files of other systems; in a text a carriage return is part of it."""
    code, out, err = piped("\ufeffSELECT HEX('a\r\n');\r\n")
    assert (code, "| 610D0A " in out, err) == (0, True, []), out


def test_what_was_typed_is_written_as_fixtures(here: Path, piped: Piped) -> None:
    assert piped(SHOP, "--release", "v6.5.6", "--fixtures", "out").code == 0
    assert Path("out/ticdc/0.jsonl").read_text().count("\n") == 3


ROOT = Path(__file__).parent.parent.parent
MAIN = [sys.executable, "-c", "from simulator.cli import main; main()", "shell"]
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\r")


class Typist:
    """Types at a terminal that the shell has, which is a process for that."""

    def __init__(self, state: Path) -> None:
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "XDG_STATE_HOME": str(state),
            "TERM": "xterm",
            "PROMPT_TOOLKIT_NO_CPR": "1",
        }
        ours, theirs = pty.openpty()
        self._file = ours
        self.process = subprocess.Popen(MAIN, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
        os.close(theirs)

    def types(self, keys: str, until: str) -> str:
        """What is shown behind the keys, up to the pattern `until`."""
        os.write(self._file, keys.encode())
        return self.sees(until)

    def sees(self, until: str) -> str:
        shown, end = "", time.monotonic() + 60
        while not re.search(until, shown) and time.monotonic() < end:
            if select.select([self._file], [], [], 0.5)[0]:
                try:
                    shown += ESCAPES.sub("", os.read(self._file, 1 << 16).decode("utf-8", "replace"))
                except OSError:  # the other side is closed
                    break
        assert re.search(until, shown), shown
        return shown

    def ends(self) -> int:
        try:
            return self.process.wait(20)
        finally:
            self.process.kill()
            self.process.wait()
            os.close(self._file)


@pytest.mark.slow
def test_at_a_terminal_it_prompts(tmp_path: Path) -> None:
    """Over several lines up to a semicolon; Ctrl-C clears, an error costs nothing, Ctrl-D ends; the history stays."""
    typist = Typist(tmp_path)
    typist.sees("ticdc>")
    typist.types("CREATE TABLE shop.item\r", "->")
    typist.types("(id INT PRIMARY KEY);\r", r"WATERMARK\s*ticdc>")
    twice = "INSERT INTO shop.item VALUES (1);" * 2
    typist.types(f"{twice}\r", r"ERROR 1062 \(23000\)[^>]*ticdc>")
    typist.types("SELECT what is\x03", "ticdc>")
    assert "id=2" in typist.types("INSERT INTO shop.item VALUES (2);\r", r"id=2\s*ticdc>")
    typist.types("\\help\r", r"Ctrl-D\)\s*ticdc>")
    typist.types("\x04", "")
    assert typist.ends() == 0
    history = tmp_path / "ticdc-simulator" / "history"
    assert "(id INT PRIMARY KEY);" in history.read_text()
    assert history.stat().st_mode & 0o777 == 0o600
