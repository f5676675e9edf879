"""Several changefeeds of one served TiDB."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from simulator import TiCDC
from simulator.api.server import TiCDCServer
from simulator.changefeeds.spec import ChangefeedSpec
from simulator.errors import ChangefeedError
from simulator.reader.decode import RowEvent

CANAL = "kafka://127.0.0.1:9092/canal?protocol=canal-json&enable-tidb-extension=true"


@pytest.fixture(name="server")
def _server() -> Iterator[TiCDCServer]:
    with TiCDC(databases=()) as ticdc, TiCDCServer(ticdc) as server:
        yield server


def test_a_changefeed_is_created_listed_and_removed(server: TiCDCServer, connect: Callable[..., Any]) -> None:
    client = connect(server.port)
    client.run("CREATE TABLE item (id INT PRIMARY KEY)", "INSERT INTO item VALUES (1)")
    feed = server.changefeeds.create(ChangefeedSpec("orders", CANAL))
    client.run("INSERT INTO item VALUES (2)", "ALTER TABLE item ADD n INT", "INSERT INTO item VALUES (3, 4)")
    assert [each.spec.id for each in server.changefeeds.list()] == ["default/default", "default/orders"]
    mine, others = ([e for e in each.events() if isinstance(e, RowEvent)] for each in (feed, server))
    assert [event.after for event in mine] == [{"id": "2"}, {"id": "3", "n": "4"}]
    assert [event.commit_ts for event in mine] == [event.commit_ts for event in others][1:]
    assert feed.state == "normal" and feed.checkpoint_ts > feed.spec.start_ts
    server.changefeeds.remove("orders")
    with pytest.raises(ChangefeedError, match="CDC:ErrChangeFeedNotExists. changefeed not exists, default/orders"):
        server.changefeeds.get("orders")
