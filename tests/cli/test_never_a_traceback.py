"""Whatever is wrong with a command line and the files it names, it ends in an exit code and one message about it.

`damage.py` makes the inputs. No Java is on PATH, so that a run whose input is good ends before it starts Spark.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import pytest
from support.damage import Line, bad, good

from simulator.cli import run
from simulator.engines import in_process

pytestmark = pytest.mark.slow

URI = "kafka://h:1/t?protocol=canal-json"
BATCHES = 6
"""Those after the first one are tried with `--everything` alone."""

RUNS = 1000
"""Runs of a batch."""

SECONDS = 20
"""None may take longer; most take two milliseconds."""


class Folder:
    """A working directory, in which a line's files are written where they are not there yet."""

    def __init__(self) -> None:
        self._held: dict[str, str] = {}

    def run(self, line: Line) -> tuple[object, str, str]:
        """Exit code, standard output and standard error."""
        for name, text in line.files.items():
            if self._held.get(name) != text:
                Path(name).parent.mkdir(parents=True, exist_ok=True)
                Path(name).write_bytes(text.encode("utf-8", "surrogatepass"))
                self._held[name] = text
        with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err, in_time():
            code = run(line.arguments)
        return code, out.getvalue(), err.getvalue()


@contextmanager
def in_time() -> Iterator[None]:
    """Ends what hangs, with a defect's exit code."""

    def hangs(number: int, frame: object) -> None:
        raise TimeoutError(f"no end within {SECONDS} s")

    before = signal.signal(signal.SIGALRM, hangs)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    """With nothing of this machine in reach: no Java, no broker of its user; and snapshots that are too large for one
    process, so that those that are good end there."""
    monkeypatch.setattr(in_process, "SMALL_BYTES", -1)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "programs").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "programs"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    return Folder()


def wrong(code: object, out: str, err: str) -> str:
    """What is wrong with an end; empty for a good one."""
    said, shown = err.split("\n"), out.split("\n")
    message = [line for line in said if line.startswith("ticdc-sim: ")]
    if code not in (0, 2, 3):
        return f"exit code {code}"
    if bool(message) != bool(code) or len(message) > 12:
        return f"exit code {code} and {len(message)} lines of message"
    if message and said[-len(message) - 1 :] != [*message, ""]:
        return "the message is not the last thing that is said"
    if not all(line.isprintable() for line in (*said, *shown)):
        return "a terminal would act on what is shown"
    return "" if "Traceback" not in err else "a traceback"


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.long(reason="a further batch")) for seed in range(1, BATCHES))]
)
def test_a_damaged_command_line_ends_in_one_message(seed: int, folder: Folder) -> None:
    ends = ((line, *folder.run(line)) for line in bad(seed, RUNS))
    found = [(what, line, err[-2000:]) for line, code, out, err in ends if (what := wrong(code, out, err))]
    assert found[:3] == []
    assert not os.path.exists("out")


def test_every_command_line_that_is_damaged_here_was_good(folder: Folder) -> None:
    """Each does what it is for, or ends where Java, or a broker, would be needed."""
    for line in good(0, 100):
        code, _, err = folder.run(line)
        needs = "no Java found" in err or "no broker is running" in err
        assert (code, needs) in ((0, False), (2, True)), (line.arguments, err)


# What is known to go wrong, told at its place

ROW = ("explain", "row", '{"after": {"id": 1}}', "--schema", "s.sql")
DIFF = ("diff", "before", "after", "--sink-uri", "kafka://h:1/t?protocol=canal-json", "--fixtures", "out")
TABLE = "CREATE TABLE t (id int PRIMARY KEY, name varchar(20));"
FILES = {"s.sql": TABLE, "before/shop.t-schema.sql": TABLE, "after/shop.t-schema.sql": TABLE}
STEPS = '[[step]]\nsnapshot = "before"\n[[step]]\nsnapshot = "after"\n'
DEEP, LONG = "[" * 10_000, "9" * 5000


def line(*arguments: str) -> Line:
    return Line(arguments, FILES)


def row(text: str) -> Line:
    return line("explain", "row", text, "--schema", "s.sql")


def schema(text: str) -> Line:
    return Line(ROW, {"s.sql": text})


def feed(text: str) -> Line:
    return Line((*ROW, "--config", "feed.toml"), FILES | {"feed.toml": text})


def address(netloc: str) -> Line:
    return line(*ROW, "--sink-uri", f"kafka://{netloc}/t?protocol=open-protocol")


def scenario(text: str) -> Line:
    return Line(("run", "scenario.toml", "--fixtures", "out"), FILES | {"scenario.toml": text})


def record(command: str, text: str) -> Line:
    return Line((command, "fixtures"), {"fixtures/t/0.jsonl": text})


DDL = ("explain", "ddl", "drop table t")
BITS = f"alter table t add b bit(8) default b'{'1' * 20000}'"
OFFSET = '{"offset": 9223372036854775808, "timestamp": 0, "key": null, "value": null}'
KNOWN = [
    (row('{"a":' * 10_000), "the row is not JSON: it is nested too deeply"),
    (row('{"after": {"id": %s}}' % LONG), "the row is not JSON: a number has more than 4300 digits"),
    (row('{"after": {"id": 1, "name": "\\ud800"}}'), r"column 'name': '\ud800' is half a character"),
    (
        row('{"after": {"id": 1}, "commit_ts": 9223372036854775808}'),
        "commit_ts: 9223372036854775808 is not an integer from 1 to 9223372036854775807",
    ),
    (schema(f"CREATE TABLE t (id int DEFAULT {'(' * 9_000}"), "the statement is nested too deeply"),
    (schema(f"CREATE TABLE t (id int DEFAULT {'(' * 10_000}"), "nested too deeply: at most 10,000 levels"),
    (schema(f"CREATE TABLE t (id int DEFAULT 0x{'f' * 5000})"), "column 'id': invalid default"),
    (schema("CREATE TABLE t (id int COMMENT 'x)"), "line 1, column 32: what ' opens here is not closed"),
    (schema("CREATE TABLE t (id int) --/* x"), "this comment has no '*/'"),
    (line(*DDL[:2], f"alter table t add b int default {'(' * 10_000}1"), "the statement is nested too deeply"),
    (line(*DDL[:2], BITS, "--schema", "s.sql"), "[types:1067] Invalid default value for 'b'"),
    (Line((*DDL, "--config", "f.toml"), {"f.toml": '[filter]\nrules = ["@\\u0000"]'}), "cannot open filter file"),
    (feed(f"a = {DEEP}"), "feed.toml is not TOML: it is nested too deeply"),
    (feed(f"{'a.' * 10_000}a = 1"), "feed.toml is not TOML: it is nested too deeply"),
    (feed(f"a = {LONG}"), "feed.toml is not TOML: a number has more than 4300 digits"),
    (feed(f"a = 0x{LONG}"), "feed.toml is not TOML: a number has more than 4300 digits"),
    (feed("\ud800"), "feed.toml is not UTF-8"),
    (
        feed(f"[[filter.event-filters]]\nmatcher = ['*.*']\nignore-sql = ['{'(' * 10_000}{')' * 10_000}']"),
        "expression nests too deeply",
    ),
    (line(*ROW, "--sink-uri", f"{URI}&max-message-bytes={LONG}"), "value out of range"),
    (address("[::1"), "[CDC:ErrSinkURIInvalid] sink uri invalid 'kafka://[::1/t': Invalid IPv6 URL"),
    (address("h:99999"), "port '99999' of 'h:99999' is none: 1 to 65535 are"),
    (address("h:1,g:x"), "port 'x' of 'g:x' is none"),
    (line("inspect", "kafka://[::1/t"), "Invalid IPv6 URL"),
    (line("inspect", "kafka://127.0.0.1:99999/t"), "port '99999' of '127.0.0.1:99999' is none"),
    (line("inspect", "x", "--limit", "99999999999999999999"), "Invalid value for '--limit'"),
    (line("broker", "start", "--port", "99999"), "Invalid value for '--port': 99999 is not in the range 1<=x<=65535"),
    (line("broker", "start", "--port", "-1"), "Invalid value for '--port': -1 is not in the range"),
    (line(*ROW, "--use", "\udcff"), r"--use '\udcff' is not UTF-8"),
    (line("inspect", "a\0b"), r"the argument 'a\x00b' holds what no argument can hold"),
    (line("inspect", "a\ud800b"), r"the argument 'a\ud800b' holds what no argument can hold"),
    (line(*DIFF, "--start-ts", LONG), "is not a TSO"),
    (line(*DIFF, "--start-ts", "²"), "start-ts '²' is neither a TSO nor a time"),
    (line(*DIFF, "--start-ts", "9999-12-31"), "the run would end after the last TSO there is"),
    (line(*DIFF, "--over", f"{LONG}d"), "a TSO has room for 407226d in all"),
    (line(*DIFF, "--over", "400000d", "--start-ts", "2200-01-01"), "the run would end after the last TSO there is"),
    (Line(DIFF, FILES | {"before/metadata": f"Pos: {LONG}\n"}), "before/metadata: Pos 9999"),
    (scenario(f"seed = {LONG}\n{STEPS}"), "scenario.toml is not TOML: a number has more than"),
    (scenario(f'sink-uri = "{URI}"\n{STEPS}'.replace('"after"', r'"a\u0000"')), "no such directory"),
    (scenario(f'sink-uri = "{URI}"\nconfig = "\\u0000"\n{STEPS}'), r"cannot read \x00: no file can"),
    (record("inspect", DEEP), "fixtures/t/0.jsonl, line 1: it is nested too deeply"),
    (record("inspect", '{"offset": %s}' % LONG), "line 1: a number has more than 4300"),
    (record("inspect", OFFSET), "line 1: offset 9223372036854775808 is not an integer of 64 bits"),
    (record("verify", OFFSET), "line 1: offset 9223372036854775808 is not an integer of 64 bits"),
    (line("serve", "--port", "0", "--host", "192.0.2.1"), "--host 192.0.2.1: 192.0.2.1:0 cannot be listened on"),
    (line("serve", "--port", "0", "--host", "a..b"), "--host a..b: a..b:0 cannot be listened on"),
]


@pytest.mark.parametrize(("known", "words"), KNOWN, ids=[words for _, words in KNOWN])
def test_what_is_known_to_go_wrong_is_told_in_one_line(folder: Folder, known: Line, words: str) -> None:
    code, out, err = folder.run(known)
    message = [said for said in err.splitlines() if not said.endswith(" …")]
    assert wrong(code, out, err) == "" and [words in said for said in message] == [True], err[:2000]


def test_a_directory_that_was_deleted_is_told(folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    for arguments in (("run", "bank", "--fixtures", "out"), ("load", "--preset", "bank", "--fixtures", "out")):
        code, out, err = folder.run(Line(arguments, {}))
        assert wrong(code, out, err) == "" and code == 2
        assert err.splitlines()[-1].startswith("ticdc-sim: the working directory does not exist any more")
