"""The truth of a load: the snapshot of the rows at a watermark. Windows lead from one to another."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from support.loads import CANAL, KINDS, OPEN, Run, shop_plan
from support.playing import assert_leads, play, row_text, state, tables_of

from simulator import tso
from simulator.errors import UserError
from simulator.load import truth
from simulator.reader.decode import RowEvent, before_image, decode, time_of
from simulator.reader.records import Record, read_records
from simulator.sources import snapshots
from simulator.tidb.model.table import Name, Table
from simulator.truth.directory import TruthFiles

SHOP = shop_plan()
STATEMENTS = f"""
[[ddl]]
every = {{min = "400ms", max = "700ms"}}
kinds = {KINDS}
[[ddl]]
every = "300ms"
kinds = {KINDS}
random = true
"""
ALTERED = shop_plan(STATEMENTS)
PARTITIONS = {"load": 3}
SINK = "kafka://127.0.0.1:9/load?partition-num=3&protocol="
Texts = dict[str, str | None] | None


def written(run: Run, ms: int, directory: Path, format: str = "csv") -> Path:
    truth.write(run.prepared, run.output, ms, TruthFiles(directory, format))
    return directory


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "initial", "protocol"), [(1, "inserted", CANAL), (2, "present", OPEN)])
def test_a_window_leads_from_one_truth_to_the_next(tmp_path: Path, seed: int, initial: str, protocol: str) -> None:
    """Statements of every kind lie between, also at the very beginning and end."""
    text = shop_plan(STATEMENTS, more=f'seed = {seed}\ninitial = "{initial}"')
    run = Run(text.replace("rows-per-second = 1000", "rows-per-second = 300"), protocol)
    boundary = run.at(2_000).end_ms
    assert boundary is not None
    times = (0, 150, 1_000, boundary, 3_000)
    states = [written(run, ms, tmp_path / str(ms)) for ms in times]
    for before, after, first_ms, end_ms in zip(states, states[1:], times, times[1:]):
        records, tables = run.sent(first_ms, end_ms), tables_of(before)
        assert_leads(records, run.changefeed, PARTITIONS, tables, state(before), state(after))
    assert sum(map(len, state(states[-1]).values())) > 100


def changed(records: Iterable[Record], tables: Mapping[Name, Table]) -> dict[tuple[object, ...], tuple[Texts, Texts]]:
    """Return for each changed row its image before the first change, and after the last."""
    found: dict[tuple[object, ...], tuple[Texts, Texts]] = {}
    decoded = (event for record in records for event in decode(record.key, record.value))
    for event in sorted((event for event in decoded if isinstance(event, RowEvent)), key=time_of):
        table = tables[event.schema, event.table]
        images = (before_image(event), event.after)
        before, after = (None if image is None else row_text(image, table) for image in images)
        shown = after or before
        assert shown is not None
        key = (table.name, *(shown[name] for name in table.primary_key))
        found[key] = found[key][0] if key in found else before, after
    return {key: change for key, change in found.items() if change[0] != change[1]}


@pytest.mark.slow
def test_a_diff_of_two_truths_and_the_window_between_them_change_the_same_rows(tmp_path: Path) -> None:
    run = Run(SHOP)
    first, last = (written(run, ms, tmp_path / str(ms)) for ms in (300, 900))
    assert play("diff", first, last, "--sink-uri", SINK + OPEN, "--master", "none", "--fixtures", tmp_path / "out") == 0
    tables = tables_of(first)
    diff, window = changed(read_records(str(tmp_path / "out")), tables), changed(run.sent(300, 900), tables)
    assert diff == window
    kinds = {tuple(image is None for image in change) for change in diff.values()}
    assert kinds == {(True, False), (False, False), (False, True)}


def test_a_truth_says_what_it_is(tmp_path: Path) -> None:
    run = Run(shop_plan(more="seed = 99"))
    rows = truth.write(run.prepared, run.output, 700, TruthFiles(tmp_path / "truth"))
    watermark = tso.compose(run.prepared.start_ms + 700)
    snapshot = snapshots.open(tmp_path / "truth")
    assert snapshot.start_ts == watermark
    assert snapshot.databases == {"shop", "log"}
    assert rows == {".".join(name): len(held) for name, held in state(tmp_path / "truth").items()}
    about = (tmp_path / "truth" / "metadata").read_text("utf-8")
    assert f"Watermark: {tso.describe(watermark)}" in about and "Seed: 99" in about
    assert (tmp_path / "truth" / "plan.toml").read_text("utf-8") == run.load.text


def test_tables_that_the_filter_leaves_out_are_not_in_it(tmp_path: Path) -> None:
    run = Run(ALTERED, toml='[filter]\nrules = ["shop.*", "!shop.orders"]\n')
    assert set(state(written(run, 1_500, tmp_path / "truth"))) == {("shop", "customer")}


def test_a_truth_in_another_format_replaces_the_old_one(tmp_path: Path) -> None:
    run = Run(SHOP)
    old = state(written(run, 100, tmp_path / "truth"))
    assert state(written(run, 600, tmp_path / "truth", "parquet")) != old
    assert not list((tmp_path / "truth").glob("*.csv"))
    with pytest.raises(UserError, match="format of a snapshot 'xml': csv or parquet"):
        TruthFiles(tmp_path / "new", "xml").check()
    assert [path.name for path in tmp_path.iterdir()] == ["truth"]


COMES_AND_GOES = """
[[table]]
definition = "CREATE TABLE d.t (id BIGINT PRIMARY KEY, v VARCHAR(20))"
rows = 20
mix = {inserts = 40, updates = 20, deletes = 40}
"""


@pytest.mark.slow
def test_a_row_that_came_and_went_is_missed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without it the stream leads to the rows of the truth, too."""
    (tmp_path / "plan.toml").write_text(COMES_AND_GOES)
    stream, truth = tmp_path / "stream", ("--truth", tmp_path / "truth")
    options = ("--sink-uri", SINK + CANAL, "--rate", 300, "--duration", "2s", "--master", "none")
    assert play("load", tmp_path / "plan.toml", *options, "--fixtures", stream, *truth) == 0
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
