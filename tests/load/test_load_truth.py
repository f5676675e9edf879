"""The truth of a load: the snapshot of the rows at a watermark. Windows lead from one to another."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from support.load_plans import OPEN, URI, at, load_plan, opened
from support.load_sent import sent
from support.playing import assert_leads, play, row_text, state, tables_of

from simulator import tso
from simulator.consumer.decode import RowEvent, before_image, decode, time_of
from simulator.consumer.records import Record, read_records
from simulator.errors import UserError
from simulator.load import truth
from simulator.load.epochs.epochs import PreparedLoad
from simulator.load.plan.load_plan import STATEMENT_KINDS, DdlSchedule
from simulator.run.outputs import Output
from simulator.sources import snapshots
from simulator.ticdc.changefeed import load
from simulator.tidb.model.table import Name, Table
from simulator.truth import directory as directories

IN_TURN = DdlSchedule((400, 700), STATEMENT_KINDS)
AT_RANDOM = DdlSchedule((300, 300), STATEMENT_KINDS, None, True)
PARTITIONS = {"load": 3}
Texts = dict[str, str | None] | None


def written(prepared: PreparedLoad, output: Output, ms: int, directory: Path, format: str = "csv") -> Path:
    truth.write(prepared, output, load(URI), ms, directory, format)
    return directory


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "present", "uri"), [(1, False, URI), (2, True, OPEN), (3, False, OPEN)])
def test_a_window_leads_from_the_truth_before_to_the_truth_behind(
    tmp_path: Path, seed: int, present: bool, uri: str
) -> None:
    """Statements of every kind lie between, also at the very beginning and end."""
    changefeed = load(uri)
    found = opened(load_plan(IN_TURN, AT_RANDOM, seed=seed, present=present), changefeed)
    boundary = at(*found, 2_000).end_ms
    assert boundary is not None
    times = (0, 150, 1_000, boundary, 3_000)
    states = [written(*found, ms, tmp_path / str(ms)) for ms in times]
    for before, after, first_ms, end_ms in zip(states, states[1:], times, times[1:]):
        assert_leads(
            sent(*found, first_ms, end_ms), changefeed, PARTITIONS, tables_of(before), state(before), state(after)
        )
    assert sum(map(len, state(states[-1]).values())) > 100


def changed(records: Iterable[Record], tables: Mapping[Name, Table]) -> dict[tuple[object, ...], tuple[Texts, Texts]]:
    """Return for each changed row its image before the first change, and after the last."""
    found: dict[tuple[object, ...], tuple[Texts, Texts]] = {}
    decoded = (event for record in records for event in decode(record.key, record.value))
    rows = sorted((event for event in decoded if isinstance(event, RowEvent)), key=time_of)
    for event in rows:
        table = tables[event.schema, event.table]
        before, after = (
            None if image is None else row_text(image, table) for image in (before_image(event), event.after)
        )
        shown = after or before
        assert shown is not None
        key = (table.name, *(shown[name] for name in table.primary_key))
        found[key] = found[key][0] if key in found else before, after
    return {key: change for key, change in found.items() if change[0] != change[1]}


def test_a_diff_of_two_truths_and_the_window_between_them_change_the_same_rows(tmp_path: Path) -> None:
    """The values before and after are equal."""
    found = opened(load_plan(), load(OPEN))
    first, last = (written(*found, ms, tmp_path / str(ms)) for ms in (300, 900))
    assert play("diff", first, last, "--sink-uri", OPEN, "--master", "none", "--fixtures", tmp_path / "out") == 0
    tables = tables_of(first)
    diff, window = changed(read_records(str(tmp_path / "out")), tables), changed(sent(*found, 300, 900), tables)
    assert diff == window
    assert {tuple(image is None for image in change) for change in diff.values()} == {
        (True, False),
        (False, False),
        (False, True),
    }


def test_a_diff_of_truths_with_statements_between_leads_from_one_to_the_other(tmp_path: Path) -> None:
    found = opened(load_plan(IN_TURN, AT_RANDOM), load(OPEN))
    first, last = (written(*found, ms, tmp_path / str(ms)) for ms in (500, 3_000))
    assert play("diff", first, last, "--sink-uri", OPEN, "--master", "none", "--fixtures", tmp_path / "out") == 0
    records = list(read_records(str(tmp_path / "out")))
    assert_leads(records, load(OPEN), PARTITIONS, tables_of(first), state(first), state(last))


def test_formats_hold_the_same_rows(tmp_path: Path) -> None:
    found = opened(load_plan(IN_TURN))
    ms = 2_345
    csv, parquet = (written(*found, ms, tmp_path / format, format) for format in directories.FORMATS)
    assert state(csv) == state(parquet)
    assert sum(map(len, state(csv).values())) > 100


def test_a_truth_says_what_it_is(tmp_path: Path) -> None:
    prepared, output = opened(load_plan(seed=99))
    rows = truth.write(prepared, output, load(URI), 700, tmp_path / "truth")
    watermark = tso.compose(prepared.start_ms + 700)
    snapshot = snapshots.open(tmp_path / "truth")
    assert snapshot.start_ts == watermark
    assert snapshot.databases == {"shop", "log"}
    assert rows == {".".join(name): len(held) for name, held in state(tmp_path / "truth").items()}
    about = (tmp_path / "truth" / "metadata").read_text("utf-8")
    assert f"Watermark: {tso.describe(watermark)}" in about and "Seed: 99" in about
    assert (tmp_path / "truth" / "plan.toml").read_text("utf-8") == prepared.load.text


def test_tables_that_the_filter_leaves_out_are_not_in_it(tmp_path: Path) -> None:
    found = opened(load_plan(IN_TURN), load(URI, '[filter]\nrules = ["shop.*", "!shop.orders"]\n'))
    assert set(state(written(*found, 1_500, tmp_path / "truth"))) == {("shop", "customer")}


def test_nothing_but_a_truth_is_replaced(tmp_path: Path) -> None:
    found = opened(load_plan())
    written(*found, 100, tmp_path / "truth")
    old = state(tmp_path / "truth")
    written(*found, 600, tmp_path / "truth", "parquet")
    assert state(tmp_path / "truth") != old
    assert not list((tmp_path / "truth").glob("*.csv"))
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    with pytest.raises(UserError, match="mine holds something else: give a new or empty directory"):
        written(*found, 100, tmp_path / "mine")
    with pytest.raises(UserError, match="letter.txt is a file"):
        directories.check(tmp_path / "mine" / "letter.txt")
    with pytest.raises(UserError, match="format of a snapshot 'xml': csv or parquet"):
        directories.check(tmp_path / "new", "xml")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine", "truth"]


COMES_AND_GOES = """
name = "comes-and-goes"
[[table]]
definition = "CREATE TABLE d.t (id BIGINT PRIMARY KEY, v VARCHAR(20))"
rows = 20
mix = {inserts = 40, updates = 20, deletes = 40}
"""


def test_a_row_that_came_and_went_is_missed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without it the stream leads to the rows of the truth, too."""
    (tmp_path / "plan.toml").write_text(COMES_AND_GOES)
    stream, truth = tmp_path / "stream", ("--truth", tmp_path / "truth")
    command = (
        "load",
        tmp_path / "plan.toml",
        "--sink-uri",
        URI,
        "--rate",
        300,
        "--duration",
        "2s",
        "--fixtures",
        stream,
        *truth,
    )
    assert play(*command, "--master", "none") == 0
    assert play("verify", stream, *truth) == 0

    file = max(stream.rglob("*.jsonl"), key=lambda path: path.stat().st_size)
    lines = file.read_text().splitlines(keepends=True)
    messages = [json.loads(base64.b64decode(json.loads(line)["value"])) for line in lines]
    keys = [message["data"][0]["id"] if message["data"] else None for message in messages]
    gone = next(key for key, message in zip(keys, messages) if message["type"] == "DELETE")
    file.write_text("".join(line for key, line in zip(keys, lines) if key != gone))
    capsys.readouterr()
    assert play("verify", stream, *truth) == 1
    assert "changes-missing" in capsys.readouterr().out
