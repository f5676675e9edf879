"""Sessions that append to lists and move money see snapshots, and the stream tells the same history, whatever else happens.

Eight sessions append numbers to lists and transfer between accounts, in pessimistic and optimistic transactions, while
DDL changes their tables, KILL ends statements and connections, and the server is killed or stopped and started again.
Each transaction that writes inserts its number, so that the stream tells its commit-ts; `@@tidb_current_ts` tells which
commits its queries see. Under snapshot isolation a query sees exactly the commits before the start of its transaction,
and a statement that locks or writes exactly those before its own commit. Write skew is allowed.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pymysql
import pytest

SESSIONS, LISTS, ACCOUNTS, MONEY = 8, 4, 5, 100
SECONDS = 2.0
"""How long the sessions work with each of the servers."""
SEED = 44
NEWEST = 1 << 63

TABLES = (
    "CREATE TABLE list (k INT PRIMARY KEY, v TEXT, n INT, last INT)",
    "CREATE TABLE bank (id INT PRIMARY KEY, n INT)",
    "CREATE TABLE note (id INT PRIMARY KEY AUTO_INCREMENT, transaction INT)",
    "CREATE TABLE done (id INT PRIMARY KEY)",
    f"INSERT INTO list VALUES {', '.join(f'({k}, NULL, 0, 0)' for k in range(LISTS))}",
    f"INSERT INTO bank VALUES {', '.join(f'({id}, {MONEY})' for id in range(ACCOUNTS))}",
)
DDL = (
    "ALTER TABLE list ADD COLUMN added{} INT NOT NULL DEFAULT 7",
    "ALTER TABLE list DROP COLUMN added{}",
    "ALTER TABLE bank ADD COLUMN added{} VARCHAR(9) FIRST",
    "ALTER TABLE bank DROP COLUMN added{}",
    "ALTER TABLE bank ADD INDEX added{} (n)",
    "ALTER TABLE bank DROP INDEX added{}",
    "TRUNCATE TABLE note",
)

Key = tuple[str, int]
State = tuple[int, ...]
"""How long a list is and its last number; or the money of an account."""


@dataclass
class Transaction:
    """What a session did in a transaction, and what it saw."""

    number: int
    outcome: str = "aborted"
    start_ts: int = 0
    seen: list[tuple[Key, State]] = field(default_factory=list)
    """What queries saw."""
    locked: dict[Key, State] = field(default_factory=dict)
    """What the first statement that locked or wrote a row saw."""
    written: dict[Key, State] = field(default_factory=dict)
    """The numbers appended to a list; or what an account got."""
    lists: list[tuple[int, list[int]]] = field(default_factory=list)
    """The numbers of others in the lists that it saw."""


class Session:
    """One of the sessions; it goes on with each of the servers."""

    def __init__(self, number: int, numbers: Iterator[int], connect: Callable[[], Any]) -> None:
        self._random = Random(f"{SEED} {number}")
        self._numbers, self._connect = numbers, connect
        self.client: Any = None
        self.stopped = False
        self.transactions: list[Transaction] = []

    def work(self) -> None:
        """Execute transactions until the server is gone, or the session is stopped."""
        while not self.stopped:
            transaction = Transaction(next(self._numbers))
            self.transactions.append(transaction)
            try:
                self.client = self.client or self._connect()
                self._execute(transaction)
            except pymysql.MySQLError:
                if self.client is None:
                    return
                try:
                    self.client.run("ROLLBACK")
                except pymysql.MySQLError:
                    self.disconnect()
            except BaseException:
                self.disconnect()
                raise

    def disconnect(self) -> None:
        self.client._force_close()
        self.client = None

    def _execute(self, transaction: Transaction) -> None:
        run, choose = self.client.run, self._random
        run(choose.choice(("BEGIN", "BEGIN", "BEGIN OPTIMISTIC")))
        ((transaction.start_ts,),) = run("SELECT @@tidb_current_ts")
        for act in choose.sample((self._append, self._transfer, self._look, self._note), choose.randint(1, 3)):
            act(transaction)
        if transaction.written:
            run(f"INSERT INTO done VALUES ({transaction.number})")
        transaction.outcome = "unknown"
        run("COMMIT")
        transaction.outcome = "committed"

    def _append(self, transaction: Transaction) -> None:
        for _ in range(self._random.randint(1, 2)):
            k, number = self._random.randrange(LISTS), next(self._numbers)
            if self._random.random() < 0.3:
                self._see_lists(transaction, f"WHERE k = {k} FOR UPDATE")
            self.client.run(
                f"UPDATE list SET v = CONCAT_WS(',', v, {number}), n = n + 1, last = {number} WHERE k = {k}"
            )
            key = "list", k
            transaction.written[key] = (*transaction.written.get(key, ()), number)
        if self._random.random() < 0.5:
            self._see_lists(transaction, "ORDER BY k")

    def _see_lists(self, transaction: Transaction, where: str) -> None:
        for k, text in self.client.run(f"SELECT k, v FROM list {where}"):
            numbers = [int(number) for number in text.split(",")] if text else []
            mine = transaction.written.get(("list", k), ())
            assert tuple(numbers[len(numbers) - len(mine) :]) == mine, "a transaction sees its own writes"
            others = numbers[: len(numbers) - len(mine)]
            transaction.lists.append((k, others))
            self._saw(transaction, ("list", k), (len(others), others[-1] if others else 0), "UPDATE" in where)

    def _transfer(self, transaction: Transaction) -> None:
        one, other = self._random.sample(range(ACCOUNTS), 2)
        if self._random.random() < 0.5:
            self._see_accounts(transaction, f"WHERE id IN ({one}, {other}) FOR UPDATE")
        money = self._random.randint(1, 9)
        for id, sign in ((one, -1), (other, 1)):
            self.client.run(f"UPDATE bank SET n = n + {sign * money} WHERE id = {id}")
            (had,) = transaction.written.get(("bank", id), (0,))
            transaction.written["bank", id] = (had + sign * money,)

    def _look(self, transaction: Transaction) -> None:
        """See all accounts twice, and what the newest commits are."""
        for _ in range(2):
            self._see_accounts(transaction, "ORDER BY id")
            self._see_lists(transaction, "")
        if self._random.random() < 0.3 and not any(table == "bank" for table, _ in transaction.locked):
            rows = self._see_accounts(transaction, "FOR UPDATE")
            assert sum(rows) == ACCOUNTS * MONEY

    def _see_accounts(self, transaction: Transaction, where: str) -> list[int]:
        rows = self.client.run(f"SELECT id, n FROM bank {where}")
        for id, n in rows:
            (mine,) = transaction.written.get(("bank", id), (0,))
            self._saw(transaction, ("bank", id), (n - mine,), "UPDATE" in where)
        if not transaction.locked and not transaction.written and len(rows) == ACCOUNTS:
            assert sum(n for _, n in rows) == ACCOUNTS * MONEY
        return [n for _, n in rows]

    def _saw(self, transaction: Transaction, key: Key, state: State, locks: bool) -> None:
        if locks or key in transaction.written:
            assert transaction.locked.setdefault(key, state) == state, "a locked row stays"
        else:
            transaction.seen.append((key, state))

    def _note(self, transaction: Transaction) -> None:
        self.client.run(f"INSERT INTO note (transaction) VALUES ({transaction.number})")
        transaction.written["note", transaction.number] = (1,)


def disturb(random: Random, client: Any, sessions: list[Session], until: float) -> None:
    """Execute DDL, and kill statements and connections, now and then."""
    while time.monotonic() < until:
        time.sleep(random.uniform(0.02, 0.2))
        victim = random.choice(sessions).client
        if victim is not None and random.random() < 0.4:
            statement = f"KILL {random.choice(('QUERY', 'CONNECTION'))} {victim.thread_id()}"
        else:
            statement = random.choice(DDL).format(random.randrange(3))
        try:
            client.run(statement)
        except pymysql.MySQLError as error:
            assert error.args[0] in EXPECTED, (statement, error)


EXPECTED = {1060, 1061, 1091, 1094}
"""A column or an index that is there, or is not; a connection that is gone."""


class History:
    """What the stream tells: the states of each row by commit-ts, and what each transaction wrote."""

    def __init__(self, printed: str) -> None:
        self.states: dict[Key, dict[int, State]] = defaultdict(lambda: {0: ()})
        self.written: dict[int, dict[Key, State]] = defaultdict(dict)
        """The changes of a commit: list lengths and last numbers, differences of money."""
        self.commits: dict[int, int] = {}
        """The commit-ts of a transaction."""
        self.notes: dict[int, int] = {}
        """The rows of `note`."""
        lines: dict[int, list[str]] = defaultdict(list)
        for ts, line in LINE.findall(printed):
            if line not in lines[int(ts)]:  # what was not acknowledged comes again
                lines[int(ts)].append(line)
        for at in sorted(lines):
            for line in lines[at]:
                self._apply(at, line)

    def _apply(self, ts: int, line: str) -> None:
        kind, table, rest = re.match(r"(\w+) test\.(\w+) (.*)", line).groups()  # type: ignore[union-attr]
        values = {name: (old, new) for name, old, new in VALUE.findall(rest)}
        if kind == "DDL":
            if "TRUNCATE" in rest:
                self.notes.clear()
        elif table == "done":
            self.commits[int(values["id"][0])] = ts
        elif table == "note":
            self.notes[int(values["id"][0])] = int(values["transaction"][0])
            self.written[ts]["note", int(values["transaction"][0])] = (1,)
        else:
            key = table, int(values["k" if table == "list" else "id"][0])
            names = ("n", "last") if table == "list" else ("n",)
            before = tuple(int(values[name][0]) for name in names)
            after = tuple(int(values[name][1] or values[name][0]) for name in names)
            if kind == "UPDATE":
                assert self.before(key, ts) == before, (ts, line)
                self.written[ts][key] = tuple(after[i] - before[i] if i == 0 else after[i] for i in range(len(after)))
            self.states[key][ts] = after

    def before(self, key: Key, ts: int) -> State:
        """Return the state of a row before a ts."""
        states = self.states[key]
        times = [*states]
        return states[times[bisect_left(times, ts) - 1]]


LINE = re.compile(r"^ticdc/0@\d+ (\d+) \S+ ((?:DDL|INSERT|UPDATE|DELETE) .*)$", re.MULTILINE)
VALUE = re.compile(r"(\w+)(?:=|: )(-?\d+)(?:→(-?\d+))?")


def as_sent(key: Key, written: State) -> State:
    """Return what the stream tells of a transaction's writes to a row: how many numbers and the last one; the difference."""
    return (len(written), written[-1]) if key[0] == "list" else written


@pytest.mark.slow
def test_snapshot_isolation(tmp_path: Path, said: Path, start: Callable[..., Any], connect: Callable[..., Any]) -> None:
    random, numbers, printed, port = Random(SEED), count(1), "", 0
    sessions = [Session(number, numbers, lambda: connect(port)) for number in range(SESSIONS)]
    options = ("--console", "--data", str(tmp_path / "data"), "--resume")
    for stops in (("kill",), ("terminate",), ()):
        server, port = start(*options)
        client = connect(port)
        if not printed:
            client.run(*TABLES)
        with ThreadPoolExecutor(SESSIONS) as pool:
            working = [pool.submit(session.work) for session in sessions]
            disturb(random, client, sessions, time.monotonic() + SECONDS)
            for session in sessions:
                session.stopped = not stops
            for stop in stops:
                getattr(server, stop)()
            for future in working:
                future.result(20)
        if not stops:
            lists = {k: [*map(int, v.split(","))] for k, v in client.run("SELECT k, v FROM list")}
            rows = {of: client.run(f"SELECT {of}") for of in ("id, n FROM bank", "* FROM note")}
            server.terminate()
        server.wait(20)
        printed += said.read_text()
    history = History(printed)
    transactions = [each for session in sessions for each in session.transactions]
    committed = [each for each in transactions if each.number in history.commits]

    assert len(committed) > 100
    sent, rolled_back = set(history.commits), {each.number for each in transactions if each.outcome == "aborted"}
    acknowledged = {each.number for each in transactions if each.outcome == "committed" and each.written}
    assert acknowledged <= sent, "no acknowledged commit is lost"
    assert not rolled_back & sent, "nothing that was rolled back is sent"
    assert history.notes == dict(rows["* FROM note"])
    for id, n in rows["id, n FROM bank"]:
        assert history.before(("bank", id), NEWEST) == (n,)
    for k, there in lists.items():
        assert history.before(("list", k), NEWEST) == (len(there), there[-1])
        assert all(n == 0 or there[n - 1] == last for n, last in [*history.states["list", k].values()][1:])
    for each in transactions:
        for k, others in each.lists:
            assert lists[k][: len(others)] == others, "what was read stays"
        for key, state in each.seen:
            assert history.before(key, each.start_ts + 1) == state, "a query sees the commits before its transaction"
    for each in committed:
        ts = history.commits[each.number]
        assert history.written[ts] == {key: as_sent(key, value) for key, value in each.written.items()}
        for key, state in each.locked.items():
            assert history.before(key, ts) == state, "no update is lost"
