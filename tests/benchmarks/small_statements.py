"""CPU time of small statements, one after another as a client sends them.

    python tests/benchmarks/small_statements.py [--rows 0 100000] [--count 500]

Every statement names one row by its primary key and has a text of its own; `prepared` ones are EXECUTE with
variables that SET gives other values each time, SET included. *Engine* is SQL alone. *At once* is `TiCDC.execute`,
which encodes each statement's messages and delivers them into memory before the next. *Together* lets the messages of
up to 256 statements wait for each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from measuring import cpu, options

from simulator import TiCDC
from simulator.run.steps import execution
from simulator.tidb.engine import FailedStatement

URI = "kafka://127.0.0.1:9092/shop?protocol=canal-json&partition-num=4"
BULK = 1_000
"""Rows of a bulk INSERT."""

SLICES = 5
"""Parts of a case, of which the quickest counts."""

ITEM = (
    "(id BIGINT PRIMARY KEY, name VARCHAR(20), stock INT DEFAULT 0, price DECIMAL(10,2),"
    " at TIMESTAMP DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP)"
)


@dataclass(frozen=True)
class Case:
    name: str
    statements: Callable[[int], Sequence[str]]
    """The statements of one operation, by its number."""

    rows: int = 1
    """The rows of an operation."""


def _row(number: int) -> str:
    return f"({number}, 'pen {number}', {number % 97}, {number % 1000}.25)"


def _insert(*numbers: int) -> str:
    return f"INSERT INTO item (id, name, stock, price) VALUES {', '.join(map(_row, numbers))}"


def cases(rows: int, count: int) -> Iterator[Case]:
    """Yield the cases, in an order in which each finds its rows."""
    first, step = 2 * max(rows, count) + 2, max(rows // count, 1)
    bulk = first + 10 * count

    def between(number: int) -> int:
        return 2 * number * step + 1

    yield Case("INSERT behind", lambda number: [_insert(first + number)])
    yield Case("INSERT between", lambda number: [_insert(between(number))])
    values = "@id = {}, @name = 'ink {}', @stock = 7, @price = 3.25"
    execute = "EXECUTE ins USING @id, @name, @stock, @price"
    yield Case("INSERT prepared", lambda number: ["SET " + values.format(first + count + number, number), execute])
    yield Case("SELECT", lambda number: [f"SELECT id, name, stock, price FROM item WHERE id = {first + number}"])
    yield Case("SELECT prepared", lambda number: [f"SET @id = {between(number)}", "EXECUTE sel USING @id"])
    yield Case("UPDATE", lambda number: [f"UPDATE item SET stock = {number} WHERE id = {first + number}"])
    computed = "UPDATE item SET stock = stock + {}, price = price * 2 WHERE id = {}"
    yield Case("UPDATE computed", lambda number: [computed.format(number, between(number))])
    yield Case(
        "UPDATE prepared", lambda number: [f"SET @id = {between(number)}, @n = {number}", "EXECUTE upd USING @n, @id"]
    )
    update = "UPDATE item SET stock = 5 WHERE id = {}"
    yield Case("BEGIN, UPDATE, COMMIT", lambda number: ["BEGIN", update.format(first + number), "COMMIT"])
    yield Case("REPLACE", lambda number: [f"REPLACE {_insert(first + number)[7:]}"])
    same = " ON DUPLICATE KEY UPDATE stock = VALUES(stock) + 1"
    yield Case("ON DUPLICATE KEY UPDATE", lambda number: [_insert(first + number) + same])
    yield Case("DELETE", lambda number: [f"DELETE FROM item WHERE id = {first + number}"])
    yield Case("ALTER TABLE", lambda number: [f"ALTER TABLE item COMMENT '{number}'"])
    yield Case(
        f"INSERT {BULK} rows", lambda number: [_insert(*range(bulk + number * BULK, bulk + (number + 1) * BULK))], BULK
    )


def _prepared(rows: int) -> TiCDC:
    """Return a changefeed with a table of rows with even keys."""
    ticdc = TiCDC(sink_uri=URI, databases=["shop"])
    ticdc.execute(f"USE shop; CREATE TABLE item {ITEM}")
    for since in range(0, rows, 10_000):
        ticdc.execute(_insert(*range(2 * since, 2 * min(since + 10_000, rows), 2)))
    ticdc.execute("PREPARE ins FROM 'INSERT INTO item (id, name, stock, price) VALUES (?, ?, ?, ?)'")
    ticdc.execute("PREPARE sel FROM 'SELECT * FROM item WHERE id = ?'")
    ticdc.execute("PREPARE upd FROM 'UPDATE item SET stock = ? WHERE id = ?'")
    ticdc.messages()
    return ticdc


def _engine(ticdc: TiCDC) -> Callable[[str], None]:
    """Return a function that executes statements without messages."""
    live = ticdc.open_changefeed
    position, context = live.position, live._context

    def execute(text: str) -> None:
        nonlocal position
        position, _, outcome = execution.execute_statement(text, position, context)
        if isinstance(outcome, FailedStatement):
            raise outcome.error

    return execute


def _measured(execute: Callable[[str], object], deliver: Callable[[], object], case: Case, count: int) -> float:
    """Return the CPU seconds of an operation in the quickest slice."""
    execution.read_statement.cache_clear()
    texts = [case.statements(number) for number in range(count)]
    slices = [texts[part * count // SLICES : (part + 1) * count // SLICES] for part in range(SLICES)]

    def run(each: Sequence[Sequence[str]]) -> None:
        for statements in each:
            for text in statements:
                execute(text)
        deliver()

    return min(cpu(partial(run, each)) / len(each) for each in slices)


def main() -> None:
    arguments = options(__doc__, rows=(0, 100_000), count=500)
    print(f"{'ms':28}{'rows':>8}{'engine':>10}{'together':>10}{'at once':>10}{'rows/s':>10}")
    for rows in arguments.rows:
        ticdc, prompt = _prepared(rows), _prepared(rows)
        ways = (
            (_engine(ticdc), lambda: None),
            (partial(ticdc.open_changefeed.execute, prompt=False), ticdc.open_changefeed.deliver),
            (prompt.execute, lambda: None),
        )
        for case in cases(rows, arguments.count):
            count = arguments.count if case.rows == 1 else SLICES
            alone, together, at_once = (_measured(execute, deliver, case, count) for execute, deliver in ways)
            print(
                f"{case.name:28}{rows:>8}{alone * 1000:>10.2f}{together * 1000:>10.2f}{at_once * 1000:>10.2f}"
                f"{case.rows / together:>10,.0f}",
                flush=True,
            )
            ticdc.messages(), prompt.messages()


if __name__ == "__main__":
    main()
