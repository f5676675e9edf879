"""Several changefeeds of one served TiDB, through Python's door."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from simulator import TiCDC, tso
from simulator.api.server import ServedDatabase, TiCDCServer
from simulator.changefeeds import Retention
from simulator.changefeeds import history as histories
from simulator.changefeeds.served import ServedChangefeed
from simulator.changefeeds.spec import ChangefeedSpec
from simulator.errors import ChangefeedError, DeliveryError, UserError
from simulator.reader.decode import DdlEvent, Event, RowEvent, Watermark

CANAL = "kafka://127.0.0.1:9092/canal?protocol=canal-json&enable-tidb-extension=true"
OPEN = "kafka://127.0.0.1:9092/open?protocol=open-protocol"
START_TS = tso.DEFAULT_START_TS
Connect = Callable[..., Any]


@pytest.fixture(name="server")
def _server() -> Iterator[TiCDCServer]:
    with TiCDC(databases=()) as ticdc, TiCDCServer(ticdc) as server:
        yield server


def ids(events: list[Event]) -> list[int]:
    """The keys of the rows."""
    return [int(str((event.after or event.before or {})["id"])) for event in events if isinstance(event, RowEvent)]


def told(feed: ServedChangefeed) -> tuple[str, str]:
    """Its state, and the code of its error."""
    return feed.state, "" if feed.error is None else feed.error.code


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(ChangefeedError) as error:
        call()
    return str(error.value)


def test_a_changefeed_begins_now_or_at_its_start_ts(server: TiCDCServer, connect: Connect) -> None:
    client = connect(server.port)
    client.run("CREATE TABLE item (id INT PRIMARY KEY)", "INSERT INTO item VALUES (1)")
    feed = server.changefeeds.create(ChangefeedSpec("orders", CANAL))
    client.run("INSERT INTO item VALUES (2)", "ALTER TABLE item ADD n INT", "INSERT INTO item VALUES (3, 4)")
    first = server.changefeeds.create("first", sink_uri=OPEN, start_ts=START_TS)
    assert [each.spec.id for each in server.changefeeds.list()] == [
        "default/default",
        "default/first",
        "default/orders",
    ]
    mine, others, all_of_it = (each.events() for each in (feed, server, first))
    assert ids(mine) == [2, 3] and ids(all_of_it) == [1, 2, 3]
    assert [e.commit_ts for e in mine if isinstance(e, RowEvent)] == [
        e.commit_ts for e in others if isinstance(e, RowEvent)
    ][1:]
    assert [e for e in all_of_it if not isinstance(e, Watermark)] == [e for e in others if not isinstance(e, Watermark)]
    assert feed.state == "normal" and feed.checkpoint_ts > feed.spec.start_ts


def test_what_ticdc_refuses_to_create(server: TiCDCServer) -> None:
    create, now_ts = server.changefeeds.create, server.changefeeds.now_ts
    create("orders", CANAL)
    assert refused(lambda: create("orders", CANAL)) == (
        "[CDC:ErrChangeFeedAlreadyExists] changefeed already exists, orders"
    )
    assert "[CDC:ErrAPIInvalidParam] invalid changefeed_id: a_b" in refused(lambda: create("a_b", CANAL))
    assert "larger than current tso" in refused(lambda: create("late", CANAL, start_ts=now_ts + (1 << 40)))
    assert "[CDC:ErrTargetTsBeforeStartTs]" in refused(lambda: create("late", CANAL, target_ts=now_ts))
    assert "[CDC:ErrSinkURIInvalid]" in refused(lambda: create("no", "nothing"))
    assert refused(lambda: server.changefeeds.get("none", "shop")) == (
        "[CDC:ErrChangeFeedNotExists] changefeed not exists, shop/none"
    )


def test_tables_without_a_key_are_refused_unless_they_are_ignored(server: TiCDCServer, connect: Connect) -> None:
    client = connect(server.port)
    client.run("CREATE TABLE heap (id INT)", "INSERT INTO heap VALUES (1)")
    assert refused(lambda: server.changefeeds.create("orders", CANAL)) == (
        "[CDC:ErrTableIneligible] some tables are not eligible to replicate([test.heap]), if you want to ignore these "
        "tables, please set ignore_ineligible_table to true"
    )
    feed = server.changefeeds.create(ChangefeedSpec("orders", CANAL, ignores_ineligible_tables=True))
    forced = server.changefeeds.create("forced", CANAL, {"force-replicate": True})
    client.run("INSERT INTO heap VALUES (2)")
    assert (ids(feed.events()), ids(forced.events())) == ([], [2])


def test_a_pause_is_made_up_for_and_repeats_what_is_above_the_checkpoint(server: TiCDCServer, connect: Connect) -> None:
    client, feeds = connect(server.port), server.changefeeds
    feed = feeds.create("orders", CANAL)
    client.run("CREATE TABLE item (id INT PRIMARY KEY)", "INSERT INTO item VALUES (1)")
    assert ids(feed.events()) == [1]
    client.run("INSERT INTO item VALUES (2)")
    assert ids(feed.events(watermark=False)) == [2]
    feeds.pause("orders")
    client.run("INSERT INTO item VALUES (3)", "ALTER TABLE item ADD n INT")
    assert (feed.state, feed.events()) == ("stopped", [])
    feeds.resume("orders")
    assert (feed.state, ids(feed.events())) == ("normal", [2, 3])
    feeds.pause("orders")
    feeds.resume("orders", overwrite_checkpoint_ts=feed.spec.start_ts)
    again = feed.events()
    assert ids(again) == [1, 2, 3] and len([e for e in again if isinstance(e, DdlEvent)]) == 2


def test_the_default_changefeed_can_be_paused_and_removed_too(server: TiCDCServer, connect: Connect) -> None:
    client, feeds = connect(server.port), server.changefeeds
    client.run("CREATE TABLE item (id INT PRIMARY KEY)")
    server.events()
    feeds.pause("default")
    client.run("INSERT INTO item VALUES (1)")
    assert server.events() == []
    feeds.resume("default")
    client.run("INSERT INTO item VALUES (2)")
    assert ids(server.events()) == [1, 2]
    feeds.remove("default")
    client.run("INSERT INTO item VALUES (3)")
    assert refused(server.events) == "[CDC:ErrChangeFeedNotExists] changefeed not exists, default/default"
    assert len(server.rows("test.item")) == 3


def test_a_paused_changefeed_is_updated(server: TiCDCServer, connect: Connect) -> None:
    client, feeds = connect(server.port), server.changefeeds
    feed = feeds.create("orders", CANAL)
    client.run("CREATE TABLE item (id INT PRIMARY KEY)", "CREATE TABLE other (id INT PRIMARY KEY)")
    feed.messages()
    only = ChangefeedSpec("orders", OPEN, {"filter": {"rules": ["test.other"]}})
    assert "can only update changefeed config when it is stopped or failed" in refused(
        lambda: feeds.update("orders", only)
    )
    feeds.pause("orders")
    assert "the same with the old one" in refused(lambda: feeds.update("orders", feed.spec))
    feeds.update("orders", only)
    client.run("INSERT INTO item VALUES (1)", "INSERT INTO other VALUES (2)")
    feeds.resume("orders")
    messages = feed.messages()
    assert {message.topic for message in messages} == {"open"}
    client.run("INSERT INTO other VALUES (3)")
    assert ids(feed.events()) == [3] and feed.spec.start_ts and feed.spec.name == "orders"


def test_a_target_ts_ends_a_changefeed(server: TiCDCServer, connect: Connect) -> None:
    client, feeds = connect(server.port), server.changefeeds
    client.run("CREATE TABLE item (id INT PRIMARY KEY)", "INSERT INTO item VALUES (1)")
    server.wait("1s")
    target_ts = feeds.now_ts
    client.run("INSERT INTO item VALUES (2)")
    feed = feeds.create("orders", CANAL, start_ts=START_TS, target_ts=target_ts)
    events = feed.events()
    assert ids(events) == [1]
    assert max(event.ts for event in events if isinstance(event, Watermark)) <= target_ts
    assert (feed.state, feed.checkpoint_ts) == ("finished", target_ts)
    client.run("INSERT INTO item VALUES (3)")
    assert feed.events() == []


def test_the_failure_of_one_stays_its_own(server: TiCDCServer, connect: Connect) -> None:
    client, feeds = connect(server.port), server.changefeeds
    small, other = feeds.create("small", f"{CANAL}&max-message-bytes=600"), feeds.create("other", CANAL)
    client.run("CREATE TABLE item (id INT PRIMARY KEY, s VARCHAR(1000))", "INSERT INTO item VALUES (1, 'x')")
    client.run("INSERT INTO item VALUES (2, REPEAT('x', 900))", "INSERT INTO item VALUES (3, 'x')")
    assert (ids(small.events()), ids(other.events())) == ([1], [1, 2, 3])
    assert told(small) == ("failed", "CDC:ErrMessageTooLarge")
    client.run("DELETE FROM item WHERE id = 2")
    feeds.update("small", ChangefeedSpec("small", CANAL))
    feeds.resume("small")
    assert ids(small.events())[-3:] == [2, 3, 2] and told(small) == ("normal", "")


def test_a_sink_that_does_not_answer_is_tried_again(
    server: TiCDCServer, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, feed = connect(server.port), server.changefeeds.create("orders", CANAL)
    client.run("CREATE TABLE item (id INT PRIMARY KEY)")
    monkeypatch.setattr("simulator.changefeeds.served.FIRST_RETRY_SECONDS", 0.0)

    def fail() -> None:
        raise DeliveryError("Kafka does not answer")

    with monkeypatch.context() as broken:
        broken.setattr(feed.live.output, "settle", fail)
        broken.setattr(feed, "_retry_seconds", 0.0)
        with pytest.raises(DeliveryError):
            feed.events()
        assert told(feed) == ("warning", "CDC:ErrKafkaAsyncSendMessage")
        client.run("INSERT INTO item VALUES (1)")
    assert ids(feed.events()) == [1] and told(feed) == ("normal", "")
    assert ids(server.events()) == [1]


def test_a_pause_that_outlasts_the_history_fails(connect: Connect) -> None:
    with TiCDC(databases=(), resolved_interval="1m") as ticdc, TiCDCServer(ticdc) as server:
        client, feeds = connect(server.port), server.changefeeds
        feed = feeds.create("orders", CANAL)
        running = feeds.create("running", OPEN)
        client.run("CREATE TABLE item (id INT PRIMARY KEY)", "INSERT INTO item VALUES (1)")
        feed.messages()
        client.run("INSERT INTO item VALUES (2)")
        feeds.pause("orders")
        assert ids(feed.events()) == [2]
        server.wait("11m")
        client.run("INSERT INTO item VALUES (3)")
        feeds.collect()
        assert told(feed) == ("failed", "CDC:ErrSnapshotLostByGC")
        assert "[CDC:ErrStartTsBeforeGC] fail to create or maintain changefeed because start-ts" in refused(
            lambda: feeds.resume("orders")
        )
        assert "[CDC:ErrStartTsBeforeGC]" in refused(lambda: feeds.create("late", CANAL, start_ts=1))
        feeds.resume("orders", overwrite_checkpoint_ts=feeds.now_ts)
        client.run("INSERT INTO item VALUES (4)")
        assert ids(feed.events()) == [4]
        assert ids(running.events()) == [1, 2, 3, 4]


def test_too_many_bytes_of_history_are_dropped(
    server: TiCDCServer, connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(histories, "MOST_BYTES", 1 << 16)
    client, feeds = connect(server.port), server.changefeeds
    client.run("CREATE TABLE item (id INT PRIMARY KEY)")
    for number in range(40):
        client.run(f"INSERT INTO item VALUES ({number})")
    feeds.collect()
    assert feeds.history.end - feeds.history.first < 40
    assert "[CDC:ErrStartTsBeforeGC]" in refused(lambda: feeds.create("late", CANAL, start_ts=1))
    feed = feeds.create("now", CANAL)
    client.run("INSERT INTO item VALUES (100)")
    assert ids(feed.events()) == [100]


def test_without_a_history_a_changefeed_begins_now(connect: Connect) -> None:
    with TiCDC(databases=()) as ticdc, TiCDCServer(ticdc, retention=Retention(commits=False)) as server:
        client, feeds = connect(server.port), server.changefeeds
        client.run(
            "CREATE TABLE item (id INT PRIMARY KEY)", "INSERT INTO item VALUES (1)", "INSERT INTO item VALUES (2)"
        )
        assert feeds.history.end - feeds.history.first == 1
        assert "[CDC:ErrStartTsBeforeGC]" in refused(lambda: feeds.create("late", CANAL, start_ts=START_TS))
        feed = feeds.create("now", CANAL)
        client.run("INSERT INTO item VALUES (3)", "INSERT INTO item VALUES (4)")
        assert ids(feed.events()) == [3, 4] and ids(server.events()) == [1, 2, 3, 4]


def test_faults_watermarks_and_time_name_a_changefeed_or_concern_all(server: TiCDCServer, connect: Connect) -> None:
    client, feeds = connect(server.port), server.changefeeds
    one, two = feeds.create("one", CANAL), feeds.create("two", CANAL, namespace="shop")
    client.run("CREATE TABLE item (id INT PRIMARY KEY)", "INSERT INTO item VALUES (1)")
    assert (ids(one.events(watermark=False)), ids(two.events(watermark=False))) == ([1], [1])
    client.run("CALL ticdc.fault('restart', 'changefeed=one')", "INSERT INTO item VALUES (2)")
    assert (ids(one.events(watermark=False)), ids(two.events(watermark=False))) == ([1, 2], [2])
    client.run("CALL ticdc.fault('restart')", "INSERT INTO item VALUES (3)")
    assert (ids(one.events(watermark=False)), ids(two.events(watermark=False))) == ([1, 2, 3], [1, 2, 3])
    assert "ErrChangeFeedNotExists" in client.error("CALL ticdc.fault('restart', 'changefeed=three')")[1]
    before = one.checkpoint_ts, two.checkpoint_ts
    client.run("CALL ticdc.watermark('changefeed=shop/two')")
    assert one.checkpoint_ts == before[0] and two.checkpoint_ts > before[1]
    server.wait("5s")
    assert [len([e for e in each.events() if isinstance(e, Watermark)]) >= 5 for each in (one, two)] == [True, True]


def test_a_blackhole_shows_what_it_drops() -> None:
    with TiCDC(databases=()) as ticdc, TiCDCServer(ticdc, retention=Retention(False, 3)) as server:
        feed = server.changefeeds.create("nothing", "blackhole://?protocol=canal-json")
        server.create_database("shop")
        changes = []
        server.changefeeds.subscribe(lambda: changes.append(feed.sent.next_number))
        for name in "abcde":
            server.run_in_thread(partial(execute, server, f"CREATE TABLE shop.{name} (id INT PRIMARY KEY)"))
        server.run_in_thread(server.changefeeds.follow)
        assert changes[-1] == feed.sent.next_number >= 5
        shown = feed.sent.since(0)
        assert [number for number, _ in shown] == [*range(feed.sent.next_number - 3, feed.sent.next_number)]
        assert feed.sent.get(shown[0][0]) is shown[0][1] and feed.sent.get(0) is None
        assert b"CREATE TABLE" in (shown[-1][1].value or b"")


def execute(server: TiCDCServer, text: str) -> None:
    from simulator.tidb.parser.sql import parse_sql

    client = server.database.connect()
    statement = parse_sql(text, frozenset())
    assert statement is not None
    server.database.execute(client, statement, text)


def test_files_of_storages_and_fixtures_have_a_directory_each(connect: Connect, tmp_path: Path) -> None:
    with TiCDC(databases=(), fixtures=tmp_path / "out") as ticdc, TiCDCServer(ticdc) as server:
        client = connect(server.port)
        for name in ("one", "two"):
            server.changefeeds.create(name, CANAL)
        server.changefeeds.create("two", CANAL, namespace="shop")
        client.run("CREATE TABLE item (id INT PRIMARY KEY)", "INSERT INTO item VALUES (1)")
        server.changefeeds.pause("two")
        client.run("INSERT INTO item VALUES (2)")
        server.changefeeds.resume("two")
        with pytest.raises(UserError, match="fixtures hold the messages of Kafka"):
            server.changefeeds.create("files", (tmp_path / "files").as_uri() + "?protocol=csv")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["default", "one", "shop.two", "two"]
    sizes = [len((tmp_path / "out" / name / "canal" / "0.jsonl").read_text().splitlines()) for name in ("one", "two")]
    assert sizes[0] >= 3 and sizes[1] >= sizes[0]


@pytest.mark.slow
def test_ten_changefeeds_and_a_thousand_transactions(server: TiCDCServer) -> None:
    execute(server, "CREATE TABLE test.item (id INT PRIMARY KEY)")
    feeds = [server.changefeeds.create(f"feed-{number}", CANAL if number % 2 else OPEN) for number in range(10)]
    for number in range(1000):
        execute(server, f"INSERT INTO test.item VALUES ({number})")
        if number % 100 == 99:
            server.run_in_thread(server.changefeeds.follow)
    every = [{event.commit_ts: event.after for event in feed.events() if isinstance(event, RowEvent)} for feed in feeds]
    assert every == [every[0]] * 10 and [int(str((row or {})["id"])) for row in every[0].values()] == [*range(1000)]


def test_a_test_creates_changefeeds_of_its_own(ticdc_server: ServedDatabase, connect: Connect) -> None:
    feed = ticdc_server.changefeeds.create("mine", CANAL, {"filter": {"rules": [f"{ticdc_server.name}.*"]}})
    client = connect(ticdc_server.port, database=ticdc_server.name)
    client.run("CREATE TABLE item (id INT PRIMARY KEY)", "INSERT INTO item VALUES (1)")
    assert ids(feed.events()) == [1]


def test_they_are_gone_in_the_next_one(ticdc_server: ServedDatabase) -> None:
    assert [feed.spec.name for feed in ticdc_server.changefeeds.list()] == ["default"]
    assert isinstance(ticdc_server.changefeeds.get("default"), ServedChangefeed)


@pytest.mark.parametrize("release", ["v8.5.3", "v6.5.6", "new:v8.5.7"])
def test_a_resumed_changefeed_never_goes_back_behind_a_watermark(release: str, connect: Connect) -> None:
    """DDL brings watermarks, too, or none, as the release does."""
    with TiCDC(release, databases=()) as ticdc, TiCDCServer(ticdc) as server:
        client, feed = connect(server.port), server.changefeeds.create("feed", CANAL)
        client.run("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
        for number in range(2, 6):
            client.run(f"ALTER TABLE t ADD c{number} INT", f"INSERT INTO t (id) VALUES ({number})")
            server.changefeeds.pause("feed")
            server.changefeeds.resume("feed")
        events, checkpoint_ts = feed.events(), feed.checkpoint_ts
    highest = 0
    for event in events:
        if isinstance(event, Watermark):
            assert event.ts >= highest
            highest = event.ts
        else:
            assert event.commit_ts is not None and event.commit_ts > highest
    assert ids(events)[-1] == 5 and checkpoint_ts == highest
