"""What is shown of a verification: as text, as JSON, as a page."""

from __future__ import annotations

import json
import re
from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path

from simulator.cli.page import PLOTLY
from simulator.cli.verify import report, text
from simulator.cli.verify.document import document
from simulator.consumer.contract.violations import CHECKS, Violation
from simulator.consumer.replay.outcome import TableCompared
from simulator.consumer.verify.verification import (
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
        text.show(found)
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
    report.write(replace(BAD, compared=(TableCompared("bank.account", 4, 3, missing=1),)), tmp_path / "r.html")
    page = (tmp_path / "r.html").read_text("utf-8")

    headings = {"Watermarks", "Lag", "Differences by table", "Wrong by check and table", "Partitions", "Settings"}
    assert headings <= {*re.findall("<h2>(.*?)</h2>", page)}
    assert "a row &lt;b&gt;at&lt;/b&gt; 5" in page
    assert re.findall(r'(?:src|href)="([^"]*)"', page) == [PLOTLY] and "<link" not in page
    assert {"r.html", PLOTLY} == {path.name for path in tmp_path.iterdir()}


def test_a_page_of_tables_alone_has_no_charts(tmp_path: Path) -> None:
    compared = (TableCompared("bank.account", 4, 4, of="mine"),)
    report.write(Verification("", "mine", FOUND.expected, FOUND.settings, (), {}, (), compared), tmp_path / "r.html")

    assert (tmp_path / "r.html").stat().st_size < 20_000
    assert "mine has the 4 rows of the truth in truth" in (tmp_path / "r.html").read_text("utf-8")
