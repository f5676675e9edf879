"""One client's connection: the commands of MySQL's protocol, answered by the shared database."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from ssl import SSLContext

from mysql_mimic import packets
from mysql_mimic.auth import AuthInfo, Forbidden, IdentityProvider, Success
from mysql_mimic.charset import CharacterSet
from mysql_mimic.connection import Connection
from mysql_mimic.control import Control
from mysql_mimic.packets import SSLRequest
from mysql_mimic.prepared import PreparedStatement
from mysql_mimic.session import BaseSession
from mysql_mimic.stream import ConnectionClosed
from mysql_mimic.types import Capabilities, ServerStatus, uint_1, uint_2, uint_4, uint_len

from simulator.errors import DdlError, SimulatorError, SqlError
from simulator.serve import wire
from simulator.serve.handler import ClientHandler
from simulator.serve.parameters import ParameterTypes, Reader, read_parameters
from simulator.serve.query_text import query_text
from simulator.serve.stream import ClientStream
from simulator.tidb.model.types import ColumnType
from simulator.tidb.parser.script import split_script
from simulator.tidb.parser.sql import parse_prepared, parse_sql
from simulator.tidb.sql_engine.errors import sql_error
from simulator.tidb.sql_engine.result_columns import ResultColumn
from simulator.tidb.sql_engine.storage.state import DEFAULT_SQL_MODE, StatementOutcome
from simulator.tidb.syntax.dml import Insert, Update
from simulator.tidb.syntax.expressions import Node
from simulator.tidb.syntax.session import SqlStatement, Use

CAPABILITIES = (
    Capabilities.CLIENT_LONG_PASSWORD
    | Capabilities.CLIENT_FOUND_ROWS
    | Capabilities.CLIENT_LONG_FLAG
    | Capabilities.CLIENT_CONNECT_WITH_DB
    | Capabilities.CLIENT_ODBC
    | Capabilities.CLIENT_IGNORE_SPACE
    | Capabilities.CLIENT_PROTOCOL_41
    | Capabilities.CLIENT_INTERACTIVE
    | Capabilities.CLIENT_TRANSACTIONS
    | Capabilities.CLIENT_SECURE_CONNECTION
    | Capabilities.CLIENT_MULTI_STATEMENTS
    | Capabilities.CLIENT_MULTI_RESULTS
    | Capabilities.CLIENT_PS_MULTI_RESULTS
    | Capabilities.CLIENT_PLUGIN_AUTH
    | Capabilities.CLIENT_CONNECT_ATTRS
    | Capabilities.CLIENT_PLUGIN_AUTH_LENENC_CLIENT_DATA
    | Capabilities.CLIENT_DEPRECATE_EOF
)
"""TiDB's (tidb pkg/server/server.go, defaultCapability), without compression and files of the client."""

DEFAULT_MODES = frozenset(DEFAULT_SQL_MODE)
MANY_ROWS = 10_000
NO_MULTI_STATEMENTS = SqlError(
    8130,
    "HY000",
    "client has multi-statement capability disabled. Run SET GLOBAL tidb_multi_statement_mode='ON' after you understand "
    "the security risk",
)


@dataclass
class ServerStatement(PreparedStatement):
    """A statement of COM_STMT_PREPARE."""

    sql_mode: frozenset[str] = frozenset()
    types: ParameterTypes = ()
    columns: Sequence[ResultColumn] = ()
    long_data: dict[int, bytes] = field(default_factory=dict)
    rows: Iterator[bytes] = iter(())
    """The rows that its cursor has not returned yet."""


class ClientConnection(Connection):
    """Speaks MySQL's protocol with one client; its `handler` executes statements."""

    stream: ClientStream  # type: ignore[assignment]

    def __init__(
        self,
        stream: ClientStream,
        handler: ClientHandler,
        users: IdentityProvider,
        ssl: SSLContext | None,
        version: str,
        host: str,
    ) -> None:
        super().__init__(stream, BaseSession(), Control(), users, CAPABILITIES, ssl)  # type: ignore[arg-type]
        self.handler = handler
        self._version, self._host = version, host
        self.session.username = None

    @property
    def server_charset(self) -> CharacterSet:
        return CharacterSet.utf8mb4

    @property
    def client_charset(self) -> CharacterSet:
        return CharacterSet.utf8mb4

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
            self._version,
            self.connection_id,
            challenge,
            ServerStatus.SERVER_STATUS_AUTOCOMMIT,
            plugin.name,
        )
        response = packets.parse_handshake_response(self.server_capabilities, await self.stream.greet(greeting))
        wants_tls = isinstance(response, SSLRequest)
        if wants_tls and self.ssl is None:
            raise ConnectionClosed
        await self.stream.open(self.ssl if wants_tls else None)
        if isinstance(response, SSLRequest):
            response = packets.parse_handshake_response_41(self.server_capabilities, await self.stream.read())
        self.capabilities = response.capabilities
        await state.aclose()
        await self._log_in(response.username, response.auth_response, response.client_plugin, response.database or "")

    async def handle_change_user(self, data: bytes) -> None:
        request = packets.parse_com_change_user(self.capabilities, self.client_charset, data)
        await self.handler.reset()
        await self._log_in(request.username, request.auth_response, request.client_plugin, request.database)

    async def _log_in(self, name: str, answer: bytes, client_plugin: str | None, database: str) -> None:
        """Check the password and answer; raises ConnectionClosed after a refusal."""
        if not await self._is_authentic(name, answer, client_plugin):
            used = "YES" if answer else "NO"
            text = f"Access denied for user '{name}'@'{self._host}' (using password: {used})"
            await self._refuse(SqlError(1045, "28000", text))
        self.session.username = name
        self.handler.log_in(name, self._host)
        if database:
            try:
                await self.handler.run(Use(database), f"USE {database}")
            except SqlError as error:
                await self._refuse(error)
        await self.stream.write(self._ok())
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
        await self.stream.write(wire.error_packet(error))
        raise ConnectionClosed

    # -- commands ----------------------------------------------------------------------------------------------------

    async def handle_query(self, data: bytes) -> None:
        text = query_text(data)
        try:
            statements = self._split(text)
        except SqlError as error:
            await self.stream.write(wire.error_packet(error))
            return
        for place, each in enumerate(statements):
            is_last = place == len(statements) - 1
            try:
                statement, outcome = await self.handler.run_text(each, self._sql_mode)
            except (SqlError, DdlError) as error:
                await self.stream.write(wire.error_packet(error))
                return
            await self._answer(statement, outcome, ServerStatus(0) if is_last else MORE)

    def _split(self, text: str) -> list[str]:
        """Return the statements of a query. Raises SqlError for several from a client that does not allow them."""
        stripped = text.rstrip().rstrip(";")
        if ";" not in stripped:
            return [stripped]
        statements = [statement.text for statement in split_script(text, self.handler.client.session.sql_mode)]
        if len(statements) > 1 and Capabilities.CLIENT_MULTI_STATEMENTS not in self.capabilities:
            raise NO_MULTI_STATEMENTS
        return statements or [""]

    async def handle_stmt_prepare(self, data: bytes) -> None:
        text = query_text(data).rstrip().rstrip(";")
        try:
            statement, count = parse_prepared(text, self._sql_mode)
            columns = await self.handler.columns_of_prepared(statement)
        except (SqlError, DdlError) as error:
            await self.stream.write(wire.error_packet(error))
            return
        prepared = ServerStatement(
            next(self.prepared_stmt_seq) + 1, text, count, sql_mode=self._sql_mode, columns=columns
        )
        self.prepared_stmts[prepared.stmt_id] = prepared
        head = b"\0" + uint_4(prepared.stmt_id) + uint_2(len(columns)) + uint_2(count) + b"\0" + uint_2(0)
        parts = [head]
        for definitions in ([PARAMETER] * count, columns):
            if definitions:
                parts += [wire.column_definition(column) for column in definitions]
                parts += [] if self.deprecate_eof() else [self._eof()]
        self.stream.write_many(parts)
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
        await self.stream.write(self._ok())

    async def handle_stmt_execute(self, data: bytes) -> None:
        reader = Reader(data)
        try:
            prepared = self._prepared(reader.number("<I"))
            wants_cursor = bool(reader.number("<B") & 1)
            reader.take(4)
            values: list[Node] = []
            if prepared.num_params:
                values, prepared.types = read_parameters(
                    reader, prepared.num_params, prepared.types, prepared.long_data, False
                )
            prepared.long_data.clear()
            statement = parse_sql(prepared.sql, prepared.sql_mode, parameters=values)
            outcome = await self.handler.run(statement, prepared.sql)
        except (SqlError, DdlError) as error:
            await self.stream.write(wire.error_packet(error))
            return
        if outcome.result is None:
            await self._answer(statement, outcome, ServerStatus(0))
            return
        columns = outcome.result.columns
        self.stream.write_many([uint_len(len(columns)), *map(wire.column_definition, columns)])
        rows = wire.binary_rows(outcome.result.rows, columns)
        if wants_cursor:
            prepared.rows = rows
            await self.stream.write(self._end(outcome, ServerStatus.SERVER_STATUS_CURSOR_EXISTS))
            return
        if not self.deprecate_eof():
            self.stream.write_many([self._eof()])
        for row in rows:
            await self.stream.write(row, drain=False)
        await self.stream.write(self._end(outcome))

    def _prepared(self, number: int) -> ServerStatement:
        statement = self.prepared_stmts.get(number)
        if not isinstance(statement, ServerStatement):
            text = f"Unknown prepared statement handler ({number}) given to stmt_execute"
            raise SqlError(1243, "HY000", text)
        return statement

    async def handle_stmt_fetch(self, data: bytes) -> None:
        reader = Reader(data)
        statement = self._prepared(reader.number("<I"))
        count = reader.number("<I")
        rows = list(islice(statement.rows, count))
        done = len(rows) < count
        flags = ServerStatus.SERVER_STATUS_LAST_ROW_SENT if done else ServerStatus.SERVER_STATUS_CURSOR_EXISTS
        self.stream.write_many([*rows, self._end(None, flags)])
        await self.stream.drain()

    async def handle_init_db(self, data: bytes) -> None:
        database = data.decode("utf-8", "surrogateescape")
        try:
            await self.handler.run(Use(database), f"USE {database}")
        except SqlError as error:
            await self.stream.write(wire.error_packet(error))
            return
        await self.stream.write(self._ok())

    async def handle_field_list(self, data: bytes) -> None:
        """Answer with the columns of a table, which old clients complete names with."""
        name = data.split(b"\0")[0].decode("utf-8", "surrogateescape")
        columns = self.handler.columns_of_table(name)
        if columns is None:
            await self.stream.write(wire.error_packet(sql_error(1146, self.handler.client.session.database, name)))
            return
        definitions = [wire.column_definition(column) + uint_1(0xFB) for column in columns]
        self.stream.write_many([*definitions, self._end(None)])
        await self.stream.drain()

    async def handle_reset_connection(self, data: bytes) -> None:
        self.prepared_stmts.clear()
        await self.handler.reset()
        await self.stream.write(self._ok())

    # -- answers -----------------------------------------------------------------------------------------------------

    async def _answer(self, statement: SqlStatement | None, outcome: StatementOutcome, more: ServerStatus) -> None:
        """Answer a statement of the text protocol."""
        result = outcome.result
        if result is None:
            await self.stream.write(self._ok_of(statement, outcome, more))
            return
        columns = result.columns
        self.stream.write_many([uint_len(len(columns)), *map(wire.column_definition, columns)])
        if not self.deprecate_eof():
            self.stream.write_many([self._eof()])
        encoded = wire.text_columns(columns)
        for start in range(0, result.rows.num_rows, MANY_ROWS):
            self.stream.write_text_rows(wire.text_rows(result.rows.slice(start, MANY_ROWS)), encoded)
            await self.stream.drain()
        await self.stream.write(self._end(outcome, more))

    def _ok_of(self, statement: SqlStatement | None, outcome: StatementOutcome, more: ServerStatus) -> bytes:
        found_rows = Capabilities.CLIENT_FOUND_ROWS in self.capabilities
        affected, info = outcome.affected, ""
        if isinstance(statement, Update):
            info = f"Rows matched: {outcome.matched}  Changed: {outcome.affected}  Warnings: {len(outcome.warnings)}"
            affected = outcome.matched if found_rows else outcome.affected
        elif isinstance(statement, Insert) and (statement.rows is None or len(statement.rows) > 1):
            info = f"Records: {outcome.matched}  Duplicates: {outcome.matched - outcome.affected}  Warnings: {len(outcome.warnings)}"
        return self._ok(affected, outcome.insert_id, len(outcome.warnings), info, more)

    @property
    def _sql_mode(self) -> frozenset[str]:
        return self.handler.client.session.sql_mode - DEFAULT_MODES

    @property
    def _status(self) -> ServerStatus:
        client = self.handler.client
        status = ServerStatus(0)
        if client.session.autocommit:
            status |= ServerStatus.SERVER_STATUS_AUTOCOMMIT
        if client.transaction is not None:
            status |= ServerStatus.SERVER_STATUS_IN_TRANS
        if "NO_BACKSLASH_ESCAPES" in client.session.sql_mode:
            status |= ServerStatus.SERVER_STATUS_NO_BACKSLASH_ESCAPES
        return status

    def _ok(
        self,
        affected: int = 0,
        insert_id: int = 0,
        warnings: int = 0,
        info: str = "",
        flags: ServerStatus = ServerStatus(0),
    ) -> bytes:
        return wire.ok_packet(self.capabilities, self._status | flags, affected, insert_id, warnings, info)

    def _eof(self, warnings: int = 0, flags: ServerStatus = ServerStatus(0)) -> bytes:
        return packets.make_eof(self.capabilities, self._status | flags, warnings)

    def _end(self, outcome: StatementOutcome | None, flags: ServerStatus = ServerStatus(0)) -> bytes:
        """Return the packet after the last row."""
        warnings = 0 if outcome is None else len(outcome.warnings)
        if self.deprecate_eof():
            return wire.ok_packet(self.capabilities, self._status | flags, warnings=warnings, is_end=True)
        return self._eof(warnings, flags)

    def error(self, **kwargs: object) -> bytes:
        """Return the packet of an unexpected error."""
        error = kwargs.get("msg", "")
        if isinstance(error, SqlError | DdlError):
            return wire.error_packet(error)
        text = str(error) if isinstance(error, SimulatorError) else f"a defect of the simulator: {error!r}"
        return wire.error_packet(SqlError(int(kwargs.get("code", 1105)), "HY000", text))  # type: ignore[call-overload]


PARAMETER = ResultColumn("?", ColumnType("varchar"))

MORE = ServerStatus.SERVER_MORE_RESULTS_EXISTS
