"""A server whose messages are verified against its rows when a test has ended."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from simulator import TiCDC
from simulator.api.server import ServedDatabase, TiCDCServer
from simulator.consumer.verify import verify
from simulator.consumer.verify.options import VerifyOptions
from simulator.consumer.verify.verification import failure_lines

SINK_URI = "kafka://127.0.0.1:9092/shop?protocol=canal-json&enable-tidb-extension=true&partition-num=2"


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[ServedDatabase]:
    """The database `shop`. After the test its messages must lead to its rows."""
    truth, messages = tmp_path / "truth", tmp_path / "messages"
    with TiCDC(sink_uri=SINK_URI, databases=("shop",), fixtures=messages) as ticdc:
        with TiCDCServer(ticdc) as server:
            yield ServedDatabase(server, "shop")
        rows = ticdc.truth(truth)
    assert rows
    assert [*failure_lines(verify(VerifyOptions(str(messages), truth=truth)))] == []
