"""The verdicts of `verify`, RIGHT, UNPROVED and WRONG, and what is shown of a verification: as text, as JSON, as a page."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from support.playing import play, said

from simulator.cli import verify_report, verify_text
from simulator.cli.page import PLOTLY
from simulator.cli.verify import document
from simulator.reader.contract import CHECKS, Violation
from simulator.reader.replay.outcome import TableCompared
from simulator.reader.verify.verification import (
    RIGHT,
    UNFINISHED,
    WRONG,
    AssumedSetting,
    Failure,
    NotChecked,
    PartitionProgress,
    PartitionRead,
    Verification,
)

pytestmark = pytest.mark.usefixtures("here")

CANAL = "kafka://127.0.0.1:9092/t?protocol=canal-json&partition-num=1"
MADE = ("--fixtures", "out", "--truth", "truth")
TRUTH = ("--truth", "truth")
OPEN = ("--release", "v8.5.3")
"""Without a truth."""


def played(sql: str, *options: object, uri: str = CANAL, release: str = "v8.5.3") -> None:
    Path("s.sql").write_text(sql)
    assert play("run", "s.sql", "--sink-uri", uri, "--release", release, *MADE, *options) == 0


def change(changed: Callable[[str], str | None]) -> None:
    """Let another program change the values of messages, or lose them."""
    for shard in Path("out").glob("*/*.jsonl"):
        lines: list[dict[str, object]] = []
        for line in map(json.loads, shard.read_text().splitlines()):
            value = changed(base64.b64decode(line["value"]).decode())
            if value is not None:
                lines.append({**line, "value": base64.b64encode(value.encode()).decode(), "offset": len(lines)})
        shard.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


def verdict(*options: object) -> tuple[int, str]:
    """Exit code and first line of `verify`."""
    code, out, _ = said("verify", "out", *options)
    return code, out.splitlines()[0]


TABLE = "CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 5);"


UNDER_MODES = r"""SET sql_mode = 'ANSI,NO_BACKSLASH_ESCAPES'; CREATE TABLE t (id INT PRIMARY KEY,
    a VARCHAR(9) DEFAULT 'a\nb', r REAL, g VARCHAR(20) AS (a || 'x') STORED); INSERT INTO t (id, r) VALUES (1, 1.1), (2, 2);
    UPDATE t SET a = 'z\' || '1' WHERE id = 1; DELETE FROM t WHERE id = 2"""


@pytest.mark.parametrize(
    ("release", "protocol"),
    [("v8.5.3", "canal-json"), ("v8.5.3", "debezium"), ("v7.5.7", "canal-json"), ("v5.3.0", "open-protocol")],
)
def test_a_truth_tells_what_a_statement_meant_under_its_sql_mode(release: str, protocol: str) -> None:
    """A message has what TiCDC made of it without the mode, what was typed, or nothing."""
    played(UNDER_MODES, uri=f"kafka://127.0.0.1:9092/t?protocol={protocol}&partition-num=1", release=release)
    assert verdict(*TRUTH)[1].startswith("RIGHT: ")


def test_without_settings_a_lost_column_is_unproved() -> None:
    played(TABLE)
    change(lambda value: value.replace(',"v":"5"', ""))
    code, line = verdict(*OPEN)
    assert code == 4
    assert line.startswith("UNPROVED: nothing is wrong, but values of test.t: v (1) could not be compared; ")


DEBEZIUM = CANAL.replace("canal-json", "debezium")
REFERENCES = """
    CREATE TABLE par (id INT PRIMARY KEY); CREATE TABLE chi (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES par (id));
    INSERT INTO par VALUES (1), (2); INSERT INTO chi VALUES (1, 1);
    SET foreign_key_checks = 0;
    TRUNCATE TABLE par; INSERT INTO par VALUES (1);
    DROP TABLE par; CREATE TABLE par (id INT PRIMARY KEY); INSERT INTO par VALUES (1), (2);
"""
DEFAULTS = (
    "CREATE TABLE t (id INT PRIMARY KEY, v INT DEFAULT 5, y YEAR DEFAULT 2001);"
    "INSERT INTO t VALUES (1, NULL, NULL), (2, 5, 2001);"
)
DATABASES = (
    "CREATE DATABASE s; CREATE DATABASE u; CREATE TABLE s.a (id INT PRIMARY KEY); CREATE TABLE u.a LIKE s.a;"
    "INSERT INTO u.a VALUES (1);"
)
CHARSET = "CREATE DATABASE s CHARACTER SET binary; CREATE TABLE s.a (id VARCHAR(10) PRIMARY KEY); INSERT INTO s.a VALUES ('ab');"


@pytest.mark.parametrize(
    ("sql", "uri", "release"),
    [
        pytest.param(REFERENCES, CANAL, "v8.5.3", id="a referenced table may be emptied without foreign_key_checks"),
        pytest.param(DEFAULTS, DEBEZIUM, "v8.5.7", id="NULL and the default are one in Debezium, in a YEAR, too"),
        pytest.param(DATABASES, DEBEZIUM, "v8.5.3", id="a truth tells of databases where the stream has no statements"),
        pytest.param(CHARSET, DEBEZIUM, "v8.5.3", id="and of their charsets"),
    ],
)
def test_what_the_upstream_accepted_is_right(sql: str, uri: str, release: str) -> None:
    played(sql, uri=uri, release=release)
    code, line = verdict(*TRUTH)
    assert (code, line.split(":")[0]) == (0, "RIGHT"), line


@pytest.mark.slow
def test_rows_that_no_message_is_about_are_proved_by_the_number_of_changes() -> None:
    """Of a diff whose rows at the start nobody tells: a lost change is wrong, and none is lost where the number fits."""
    for name, rows in (("before", "1,1\n2,2\n3,3\n"), ("after", "1,1\n2,9\n3,8\n")):
        Path(name).mkdir()
        Path(name, "d.t-schema.sql").write_text("CREATE TABLE t (id INT PRIMARY KEY, v INT);")
        Path(name, "d.t.csv").write_text(rows)
    assert play("diff", "before", "after", *MADE) == 0
    assert play("verify", "out", *TRUTH) == 0

    shard = next(path for path in Path("out").glob("*/*.jsonl") if '"u"' in path.read_text())
    lines = list(map(json.loads, shard.read_text().splitlines()))
    first = next(place for place, line in enumerate(lines) if '"u"' in json.dumps(line["events"]))
    kept = [{**line, "offset": offset} for offset, line in enumerate([*lines[:first], *lines[first + 1 :]])]
    shard.write_text("".join(f"{json.dumps(line)}\n" for line in kept))
    assert play("verify", "out", *TRUTH) == 1


WATERMARKS = 2
"""Those of a run with TABLE."""


def test_what_comes_after_the_run_of_the_truth_is_unproved() -> None:
    marks: list[str] = []

    def changed(value: str) -> str:
        """The last watermark is a day later."""
        marks.extend(re.findall(r'"type":"WATERMARK","commitTs":(\d+)', value))
        return value.replace(marks[-1], str(int(marks[-1]) + (86_400_000 << 18))) if len(marks) == WATERMARKS else value

    played(TABLE, uri=CANAL.replace("canal-json", "simple"))
    change(changed)
    code, line = verdict(*TRUTH)
    assert (code, line.partition(" (")[0].partition(" up to")[0]) == (4, "UNPROVED: nothing is wrong, but watermarks")


@pytest.mark.slow
def test_an_update_without_its_old_row_is_one_of_a_row_that_is_there() -> None:
    """In Debezium, whose UPDATEs say what they are: one without `before` is no INSERT."""
    Path("c.toml").write_text("[sink.debezium]\noutput-old-value = false\n")
    played(f"{TABLE} UPDATE t SET v = 6", "--config", "c.toml", uri=DEBEZIUM)
    assert verdict(*TRUTH)[1].startswith("RIGHT")
    assert verdict(*OPEN)[1].startswith("UNPROVED")
    change(lambda value: None if '"op":"c"' in value else value)
    assert "row-not-there (1)" in verdict(*TRUTH)[1]


# -- what is shown ---------------------------------------------------------------------------------------------------

TS = 455000619746590720


def partition(number: int, records: int = 5) -> PartitionRead:
    moments = tuple(
        PartitionProgress(offset, (TS >> 18) + 1000 * offset, TS + (offset << 26), TS) for offset in range(4)
    )
    return PartitionRead("bank", number, 0, records, records, 100, 3, 1, 4, 1, 0, TS, TS, moments)


FOUND = Verification(
    "out",
    "",
    "the truth in truth",
    (AssumedSetting("protocol", "canal-json", "the truth"),),
    (partition(0), partition(1)),
    {"bank.account": {"INSERT": 4, "UPDATE": 1, "DELETE": 1}},
    (),
    (TableCompared("bank.account", 4, 4),),
    watermark=TS,
    wanted=TS,
)
LOST = Failure(
    "row-missing",
    {"bank.account": 12, "": 1},
    (Violation("row-missing", "", None, None, "bank.account, row 1: is missing"),),
)
LATE = Failure(
    "row-below-watermark", {"bank.account": 1}, (Violation("row-below-watermark", "bank", 1, 7, "a row <b>at</b> 5"),)
)
BAD = replace(FOUND, failures=(LATE, LOST), not_checked=(NotChecked("rows of x.y", "nobody says what it is"),))


def shown(found: Verification) -> list[str]:
    with redirect_stdout(StringIO()) as out:
        verify_text.show(found)
    return out.getvalue().splitlines()


def test_what_is_right_says_so_first_and_what_that_means() -> None:
    assert FOUND.verdict == RIGHT
    assert shown(FOUND)[0] == (
        "RIGHT: 6 row changes in 2 partitions keep the contract, complete up to watermark 455000619746590720 "
        "(2025-01-01 00:00:20.005 UTC); they lead to the 4 rows of the truth in truth"
    )


def test_a_stream_that_goes_on_is_neither_right_nor_wrong() -> None:
    found = replace(FOUND, wanted=TS + (1000 << 18))
    assert found.verdict == UNFINISHED
    assert shown(found)[0].startswith(
        "UNFINISHED: nothing is wrong so far, but the stream is complete only up to watermark 455000619746590720 "
        "(2025-01-01 00:00:20.005 UTC), and 455000620008734720 (2025-01-01 00:00:21.005 UTC) is expected"
    )


def test_what_is_wrong_is_named_counted_and_shown_by_example() -> None:
    """What a consumer wrote down is told from what the stream leads to."""
    assert BAD.verdict == WRONG
    lines = shown(BAD)
    assert lines[0] == "WRONG: row-below-watermark (1), row-missing (13)"
    assert {
        "row-missing (point 7 of the contract): a row that is expected and not there: 13",
        "  by table: bank.account 12",
        "  bank.account, row 1: is missing",
        "  … 12 more",
        "  bank/1@7: a row <b>at</b> 5",
        "  rows of x.y: nobody says what it is",
    } <= {*lines}

    theirs = TableCompared("bank.account", 4, 3, missing=1, of="mine")
    lines = shown(
        replace(BAD, against="mine", compared=(*FOUND.compared, theirs), failures=(replace(LOST, of="mine"),))
    )
    assert lines[0] == "WRONG: row-missing (13)"
    assert any(line.startswith("bank.account in mine") for line in lines)
    assert "row-missing (point 7 of the contract) in mine: a row that is expected and not there: 13" in lines


def test_programs_get_all_of_it() -> None:
    told = json.loads(json.dumps(document(BAD)))

    assert (told["version"], told["verdict"], told["rows"], told["wrong"]) == (1, "wrong", 6, 14)
    says = CHECKS["row-below-watermark"].says
    assert told["failures"][0] == {
        **{"check": "row-below-watermark", "point": 2, "says": says, "of": None, "count": 1},
        "tables": {"bank.account": 1},
        "examples": [{"topic": "bank", "partition": 1, "offset": 7, "what": "a row <b>at</b> 5"}],
    }
    assert told["compared"] == [
        {"table": "bank.account", "expected": 4, "found": 4, "missing": 0, "left": 0, "different": 0, "of": None}
    ]
    assert told["partitions"][1]["watermark"] == TS
    assert told["not_checked"] == [{"what": "rows of x.y", "why": "nobody says what it is", "leaves_open": True}]


def test_the_page_needs_nothing_but_plotly_beside_it_and_takes_everything_for_text(tmp_path: Path) -> None:
    verify_report.write(replace(BAD, compared=(TableCompared("bank.account", 4, 3, missing=1),)), tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text("utf-8")

    headings = {"Watermarks", "Lag", "Differences by table", "Wrong by check and table", "Partitions", "Settings"}
    assert headings <= {*re.findall("<h2>(.*?)</h2>", page)}
    assert "a row &lt;b&gt;at&lt;/b&gt; 5" in page
    assert re.findall(r'(?:src|href)="([^"]*)"', page) == [PLOTLY] and "<link" not in page
    assert {"r.html", PLOTLY} == {path.name for path in tmp_path.iterdir()}


def test_a_page_of_tables_alone_has_no_charts(tmp_path: Path) -> None:
    compared = (TableCompared("bank.account", 4, 4, of="mine"),)
    verify_report.write(
        Verification("", "mine", FOUND.expected, FOUND.settings, (), {}, (), compared), tmp_path / "r.html"
    )

    assert (tmp_path / "r.html").stat().st_size < 20_000
    assert "mine has the 4 rows of the truth in truth" in (tmp_path / "r.html").read_text("utf-8")


SIMPLE = CANAL.replace("canal-json", "simple")
FIRST = "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9)); ALTER TABLE t ADD n INT FIRST; INSERT INTO t VALUES (3, 1, 'a');"


@pytest.mark.parametrize(
    ("architecture", "sql", "verdict_of"),
    [
        ("classic", f"{FIRST} UPDATE t SET v = 'b'; DELETE FROM t; INSERT INTO t VALUES (4, 2, 'c')", (4, "UNPROVED")),
        ("new", f"{FIRST} UPDATE t SET v = 'b'", (0, "RIGHT")),
    ],
)
def test_where_ticdc_mistakes_columns_none_is_proved(architecture: str, sql: str, verdict_of: tuple[int, str]) -> None:
    """In Simple, once a BOOTSTRAP has sorted them."""
    played(sql, "--architecture", architecture, uri=SIMPLE, release="v8.5.7")
    code, line = verdict(*TRUTH)
    assert (code, line.partition(":")[0]) == verdict_of, line
