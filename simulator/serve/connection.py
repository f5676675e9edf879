"""One client's connection: the commands of MySQL's protocol, answered by the shared database."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import reduce
from itertools import islice
from operator import or_
from ssl import SSLContext

from mysql_mimic import packets
from mysql_mimic.auth import AuthInfo, Forbidden, IdentityProvider, Success
from mysql_mimic.charset import CharacterSet, Collation
from mysql_mimic.connection import Connection
from mysql_mimic.constants import KillKind
from mysql_mimic.control import Control
from mysql_mimic.errors import ErrorCode
from mysql_mimic.packets import SSLRequest
from mysql_mimic.prepared import PreparedStatement
from mysql_mimic.session import BaseSession
from mysql_mimic.stream import ConnectionClosed
from mysql_mimic.types import Capabilities, ServerStatus

from simulator import limits
from simulator.errors import DdlError, SimulatorError, SqlError
from simulator.serve.charsets import client_charset, name_text, results_charset, sent_rows, statement_text
from simulator.serve.handler import ClientHandler
from simulator.serve.packets import (
    CURSOR,
    LAST_ROW,
    MORE,
    NO_FLAGS,
    Answers,
    ParameterTypes,
    Reader,
    binary_rows,
    error_packet,
    malformed,
    read_parameters,
    text_columns,
)
from simulator.serve.stream import ClientStream
from simulator.tidb.engine import StatementOutcome
from simulator.tidb.engine.context import server_version
from simulator.tidb.engine.settings import DEFAULT_SQL_MODE, SqlSession
from simulator.tidb.errors import sql_error
from simulator.tidb.parser.script import split_script
from simulator.tidb.parser.sql import parse_prepared, parse_sql
from simulator.tidb.syntax.expressions import Node
from simulator.tidb.syntax.statements import SqlStatement, Use

CAPABILITIES = reduce(
    or_,
    (
        Capabilities[f"CLIENT_{name}"]
        for name in """
        LONG_PASSWORD FOUND_ROWS LONG_FLAG CONNECT_WITH_DB COMPRESS ODBC LOCAL_FILES IGNORE_SPACE PROTOCOL_41
        INTERACTIVE TRANSACTIONS SECURE_CONNECTION MULTI_STATEMENTS MULTI_RESULTS PS_MULTI_RESULTS PLUGIN_AUTH
        CONNECT_ATTRS PLUGIN_AUTH_LENENC_CLIENT_DATA DEPRECATE_EOF
        """.split()
    ),
)
"""TiDB's (tidb pkg/server/server.go, defaultCapability), with zlib's compression alone."""

COLLATION_AT = 8
"""The place of the collation's number in the client's answer to the greeting."""

DEFAULT_MODES = frozenset(DEFAULT_SQL_MODE)
MANY_ROWS = 10_000
NO_MULTI_STATEMENTS = SqlError(
    8130,
    "HY000",
    "client has multi-statement capability disabled. Run SET GLOBAL tidb_multi_statement_mode='ON' after you understand "
    "the security risk",
)


def _in_latin1(answer: bytes) -> bytes:
    """Return a client's answer to the greeting with latin1 in place of its collation: it is decoded later."""
    return answer[:COLLATION_AT] + bytes([Collation.latin1_bin]) + answer[COLLATION_AT + 1 :]


def _bytes(text: str) -> bytes:
    """Return the bytes of a part of a packet that was read as latin1."""
    return text.encode("latin-1")


def _collation(number: int) -> str:
    """Return the name of a collation, by default TiDB's (tidb pkg/parser/charset/charset.go, GetCharsetInfoByID)."""
    return next((each.name for each in Collation if each == number), Collation.utf8mb4_bin.name)


@contextmanager
def _handshake_expected() -> Iterator[None]:
    """Raise ConnectionClosed, with MySQL's text for the client, for a packet that cannot be parsed."""
    try:
        yield
    except (struct.error, ValueError, LookupError, TypeError):
        raise ConnectionClosed("Bad handshake") from None


@dataclass
class ServerStatement(PreparedStatement):
    """A statement of COM_STMT_PREPARE."""

    sql_mode: frozenset[str] = frozenset()
    types: ParameterTypes = ()
    long_data: dict[int, bytes] = field(default_factory=dict)
    rows: Iterator[bytes] = iter(())
    """The rows that its cursor has not returned yet."""


class ClientConnection(Connection):
    """Speaks MySQL's protocol with one client; its `handler` executes statements."""

    stream: ClientStream  # type: ignore[assignment]

    def __init__(
        self, stream: ClientStream, handler: ClientHandler, users: IdentityProvider, ssl: SSLContext | None, host: str
    ) -> None:
        super().__init__(stream, BaseSession(), Control(), users, CAPABILITIES, ssl)  # type: ignore[arg-type]
        self.handler, self._host = handler, host
        self._collation = Collation.utf8mb4_bin.name
        self.session.username = None

    @property
    def server_charset(self) -> CharacterSet:
        return CharacterSet.utf8mb4

    @property
    def client_charset(self) -> CharacterSet:
        return CharacterSet.utf8mb4

    def kill(self, kind: KillKind = KillKind.CONNECTION) -> None:
        """End the connection, or the statement that it runs; nothing if it runs none."""
        if kind is KillKind.CONNECTION or self.stream.in_command:
            super().kill(kind)

    # -- connecting --------------------------------------------------------------------------------------------------

    async def connection_phase(self) -> None:
        """Greet the client, change to TLS if it asks for it, check its password, and choose its database."""
        plugin = self.identity_provider.get_default_plugin()
        challenge, state = await plugin.start()
        assert isinstance(challenge, bytes)
        self.handshake_auth_data, self.handshake_auth_plugin = challenge, plugin.name
        greeting = packets.make_handshake_v10(
            self.server_capabilities,
            CharacterSet.utf8mb4,
            server_version(self.handler.client.session.database.release),
            self.connection_id,
            challenge,
            ServerStatus.SERVER_STATUS_AUTOCOMMIT,
            plugin.name,
        )
        answer = await self.stream.greet(greeting)
        with _handshake_expected():
            response = packets.parse_handshake_response(self.server_capabilities, _in_latin1(answer))
        wants_tls = isinstance(response, SSLRequest)
        if wants_tls and self.ssl is None:
            raise ConnectionClosed
        await self.stream.open(self.ssl if wants_tls else None)
        if isinstance(response, SSLRequest):
            answer = await self.stream.read()
            with _handshake_expected():
                response = packets.parse_handshake_response_41(self.server_capabilities, _in_latin1(answer))
        self.capabilities, self._collation = response.capabilities, _collation(answer[COLLATION_AT])
        await state.aclose()
        name, database = _bytes(response.username), _bytes(response.database or "")
        await self._log_in(name, response.auth_response, response.client_plugin, database)
        if Capabilities.CLIENT_LOCAL_FILES in self.capabilities:
            self.handler.read_file = self._read_file
        if Capabilities.CLIENT_COMPRESS in self.capabilities:
            self.stream.compress()

    async def _read_file(self, path: str) -> bytes:
        """Return a file of the client, which sends it in packets up to an empty one."""
        await self.stream.write(b"\xfb" + path.encode())
        parts = []
        left = limits.LOADED_BYTES
        while part := await self.stream.read():
            left -= len(part)
            if left >= 0:
                parts.append(part)
            else:
                parts.clear()
        if left < 0:
            most = limits.size(limits.LOADED_BYTES)
            raise SqlError(1105, "HY000", f"LOAD DATA: the file is too large: at most {most} are accepted")
        return b"".join(parts)

    async def handle_change_user(self, data: bytes) -> None:
        """Begin a session of another user, with the collation of the handshake (tidb pkg/server/conn.go, handleChangeUser)."""
        reader = Reader(data)
        async with self._errors_answered():
            name, answer, database = reader.terminated(), reader.take(reader.number("<B")), reader.terminated()
            behind_collation = Reader(reader.rest()[2:])
            plugin = behind_collation.terminated().decode("ascii", "replace") or None
            await self.handler.reset()
            await self._log_in(name, answer, plugin, database)

    async def _log_in(self, user: bytes, answer: bytes, client_plugin: str | None, database: bytes) -> None:
        """Check the password and answer; raises ConnectionClosed after a refusal."""
        name = user.decode("utf-8", "surrogateescape")
        if not await self._is_authentic(name, answer, client_plugin):
            used = "YES" if answer else "NO"
            text = f"Access denied for user '{name}'@'{self._host}' (using password: {used})"
            await self._refuse(SqlError(1045, "28000", text))
        self.session.username = name
        found_rows = Capabilities.CLIENT_FOUND_ROWS in self.capabilities
        self.handler.log_in(f"{name}@{self._host}", found_rows, self._collation)
        if database:
            try:
                await self._use(database)
            except SqlError as error:
                await self._refuse(error)
        await self.stream.write(self._answers.ok())
        self.stream.reset_seq()

    async def _is_authentic(self, name: str, answer: bytes, client_plugin: str | None) -> bool:
        user = await self.identity_provider.get_user(name)
        plugin = self.identity_provider.get_default_plugin()
        if user is None:
            return False
        assert self.handshake_auth_plugin is not None
        info = AuthInfo(name, answer, user, {}, client_plugin, self.handshake_auth_data, self.handshake_auth_plugin)
        if client_plugin in (None, plugin.client_plugin_name):
            decision, state = await plugin.start(info)
        else:
            decision, state = await plugin.start()
            assert isinstance(decision, bytes) and plugin.client_plugin_name is not None
            await self.stream.write(
                packets.make_auth_switch_request(CharacterSet.utf8mb4, plugin.client_plugin_name, decision)
            )
            decision = await state.asend(info.copy(await self.stream.read()))
        while not isinstance(decision, Success | Forbidden):
            await self.stream.write(packets.make_auth_more_data(decision))
            decision = await anext(state)
        return isinstance(decision, Success)

    async def _refuse(self, error: SqlError) -> None:
        await self.stream.write(error_packet(error))
        raise ConnectionClosed

    # -- commands ----------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def _errors_answered(self) -> AsyncIterator[None]:
        """Answer with the error of the block, if it raises one of TiDB's."""
        try:
            yield
        except (SqlError, DdlError) as error:
            await self.stream.write(error_packet(error))

    async def handle_query(self, data: bytes) -> None:
        async with self._errors_answered():
            text, warnings = statement_text(data, self._settings)
            statements = await self.handler.in_turn(len(text), lambda: self._split(text))
            for each in statements[:-1]:
                await self._answer(*await self.handler.run_text(each, self._sql_mode), MORE)
            statement, outcome = await self.handler.run_text(statements[-1], self._sql_mode)
            await self._answer(statement, self.handler.warn(outcome, warnings), NO_FLAGS)

    def _split(self, text: str) -> list[str]:
        """Return the statements of a query. Raises SqlError for several from a client that does not allow them."""
        stripped = text.rstrip().rstrip(";")
        if ";" not in stripped:
            return [stripped]
        statements = [statement.text for statement in split_script(text, self._settings.sql_mode)]
        if len(statements) > 1 and Capabilities.CLIENT_MULTI_STATEMENTS not in self.capabilities:
            raise NO_MULTI_STATEMENTS
        return statements or [""]

    async def handle_stmt_prepare(self, data: bytes) -> None:
        async with self._errors_answered():
            text, modes = statement_text(data, self._settings)[0].rstrip().rstrip(";"), self._sql_mode
            statement, count = await self.handler.in_turn(len(text), lambda: parse_prepared(text, modes))
            columns = await self.handler.columns_of_prepared(statement)
            number = next(self.prepared_stmt_seq) + 1
            self.prepared_stmts[number] = ServerStatement(number, text, count, sql_mode=modes)
            self.stream.write_many([*self._answers.prepared(number, count, columns)])
            await self.stream.drain()

    async def handle_stmt_send_long_data(self, data: bytes) -> None:
        reader = Reader(data)
        statement = self.prepared_stmts.get(reader.number("<I"))
        if isinstance(statement, ServerStatement):  # there is no answer, so an unknown number is no error
            place = reader.number("<H")
            statement.long_data[place] = statement.long_data.get(place, b"") + reader.rest()

    async def handle_stmt_reset(self, data: bytes) -> None:
        statement = self.prepared_stmts.get(Reader(data).number("<I"))
        if isinstance(statement, ServerStatement):
            statement.long_data.clear()
            statement.rows = iter(())
        await self.stream.write(self._answers.ok())

    async def handle_stmt_execute(self, data: bytes) -> None:
        reader = Reader(data)
        async with self._errors_answered():
            prepared = self._prepared(reader.number("<I"))
            wants_cursor = bool(reader.number("<B") & 1)
            reader.take(4)
            values: list[Node] = []
            if prepared.num_params:
                values, prepared.types = read_parameters(
                    reader, prepared.num_params, prepared.types, prepared.long_data, client_charset(self._settings)
                )
            prepared.long_data.clear()
            statement = parse_sql(prepared.sql, prepared.sql_mode, parameters=values)
            outcome = await self.handler.run(statement, prepared.sql)
            if outcome.result is None:
                await self.stream.write(self._answers.ok(outcome))
                return
            columns = outcome.result.columns
            rows = binary_rows(sent_rows(outcome.result.rows, columns, results_charset(self._settings)), columns)
            self.stream.write_many([*self._answers.columns(columns, not wants_cursor)])
            if wants_cursor:
                prepared.rows = rows
            else:
                while batch := list(islice(rows, MANY_ROWS)):
                    self.stream.write_many(batch)
                    if len(batch) == MANY_ROWS:
                        await self.stream.drain()
            await self.stream.write(self._answers.end(outcome, CURSOR if wants_cursor else NO_FLAGS))

    def _prepared(self, number: int) -> ServerStatement:
        statement = self.prepared_stmts.get(number)
        if not isinstance(statement, ServerStatement):
            text = f"Unknown prepared statement handler ({number}) given to stmt_execute"
            raise SqlError(1243, "HY000", text)
        return statement

    async def handle_stmt_fetch(self, data: bytes) -> None:
        reader = Reader(data)
        async with self._errors_answered():
            statement, count = self._prepared(reader.number("<I")), reader.number("<I")
            rows = list(islice(statement.rows, count))
            self.stream.write_many([*rows, self._answers.end(None, LAST_ROW if len(rows) < count else CURSOR)])
            await self.stream.drain()

    async def command_phase(self) -> None:
        """Answer the commands of the client until it quits."""
        try:
            while (data := await self.stream.read())[:1] != QUIT:
                await self._answer_command(data)
        except ConnectionClosed:
            pass

    async def _answer_command(self, data: bytes) -> None:
        """Answer a command, by its error or that of KILL QUERY as well."""
        try:
            if data[:1] not in COMMANDS:
                raise SqlError(1105, "HY000", f"command {data[0] if data else 0} not supported now")
            await COMMANDS[data[:1]](self, data[1:])
        except ConnectionClosed:
            raise
        except asyncio.CancelledError:
            if self._kill is not KillKind.QUERY or self._task is None or self._task.cancelling() > 1:
                raise  # the server ends, too
            self._kill = None
            self._task.uncancel()
            await self.stream.write(error_packet(sql_error(1317)))
        except Exception as error:
            await self.stream.write(self.error(msg=error))
        finally:
            self.stream.reset_seq()

    async def _set_option(self, data: bytes) -> None:
        """Allow several statements in a query, or do not (tidb pkg/server/conn_stmt.go, handleSetOption)."""
        option = Reader(data).number("<H")
        if option > 1:
            raise malformed()
        self.capabilities |= Capabilities.CLIENT_MULTI_STATEMENTS
        if option == 1:
            self.capabilities ^= Capabilities.CLIENT_MULTI_STATEMENTS
        await self.stream.write(self._answers.end(None))

    async def _statistics(self, data: bytes) -> None:
        """Answer with what TiDB knows, the seconds since its start (tidb pkg/server/conn.go, writeStats)."""
        told = f"Uptime: {self.handler.uptime_seconds}  Threads: 0  Questions: 0  Slow queries: 0  Opens: 0  Flush tables: 0  "
        await self.stream.write(f"{told}Open tables: 0  Queries per second avg: 0.000".encode())

    async def handle_ping(self, data: bytes) -> None:
        await self.stream.write(self._answers.ok())

    async def handle_init_db(self, data: bytes) -> None:
        async with self._errors_answered():
            await self._use(data)
            await self.stream.write(self._answers.ok())

    async def handle_field_list(self, data: bytes) -> None:
        """Answer with the columns of a table, which old clients complete names with."""
        async with self._errors_answered():
            columns = self.handler.columns_of_table(data.split(b"\0")[0].decode("utf-8", "surrogateescape"))
            self.stream.write_many([*self._answers.fields(columns)])
            await self.stream.drain()

    async def handle_reset_connection(self, data: bytes) -> None:
        self.prepared_stmts.clear()
        await self.handler.reset()
        await self.stream.write(self._answers.ok())

    async def _use(self, name: bytes) -> None:
        database = name_text(name, self._settings)
        await self.handler.run(Use(database), f"USE {database}")

    async def _answer(self, statement: SqlStatement | None, outcome: StatementOutcome, flags: ServerStatus) -> None:
        """Answer a statement of the text protocol."""
        result = outcome.result
        if result is None:
            await self.stream.write(self._answers.ok(outcome, flags))
            return
        self.stream.write_many([*self._answers.columns(result.columns)])
        encoded, charset = text_columns(result.columns), results_charset(self._settings)
        for start in range(0, len(result.rows), MANY_ROWS):
            if start:
                await self.stream.drain()
            rows = sent_rows(result.rows[start : start + MANY_ROWS], result.columns, charset)
            self.stream.write_text_rows(rows, encoded)
        await self.stream.write(self._answers.end(outcome, flags))

    @property
    def _answers(self) -> Answers:
        return Answers(self.handler.client, self.capabilities)

    @property
    def _settings(self) -> SqlSession:
        return self.handler.client.session.settings

    @property
    def _sql_mode(self) -> frozenset[str]:
        return self._settings.sql_mode - DEFAULT_MODES

    def error(self, **kwargs: object) -> bytes:
        """Return the packet of an unexpected error, or of KILL."""
        error = sql_error(1317) if kwargs.get("code") is ErrorCode.SESSION_WAS_KILLED else kwargs.get("msg", "")
        if isinstance(error, SqlError | DdlError):
            return error_packet(error)
        text = str(error) if isinstance(error, SimulatorError) else f"a defect of the simulator: {error!r}"
        return error_packet(SqlError(int(kwargs.get("code", 1105)), "HY000", text))  # type: ignore[call-overload]


QUIT = b"\x01"
COMMANDS: Mapping[bytes, Callable[[ClientConnection, bytes], Awaitable[None]]] = {
    b"\x02": ClientConnection.handle_init_db,
    b"\x03": ClientConnection.handle_query,
    b"\x04": ClientConnection.handle_field_list,
    b"\x09": ClientConnection._statistics,
    b"\x0e": ClientConnection.handle_ping,
    b"\x11": ClientConnection.handle_change_user,
    b"\x16": ClientConnection.handle_stmt_prepare,
    b"\x17": ClientConnection.handle_stmt_execute,
    b"\x18": ClientConnection.handle_stmt_send_long_data,
    b"\x19": ClientConnection.handle_stmt_close,
    b"\x1a": ClientConnection.handle_stmt_reset,
    b"\x1b": ClientConnection._set_option,
    b"\x1c": ClientConnection.handle_stmt_fetch,
    b"\x1f": ClientConnection.handle_reset_connection,
}
"""By the first byte of the packet (tidb pkg/server/conn.go, dispatch)."""
