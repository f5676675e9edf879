"""The schema epochs of a load plan, and the control events at their start."""

from __future__ import annotations

import pickle
from itertools import islice

import numpy as np
import pytest
from support.loads import AUDIT, CANAL, CUSTOMER, KINDS, Run, shop_plan

from simulator import tso
from simulator.columns.change_frame import DDL, ints
from simulator.errors import UserError
from simulator.load.epochs import EpochTable, SchemaEpoch, epoch_control_events
from simulator.releases import parse_release
from simulator.tso import compose

KEYLESS = "CREATE TABLE log.free (a INT, b INT)"
IN_TURN = f'\n[[ddl]]\nevery = "2s"\nkinds = {KINDS}\n'
AT_RANDOM = f'\n[[ddl]]\nevery = {{min = "500ms", max = "3s"}}\nkinds = {KINDS}\nrandom = true\n'
TRUNCATED = '\n[[ddl]]\nevery = "3s"\nkinds = ["truncate"]\ntable = "shop.orders"\n'
TOPICS = '[sink]\ndispatchers = [{matcher = ["*.*"], topic = "{schema}_{table}", partition = "index-value"}]\n'


def said(epoch: SchemaEpoch, ms: int) -> list[tuple[str, int, tuple[int, ...]]]:
    """Return the control events: a statement's first words or `watermark`, commit-ts, and destinations."""
    events = epoch_control_events(epoch, ms)
    columns = (ints(events, name).tolist() for name in ("kind", "table", "commit_ts", "destination"))
    found: dict[tuple[str, int], list[int]] = {}
    for kind, index, commit_ts, destination in zip(*columns):
        text = " ".join(epoch.spec.statements[index].query.split("(")[0].split()[:3]) if kind == DDL else "watermark"
        found.setdefault((text, commit_ts), []).append(destination)
    return [(*event, tuple(where)) for event, where in found.items()]


def loaded(epoch: SchemaEpoch) -> list[EpochTable]:
    return [table for table in epoch.tables if table is not None]


def test_tables_are_created_before_the_first_row() -> None:
    """Each statement has a millisecond of its own, a watermark right after it, and one where rows begin."""
    run = Run(shop_plan(), CANAL)
    first = run.at(0)
    start, every = tso.physical(tso.DEFAULT_START_TS) + 1, (0, 1, 2)
    tables = (
        "DATABASE `shop`",
        "TABLE `shop`.`customer`",
        "TABLE `shop`.`orders`",
        "DATABASE `log`",
        "TABLE `log`.`audit`",
    )
    expected: list[tuple[str, int, tuple[int, ...]]] = []
    for number, text in enumerate(tables):
        commit_ts = compose(start + number, 2)
        expected += [(f"CREATE {text}", commit_ts, (0,)), ("watermark", commit_ts, every)]
    assert said(first, 0) == [*expected, ("watermark", compose(start + 5), every)]
    assert first.spec.start_ms == run.prepared.start_ms == start + 5
    assert first.end_ms is None


def test_tables_that_are_present_have_no_statement() -> None:
    first = Run(shop_plan(IN_TURN, more='seed = 7\ninitial = "present"'), CANAL).at(0)
    assert said(first, 0) == [("watermark", compose(tso.physical(tso.DEFAULT_START_TS) + 1), (0, 1, 2))]
    assert len(loaded(first)) == 3


def test_a_statement_lies_between_the_last_row_before_and_the_first_behind() -> None:
    """A statement has the TSO of its watermark, which follows it."""
    run = Run(shop_plan(IN_TURN))
    before, behind = islice(run.epochs(), 2)
    assert before.end_ms == behind.first_ms
    commit_ts = compose(run.prepared.start_ms + behind.first_ms)
    (event,) = behind.spec.statements
    assert said(behind, behind.first_ms) == [
        (f"ALTER TABLE `{event.schema}`.`{event.table}`", commit_ts, (0, 1, 2)),
        ("watermark", commit_ts, (0, 1, 2)),
    ]
    later = compose(run.prepared.start_ms + behind.first_ms + 1)
    assert said(behind, behind.first_ms + 1) == [("watermark", later, (0, 1, 2))]


def test_statements_count_from_where_the_tables_are_filled() -> None:
    first = Run(shop_plan(IN_TURN, 500)).at(0)
    assert first.end_ms == 1_500 + 2_000
    assert first.stream.timetable.transactions_before(1_501) == first.stream.fill_transactions + 1


def test_a_protocol_has_no_watermarks_and_a_release_leaves_that_behind_a_statement_to_the_next() -> None:
    first, second = islice(Run(shop_plan(IN_TURN), "canal-json").epochs(), 2)
    assert [text for text, *_ in said(first, 0)].count("watermark") == 0
    assert len(said(first, 0)) == 5
    assert epoch_control_events(first, 7).num_rows == 0
    assert [where for _, _, where in said(second, second.first_ms)] == [(0,)]
    release = parse_release("5.4.0")
    assert not release.watermark_after_ddl
    texts = [text for text, *_ in said(Run(shop_plan(), release=release).at(0), 0)]
    assert texts.count("watermark") == 1 and texts[-1] == "watermark" and len(texts) == 6


def test_every_topic_is_known_from_the_start() -> None:
    """A statement goes to the topic of its table, that of a database to the default one."""
    run = Run(shop_plan(TRUNCATED), toml=TOPICS)
    assert run.prepared.plan.topics == ("load", "shop_customer", "shop_orders", "log_audit")
    first, second = islice(run.epochs(), 2)
    places = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 1, 2), (9, 10, 11)]
    assert [where for text, _, where in said(first, 0) if text != "watermark"] == places
    assert said(first, 0)[1][2] == (0, 1, 2)  # no other topic has a table yet
    assert said(first, 0)[-1] == ("watermark", compose(run.prepared.start_ms), tuple(range(12)))
    assert said(second, second.first_ms)[0][2] == (6, 7, 8)
    assert {route.dispatcher for route in second.rules.routes} == {"index-value"}
    assert second.rules.destinations.topics == run.prepared.plan.topics


def test_truncate_begins_the_table_again_under_another_id() -> None:
    first, second, third = islice(Run(shop_plan(TRUNCATED), CANAL).epochs(), 3)
    begins = [found.stream.timetable.transactions_before(found.first_ms) for found in (second, third)]
    since = [[table.since for table in loaded(found)] for found in (first, second, third)]
    assert since == [[0, 0, 0], [0, begins[0], 0], [0, begins[1], 0]]
    commits = second.stream.milliseconds(np.array([begins[0] - 1, begins[0]]))
    assert commits[0] < second.first_ms <= commits[1]
    ids = [[physical.table_id for physical in found.rules.tables] for found in (first, second, third)]
    assert len({table_id for each in ids for table_id in each}) == len(set(ids[0])) + 2
    assert ids[0][:1] == ids[1][:1] == ids[2][:1]


@pytest.mark.slow
def test_a_run_that_begins_later_has_the_same_epochs() -> None:
    run = Run(shop_plan(IN_TURN + AT_RANDOM), CANAL)
    whole = list(islice(run.epochs(), 25))
    for number in (3, 17):
        found = whole[number]
        for ms in (found.first_ms, found.first_ms + 1, (found.end_ms or 0) - 1):
            assert run.at(ms) == found
    assert list(islice(run.epochs(whole[20].first_ms), 5)) == whole[20:]
    assert [found.number for found in whole] == list(range(25))


@pytest.mark.slow
def test_an_epoch_stays_small_however_many_statements_were_before() -> None:
    """It has the present tables only."""
    run = Run(shop_plan(IN_TURN + AT_RANDOM), CANAL)
    sizes = [len(pickle.dumps(found)) for found in islice(run.epochs(), 80)]
    assert max(sizes) < 2 * sizes[0] < 100_000
    late = run.at(200_000)
    assert pickle.loads(pickle.dumps(late)) == late
    assert len(late.rules.tables) == len(late.rules.routes) == len(late.spec.tables) == 1 + 1 + 3
    for table in loaded(late):
        places = table.place.indexes
        assert [late.rules.tables[index].table for index in places] == [table.place.table] * len(places)
        assert table.values.table == table.place.table


def test_what_the_filter_leaves_out_has_no_rows_and_no_statements() -> None:
    """The table of a filtered statement changes nevertheless."""
    every = '\n[[ddl]]\nevery = "1s"\nkinds = ["add-column"]\ntable = "shop.orders"\n'
    run = Run(shop_plan(every), toml='[filter]\nrules = ["*.*", "!shop.orders"]\n')
    assert run.prepared.plan.left_out == (("shop", "orders"),)
    first, second = islice(run.epochs(), 2)
    assert [table is None for table in first.tables] == [False, True, False]
    assert [text for text, *_ in said(first, 0) if "orders" in text] == []
    assert [text for text, *_ in said(second, second.first_ms)] == ["watermark"]
    assert len(run.at(5_000).rules.tables) == 1 + 3


def test_a_statement_that_an_event_filter_ignores_changes_its_table_unsent() -> None:
    toml = '[[filter.event-filters]]\nmatcher = ["shop.orders"]\nignore-event = ["truncate table", "delete"]\n'
    _, second = islice(Run(shop_plan(TRUNCATED), toml=toml).epochs(), 2)
    assert [text for text, *_ in said(second, second.first_ms)] == ["watermark"]
    assert loaded(second)[1].since > 0
    assert [second.rules.filters_rows(number) for number in range(5)] == [False, True, False, False, False]


NO_COLUMN = '[sink]\ndispatchers = [{matcher = ["log.*"], partition = "columns", columns = ["none"]}]\n'


@pytest.mark.parametrize(
    ("definitions", "toml", "words"),
    [
        ((CUSTOMER,), '[filter]\nrules = ["other.*"]\n', "the changefeed's filter leaves out every table of the plan"),
        ((CUSTOMER, KEYLESS), "", "no primary key and no unique key .*: log.free"),
        ((CUSTOMER, AUDIT), NO_COLUMN, "ErrDispatcherFail"),
    ],
)
def test_what_cannot_be_replicated_is_refused_at_the_start(definitions: tuple[str, ...], toml: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        Run(shop_plan("", 40, *definitions), toml=toml)


def test_tables_without_keys_are_replicated_where_the_changefeed_wants_it() -> None:
    assert len(loaded(Run(shop_plan("", 40, KEYLESS), toml="force-replicate = true\n").at(0))) == 1
