"""A directory that keeps a served TiDB between two runs: a snapshot, and a log of the commits after it.

A commit is in the log, on the disk, before its client gets an answer. `statements.jsonl` of a snapshot has all DDL
statements so far, which are executed again without rows; `history` the newest commits, which changefeeds may send again;
`tables` has the rows. A start writes a new snapshot, so that a log grows for one run only. `changefeeds.json` has the
changefeeds with their checkpoints.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from simulator import tso
from simulator.changefeeds.history import History, commit_of
from simulator.changefeeds.served import RUNNING
from simulator.errors import UserError
from simulator.serve.log_records import (
    LoggedStatement,
    LogRecord,
    changes_of,
    commit_record,
    counters_after_restart,
    counters_as_json,
    decode_all,
    encode,
    read_table,
    session_fields,
    session_of,
    table_batch,
    write_changes,
)
from simulator.tidb.ddl.catalog import object_key
from simulator.tidb.engine import CommittedTransaction, CompletedDdl, Event
from simulator.tidb.engine.execution import execute
from simulator.tidb.engine.session import Session
from simulator.tidb.engine.settings import DEFAULT_SQL_MODE, SqlSession
from simulator.tidb.parser.sql import parse_sql
from simulator.tidb.storage import Database
from simulator.tidb.storage.rows import NEWEST

OURS = re.compile(r"lock|log-\d+|snapshot-\d+|snapshot\.new|changefeeds\.json(\.new)?")
"""Names in the directory."""

LOCK, ABOUT, STATEMENTS, TABLES, HISTORY = "lock", "about.json", "statements.jsonl", "tables", "history"
CHANGEFEEDS = "changefeeds.json"

RESTORED = 1024
"""Commits that are read before those are dropped that no changefeed needs."""


class DataDirectory:
    """The state of one server; only one process at a time may open it."""

    def __init__(self, path: Path, release: str, start_ts: int, resumes: bool = False) -> None:
        """Open a directory, or create it; a server that `resumes` lets the changefeeds go on. Raises UserError for one that another server uses, that another release
        wrote, or that cannot be written."""
        self.path, self.resumes = path, resumes
        try:
            path.mkdir(parents=True, exist_ok=True)
            foreign = next((entry.name for entry in sorted(path.iterdir()) if not OURS.fullmatch(entry.name)), None)
            if foreign is not None:
                raise UserError(f"--data {path} holds something else ({foreign}): give a new or empty directory")
            self._lock = (path / LOCK).open("a")
        except OSError as error:
            raise UserError(f"--data {path}: it cannot be written to: {error.strerror}") from None
        try:
            self._number, self.about = self._read_about(release, start_ts)
        except UserError:
            self._lock.close()
            raise
        self._statements: list[dict[str, Any]] = []
        self.changefeeds = self._read_changefeeds()
        """The changefeeds that were kept, as JSON."""

        self._log = self._log_path.open("ab")

    def _read_about(self, release: str, start_ts: int) -> tuple[int, dict[str, Any]]:
        """Return the number of the last snapshot, 0 if there is none, and what its file says about it."""
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UserError(
                f"--data {self.path}: another server uses it: give each server a directory of its own"
            ) from None
        number = max(_snapshots(self.path), default=0)
        if not number:
            return 0, {"release": release, "start_ts": start_ts, "now_ms": 0}
        with self._damage_told(f"snapshot-{number}"):
            about = json.loads((self.path / f"snapshot-{number}" / ABOUT).read_text("utf-8"))
            was, _ = str(about["release"]), int(about["start_ts"])
        if was != release:
            raise UserError(f"--data {self.path}: it was written with --release {was}, and not {release}: give {was}")
        return number, about

    @contextmanager
    def _damage_told(self, name: str) -> Iterator[None]:
        """Convert errors of reading a file to UserError."""
        try:
            yield
        except (OSError, ValueError, LookupError, TypeError, AttributeError, pa.ArrowException) as error:
            why = (str(error).splitlines() or [type(error).__name__])[0]
            raise UserError(f"--data {self.path}: {name} is damaged: {why}; a new directory begins anew") from error

    def _read_changefeeds(self) -> Sequence[Mapping[str, Any]]:
        path = self.path / CHANGEFEEDS
        with self._damage_told(CHANGEFEEDS):
            return [*json.loads(path.read_text("utf-8"))] if path.exists() else []

    @property
    def start_ts(self) -> int:
        """Where the first changefeed began."""
        return int(self.about["start_ts"])

    @property
    def global_settings(self) -> Mapping[str, str]:
        """The variables that SET GLOBAL has set."""
        return dict(self.about.get("global_settings", {}))

    def keep_globals(self, settings: Mapping[str, str]) -> None:
        self._write(LogRecord(global_settings=settings))

    @property
    def _log_path(self) -> Path:
        """The commits after the snapshot."""
        return self.path / f"log-{self._number}"

    @property
    def _snapshot(self) -> Path:
        return self.path / f"snapshot-{self._number}"

    def restore(self, session: Session, history: History) -> None:
        """Bring a new TiDB, of which this is a session, and its history to the kept state.

        If the server resumes, the history has all commits that the kept changefeeds have not sent. Raises UserError for
        damaged files.
        """
        with self._damage_told(f"snapshot-{self._number}"):
            kept = self._restore(session, history)
        self._write_snapshot(session.database, history, kept)

    def _restore(self, session: Session, history: History) -> list[LogRecord]:
        """Return the records that are still in the history."""
        records = self._logged()
        for record in records:
            if record.global_settings is not None:
                self.about["global_settings"] = record.global_settings
        checkpoints = [each["checkpoint_ts"] for each in self.changefeeds if each["state"] in RUNNING]
        needed_ts = min(checkpoints, default=self.start_ts) if self.resumes else tso.FOREVER
        for line in self._kept_statements():
            statement = LogRecord(line["now_ms"], (LoggedStatement(line["text"], line["session"]),))
            history.remember(commit_of(self._events(statement, session, False), statement.now_ms))
        history.safe_ts = int(self.about.get("safe_ts", max(history.safe_ts, tso.compose(self.about["now_ms"]) - 1)))
        kept = deque[LogRecord]()

        def add(record: LogRecord, writes: bool) -> None:
            history.append(commit_of(self._events(record, session, writes), record.now_ms))
            kept.append(record)
            if not len(kept) % RESTORED:
                history.collect(history.now_ms, needed_ts)
            while kept and kept[0].now_ms < history.first_ms:
                kept.popleft()

        for record in self._kept_history():
            add(record, False)
        self._load_tables(session.database)
        for place, record in enumerate(records):
            undone = place + 1 < len(records) and records[place + 1].undoes
            if record.events and not undone:
                add(record, True)
        history.now_ms = max(history.now_ms, self.about["now_ms"])
        return list(kept)

    def checkpoint_ts(self, history: History) -> int:
        """Return where the default changefeed goes on: now, or if the server resumes at its checkpoint, or with all that is
        in the history."""
        if not self.resumes:
            return tso.compose(history.now_ms)
        named = (each for each in self.changefeeds if each["spec"]["name"] == each["spec"]["namespace"] == "default")
        return max([self.start_ts, history.safe_ts + 1, *(int(each["checkpoint_ts"]) for each in named)])

    def keep_changefeeds(self, changefeeds: Sequence[Mapping[str, Any]]) -> None:
        """Keep the changefeeds as they are now; their sink-uris may hold secrets."""
        if changefeeds != self.changefeeds:
            self.changefeeds = changefeeds
            building = self.path / f"{CHANGEFEEDS}.new"
            with open(os.open(building, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                json.dump(changefeeds, file)
            building.replace(self.path / CHANGEFEEDS)

    def append(self, events: Sequence[Event], now_ms: int, settings: SqlSession, database: Database) -> None:
        """Write a commit, and wait until it is on the disk."""
        if events:
            self._write(commit_record(events, now_ms, settings, database))

    def undo(self) -> None:
        """Take back the last commit, which was refused."""
        self._write(LogRecord(undoes=True))

    def close(self) -> None:
        self._log.close()
        self._lock.close()

    def _write(self, record: LogRecord) -> None:
        """Write a record, and wait until it is on the disk."""
        self._log.write(encode(record))
        self._log.flush()
        os.fsync(self._log.fileno())

    def _logged(self) -> list[LogRecord]:
        """Return the records of the log, and cut what was not written whole."""
        data = self._log_path.read_bytes()
        records = list(decode_all(data))
        end = records[-1][1] if records else 0
        if end < len(data):
            self._log.truncate(end)
        return [record for record, _ in records]

    def _kept_statements(self) -> Iterator[Mapping[str, Any]]:
        if self._number:
            with (self._snapshot / STATEMENTS).open("r", encoding="utf-8") as lines:
                yield from map(json.loads, lines)

    def _kept_history(self) -> Iterator[LogRecord]:
        """Yield the commits that are in the tables already, and that changefeeds may send again."""
        path = self._snapshot / HISTORY
        if self._number and path.exists():
            yield from (record for record, _ in decode_all(path.read_bytes()))

    def _events(self, record: LogRecord, session: Session, writes: bool) -> list[Event]:
        """Return the events of a record: DDL is executed again, and rows are written again if they are to be."""
        events: list[Event] = []
        database = session.database
        for event in record.events:
            if isinstance(event, LoggedStatement):
                events += self._executed(event, session, record.now_ms)
                continue
            changes = changes_of(event, database.catalog)
            if writes:
                write_changes(changes, database, record.now_ms)
            events.append(CommittedTransaction(changes))
        for schema, table, fields in record.counters if writes else ():
            definition = database.catalog.table(schema, table)
            if definition is not None:
                database.stored(definition).ids.counters = counters_after_restart(fields)
        return events

    def _executed(self, logged: LoggedStatement, session: Session, now_ms: int) -> Sequence[Event]:
        """Execute a DDL statement again, and return its events."""
        settings = session.settings
        session.settings = session_of(logged.session, settings)
        statement = parse_sql(logged.text, session.settings.sql_mode - frozenset(DEFAULT_SQL_MODE))
        assert statement is not None, "an empty statement has no jobs"
        outcome = execute(session, statement, logged.text, now_ms)
        fields = session_fields(session.settings)
        jobs = (event for event in outcome.events if isinstance(event, CompletedDdl))
        self._statements += ({"now_ms": now_ms, "text": ddl.text, "session": fields} for ddl in jobs)
        session.settings = settings
        return outcome.events

    def _load_tables(self, database: Database) -> None:
        if not self._number:
            return
        for line in json.loads((self._snapshot / f"{TABLES}.json").read_text("utf-8")):
            table = database.catalog.tables[object_key(line["schema"], line["table"])]
            with pa.memory_map(str(self._snapshot / TABLES / line["file"])) as source:
                read_table(database.emptied(table), pa.ipc.open_file(source).read_all())
            database.stored(table).ids.counters = counters_after_restart(line["counters"])

    def _write_snapshot(self, database: Database, history: History, kept: Sequence[LogRecord]) -> None:
        """Write a snapshot of the state, begin a new log, and delete the old ones. The `kept` records are those of the
        history, whose statements are not among the older ones."""
        old, old_log = self._snapshot, self._log_path
        self.about |= {"now_ms": history.now_ms, "safe_ts": history.safe_ts}
        first_ms = kept[0].now_ms if kept else history.now_ms
        statements = [line for line in self._statements if line["now_ms"] < first_ms]
        new = self.path / f"snapshot-{self._number + 1}"
        building = self.path / "snapshot.new"
        shutil.rmtree(building, ignore_errors=True)
        (building / TABLES).mkdir(parents=True)
        lines = []
        for number, (key, stored) in enumerate(sorted(database.schema(NEWEST).tables.items())):
            if key not in database.catalog.tables:
                continue
            name = f"{number}.arrow"
            rows = table_batch(stored)
            with (building / TABLES / name).open("wb") as place, pa.ipc.new_file(place, rows.schema) as out:
                out.write_batch(rows)
            counters = counters_as_json(stored.ids.counters)
            lines.append(
                {"schema": stored.table.schema, "table": stored.table.name, "file": name, "counters": counters}
            )
        (building / f"{TABLES}.json").write_text(json.dumps(lines), "utf-8")
        (building / STATEMENTS).write_text("".join(json.dumps(each) + "\n" for each in statements), "utf-8")
        (building / HISTORY).write_bytes(b"".join(map(encode, kept)))
        (building / ABOUT).write_text(json.dumps(self.about), "utf-8")
        for file in building.rglob("*"):
            _sync(file)
        building.rename(new)
        _sync(self.path)
        self._number += 1
        self._log.close()
        self._log = self._log_path.open("ab")
        old_log.unlink()
        shutil.rmtree(old, ignore_errors=True)


def _snapshots(path: Path) -> list[int]:
    names = (entry.name.removeprefix("snapshot-") for entry in path.glob("snapshot-*"))
    return [int(name) for name in names if name.isdigit()]


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
