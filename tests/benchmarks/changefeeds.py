"""What more changefeeds cost a served TiDB: CPU of its SQL and of their messages.

    python tests/benchmarks/changefeeds.py [--count 1000] [--rounds 3]

INSERTs of one row are committed one after another, in process; after every hundred all changefeeds send them, as a server
lets them do several times a second. Without a changefeed no commit is kept.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from functools import partial

from measuring import cpu, in_turn, options

from simulator import TiCDC
from simulator.api.server import TiCDCServer
from simulator.changefeeds import Retention
from simulator.serve.database import Client
from simulator.tidb.parser.sql import parse_sql

URI = "kafka://127.0.0.1:9092/{}?protocol=canal-json&enable-tidb-extension=true"
TOGETHER = 100
"""Commits that are sent together."""


def execute(server: TiCDCServer, client: Client, text: str) -> None:
    statement = parse_sql(text, frozenset())
    assert statement is not None
    server.database.execute(client, statement, text)


def costs(changefeeds: int, count: int) -> tuple[float, float]:
    """Return CPU seconds of SQL and of sending."""
    with TiCDC(databases=(), keep_history=False) as ticdc:
        server = TiCDCServer(ticdc, begins_with_default=False, retention=Retention(False, 0, changefeeds > 0))
        client = server.database.connect()
        execute(server, client, "USE test")
        execute(server, client, "CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(20), price DECIMAL(10, 2))")
        for number in range(changefeeds):
            server.changefeeds.create(f"feed-{number}", URI.format(f"topic-{number}"))

        def commit(first: int) -> None:
            for number in range(first, min(first + TOGETHER, count)):
                execute(server, client, f"INSERT INTO item VALUES ({number}, 'pen {number}', {number}.50)")

        sql = sending = 0.0
        for first in range(0, count, TOGETHER):
            sql += cpu(partial(commit, first))
            sending += cpu(partial(server.changefeeds.follow, server.changefeeds.now_ms))
        return sql, sending


def main() -> None:
    arguments = options(__doc__, count=1_000, rounds=3)
    ways = {f"{number:2} changefeeds": partial(costs, number, arguments.count) for number in (0, 1, 10)}
    measured: Mapping[str, list[tuple[float, float]]] = in_turn(ways, arguments.rounds)
    for name, figures in measured.items():
        sql, sending = (statistics.median(column) * 1e3 for column in zip(*figures, strict=True))
        print(f"{name}: SQL {sql:6.0f} ms, sending {sending:6.0f} ms")


if __name__ == "__main__":
    main()
