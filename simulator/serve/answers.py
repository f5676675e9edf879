"""The packets with which a connection answers its client: OK with the status of the session, columns, rows, the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache

from mysql_mimic import packets
from mysql_mimic.types import Capabilities, ServerStatus, uint_1, uint_2, uint_4, uint_len

from simulator.serve import wire
from simulator.serve.database import Client
from simulator.tidb.engine.outcome import ResultColumn, StatementOutcome
from simulator.tidb.model.types import ColumnType
from simulator.tidb.syntax.queries import Insert, Update
from simulator.tidb.syntax.session import LoadData, SqlStatement

NO_FLAGS = ServerStatus(0)
MORE = ServerStatus.SERVER_MORE_RESULTS_EXISTS
CURSOR = ServerStatus.SERVER_STATUS_CURSOR_EXISTS
LAST_ROW = ServerStatus.SERVER_STATUS_LAST_ROW_SENT

PARAMETER = ResultColumn("?", ColumnType("varchar"))


class Answers:
    """Makes packets for a client with some capabilities."""

    def __init__(self, client: Client, capabilities: Capabilities) -> None:
        self._client, self._capabilities = client, capabilities

    def ok(
        self,
        statement: SqlStatement | None = None,
        outcome: StatementOutcome | None = None,
        flags: ServerStatus = NO_FLAGS,
    ) -> bytes:
        """Return the answer to a command without rows, and what the statement did."""
        if outcome is None:
            return wire.ok_packet(self._capabilities, self._status(flags))
        affected, info, warnings = outcome.affected, "", len(outcome.warnings)
        if isinstance(statement, Update):
            info = f"Rows matched: {outcome.matched}  Changed: {outcome.affected}  Warnings: {warnings}"
            if Capabilities.CLIENT_FOUND_ROWS in self._capabilities:
                affected = outcome.matched
        elif isinstance(statement, LoadData):
            records, deleted = outcome.matched, max(0, affected - outcome.matched)
            info = (
                f"Records: {records}  Deleted: {deleted}  Skipped: {max(0, records - affected)}  Warnings: {warnings}"
            )
        elif isinstance(statement, Insert) and (statement.rows is None or len(statement.rows) > 1):
            duplicates = outcome.matched - outcome.affected
            info = f"Records: {outcome.matched}  Duplicates: {duplicates}  Warnings: {warnings}"
        return wire.ok_packet(self._capabilities, self._status(flags), affected, outcome.insert_id, warnings, info)

    def columns(self, columns: Sequence[ResultColumn], has_rows: bool = True) -> Iterator[bytes]:
        """Yield the packets before the rows of a result; without `has_rows`, before those of a cursor."""
        yield uint_len(len(columns))
        yield from map(wire.column_definition, columns)
        if has_rows:
            yield from self._separator()

    def prepared(self, number: int, parameters: int, columns: Sequence[ResultColumn]) -> Iterator[bytes]:
        """Yield the answer to COM_STMT_PREPARE."""
        yield b"\0" + uint_4(number) + uint_2(len(columns)) + uint_2(parameters) + b"\0" + uint_2(0)
        for definitions in ([PARAMETER] * parameters, columns):
            yield from map(wire.column_definition, definitions)
            yield from self._separator() if definitions else ()

    def fields(self, columns: Sequence[ResultColumn]) -> Iterator[bytes]:
        """Yield the answer to COM_FIELD_LIST."""
        for column in columns:
            yield wire.column_definition(column) + uint_1(0xFB)
        yield self.end(None)

    def end(self, outcome: StatementOutcome | None, flags: ServerStatus = NO_FLAGS) -> bytes:
        """Return the packet after the last row."""
        warnings = 0 if outcome is None else len(outcome.warnings)
        if Capabilities.CLIENT_DEPRECATE_EOF in self._capabilities:
            return wire.ok_packet(self._capabilities, self._status(flags), warnings=warnings, is_end=True)
        return packets.make_eof(self._capabilities, self._status(flags), warnings)

    def _separator(self) -> Iterator[bytes]:
        if Capabilities.CLIENT_DEPRECATE_EOF not in self._capabilities:
            yield packets.make_eof(self._capabilities, self._status(NO_FLAGS))

    def _status(self, flags: ServerStatus) -> ServerStatus:
        """Return flags with those of the session."""
        session = self._client.session
        settings = session.settings
        return _status_of(
            flags, settings.autocommit, session.transaction is not None, "NO_BACKSLASH_ESCAPES" in settings.sql_mode
        )


@cache
def _status_of(flags: ServerStatus, autocommit: bool, in_transaction: bool, without_escapes: bool) -> ServerStatus:
    if autocommit:
        flags |= ServerStatus.SERVER_STATUS_AUTOCOMMIT
    if in_transaction:
        flags |= ServerStatus.SERVER_STATUS_IN_TRANS
    if without_escapes:
        flags |= ServerStatus.SERVER_STATUS_NO_BACKSLASH_ESCAPES
    return flags
