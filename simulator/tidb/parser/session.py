"""Parse the statements about the session: transactions, USE, SET, prepared statements, queries, SHOW.

A statement that affects neither rows nor the changefeed becomes an IgnoredStatement, whatever its words. A statement
that would change rows in a way that is not simulated is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import chain

from msgspec.structs import replace

from simulator.errors import SchemaError
from simulator.tidb import syntax
from simulator.tidb.errors import sql_error
from simulator.tidb.model.types import COLLATIONS, canonical_charset, canonical_collation, charset_of
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.expressions import not_simulated_error
from simulator.tidb.syntax.statements import Show

SCOPES = ("GLOBAL", "SESSION", "LOCAL", "INSTANCE")
IGNORED_SET = ("PASSWORD", "ROLE", "DEFAULT", "RESOURCE", "CONFIG", "BINDING", "SESSION_STATES")


# -- transactions -------------------------------------------------------------------------------------------------


def parse_begin(cursor: Cursor) -> syntax.Begin:
    mode = _parse_mode(cursor)
    if not mode:
        cursor.accept("WORK")
    return syntax.Begin(mode)


def parse_start_transaction(cursor: Cursor) -> syntax.Begin:
    if cursor.accept("READ ONLY"):
        moment = cursor.grammar.expression(cursor) if cursor.accept("AS OF TIMESTAMP") else None
        return syntax.Begin(read_only=True, as_of=moment)
    if cursor.accept("WITH"):
        if not cursor.accept("CONSISTENT SNAPSHOT"):
            cursor.expect("CAUSAL CONSISTENCY ONLY")
    elif not cursor.accept("READ WRITE"):
        return syntax.Begin(_parse_mode(cursor))
    return syntax.Begin()


def _parse_mode(cursor: Cursor) -> str:
    return next((mode for mode in ("PESSIMISTIC", "OPTIMISTIC") if cursor.accept(mode)), "")


def parse_commit(cursor: Cursor) -> syntax.Commit:
    cursor.accept("WORK")
    return syntax.Commit(_parse_chain(cursor))


def parse_rollback(cursor: Cursor) -> syntax.Rollback:
    cursor.accept("WORK")
    if cursor.accept("TO"):
        cursor.accept("SAVEPOINT")
        return syntax.Rollback(cursor.name("a savepoint"))
    return syntax.Rollback(chain=_parse_chain(cursor))


def _parse_chain(cursor: Cursor) -> bool:
    """Parse `[AND [NO] CHAIN] [[NO] RELEASE]`, and return whether another transaction begins at once."""
    chained = cursor.accept("AND CHAIN")
    if not chained:
        cursor.accept("AND NO CHAIN")
    if not cursor.accept("RELEASE"):  # TiDB has no use for it
        cursor.accept("NO RELEASE")
    return chained


# -- SET ----------------------------------------------------------------------------------------------------------


def parse_set(cursor: Cursor) -> syntax.SetVariables | syntax.IgnoredStatement:
    word = cursor.word()
    places = 1 if word in ("GLOBAL", "SESSION") else 0
    if cursor.word_ahead(places) == "TRANSACTION" and cursor.word_ahead(places + 1) in ("ISOLATION", "READ"):
        return _parse_transaction(cursor)
    if word in IGNORED_SET and cursor.word_after() not in ("=", ":="):
        return _parse_default_role(cursor) if word == "DEFAULT" else parse_ignored(cursor, f"SET {word}")
    return syntax.SetVariables(tuple(chain.from_iterable(cursor.comma_list(_parse_assignments))))


def _parse_default_role(cursor: Cursor) -> syntax.IgnoredStatement:
    """Parse SET DEFAULT ROLE … TO …"""
    cursor.expect("DEFAULT ROLE")
    while cursor.word() != "TO":
        if cursor.at_end():
            cursor.unexpected("TO")
        cursor.literal()
    return parse_ignored(cursor, "SET DEFAULT")


def _parse_transaction(cursor: Cursor) -> syntax.SetVariables:
    """Parse SET [GLOBAL|SESSION] TRANSACTION. Without a scope it is about the next transaction alone."""
    scope = {"GLOBAL": "global", "SESSION": "session"}.get(cursor.word(), "")
    if scope:
        cursor.take()
    cursor.expect("TRANSACTION")
    isolation = "transaction_isolation" if scope else "tx_isolation_one_shot"
    return syntax.SetVariables(
        tuple(
            syntax.VariableAssignment(
                name or isolation, syntax.Literal("string", value, cursor.charset), scope or "session"
            )
            for name, value in cursor.comma_list(_parse_characteristic)
        )
    )


def _parse_characteristic(cursor: Cursor) -> tuple[str, str]:
    """Parse READ WRITE, READ ONLY or an isolation level; return the variable that it sets, empty for that of the level,
    and its value."""
    if cursor.accept("READ ONLY"):
        if cursor.word() == "AS":
            raise not_simulated_error(
                "SET TRANSACTION READ ONLY AS OF TIMESTAMP", "START TRANSACTION READ ONLY AS OF …"
            )
        return "tx_read_only", "1"
    if cursor.accept("READ WRITE"):
        return "tx_read_only", "0"
    cursor.expect("ISOLATION LEVEL")
    level = cursor.one_of("READ UNCOMMITTED", "READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE")
    return "", level.replace(" ", "-")


def _parse_assignments(cursor: Cursor) -> tuple[syntax.VariableAssignment, ...]:
    """Parse one variable and its value. NAMES with COLLATE gives two."""
    if cursor.word() == "@":
        name = _parse_user_variable(cursor)
        _expect_equals(cursor)
        return (syntax.VariableAssignment(name, cursor.grammar.expression(cursor), "user"),)
    if cursor.word() in ("NAMES", "CHARSET") and cursor.word_after() not in ("=", ":=", "."):
        return _parse_set_names(cursor, cursor.take().lower())
    if cursor.accept("CHARACTER SET") or cursor.accept("CHAR SET"):
        return _parse_set_names(cursor, "charset")
    return (_parse_system_variable(cursor),)


def _parse_system_variable(cursor: Cursor) -> syntax.VariableAssignment:
    system = cursor.accept("@@")
    scope = ""
    second = cursor.word_after()
    if cursor.word() in SCOPES and (second == "." if system else second not in ("=", ":=")):
        scope = cursor.take().lower()
        if system:
            cursor.expect(".")
    name = cursor.system_variable()
    _expect_equals(cursor)
    value = None
    if cursor.begins_default():
        cursor.take()
    else:
        value = _parse_variable_value(cursor)
    return syntax.VariableAssignment(name, value, {"local": "session", "instance": "global"}.get(scope, scope))


def _expect_equals(cursor: Cursor) -> None:
    if not cursor.accept("=") and not cursor.accept(":="):
        cursor.unexpected("'='")


def _parse_variable_value(cursor: Cursor) -> syntax.Node:
    """Parse an expression. A bare word is a string."""
    if cursor.word() in ("ON", "BINARY", "ALL") and cursor.word_after() in ("", ",") and cursor.kind() == "word":
        return syntax.Literal("string", cursor.literal(), cursor.charset)
    node = cursor.grammar.expression(cursor)
    if isinstance(node, syntax.ColumnName) and len(node.parts) == 1:
        return syntax.Literal("string", node.parts[0], cursor.charset)
    return node


def _parse_set_names(cursor: Cursor, kind: str) -> tuple[syntax.VariableAssignment, ...]:
    """Parse the rest of SET NAMES and SET CHARSET."""
    if cursor.accept("DEFAULT"):
        return (syntax.VariableAssignment(kind, None, "session"),)
    name = cursor.name_or_string("a character set")
    try:
        value = syntax.Literal("string", canonical_charset(name, ""), cursor.charset)
    except SchemaError:
        raise sql_error(1115, name) from None
    names = syntax.VariableAssignment(kind, value, "session")
    if kind == "charset" or not cursor.accept("COLLATE"):
        return (names,)
    named = cursor.name_or_string("a collation").lower()
    if canonical_collation(named) not in COLLATIONS:
        raise sql_error(1273, named)
    if charset_of(named, "") != value.text:
        raise sql_error(1253, named, value.text)
    collation = syntax.Literal("string", canonical_collation(named), cursor.charset)
    return names, syntax.VariableAssignment("collation_connection", collation, "session")


# -- prepared statements ------------------------------------------------------------------------------------------


def parse_prepare(cursor: Cursor) -> syntax.Prepare:
    name = cursor.name("the name of a prepared statement")
    cursor.expect("FROM")
    if cursor.word() == "@":
        return syntax.Prepare(name, _parse_user_variable(cursor), True)
    return syntax.Prepare(name, cursor.string())


def parse_execute(cursor: Cursor) -> syntax.Execute:
    name = cursor.name("the name of a prepared statement")
    return syntax.Execute(name, cursor.comma_list(_parse_user_variable) if cursor.accept("USING") else ())


def _parse_user_variable(cursor: Cursor) -> str:
    return cursor.user_variable().lower()


# -- ignored and refused statements -------------------------------------------------------------------------------


def parse_ignored(cursor: Cursor, what: str) -> syntax.IgnoredStatement:
    """Skip the rest of the statement."""
    while not cursor.at_end():
        cursor.literal()
    return syntax.IgnoredStatement(what)


EXPLAINED = ("FORMAT", "ANALYZE", "FOR", "TRACE", "EXPLORE")
"""Words behind EXPLAIN that no table's name is read from."""


def parse_explain(cursor: Cursor, what: str) -> syntax.SessionStatement:
    """Parse the rest of DESC of a table. Skip that of EXPLAIN or TRACE; raises SqlError if it would execute a statement
    that changes rows."""
    if what != "TRACE" and cursor.is_free_name() and cursor.word() not in EXPLAINED:
        table = cursor.qualified_name("a table")
        return Show("COLUMNS", table=table, like=None if cursor.at_end() else cursor.name("a column"))
    executes = what == "TRACE" or cursor.word() == "ANALYZE"
    while not cursor.at_end():
        if executes and cursor.word() in ("INSERT", "REPLACE", "UPDATE", "DELETE") and cursor.word_after() != "(":
            raise not_simulated_error(f"{what} of a statement that changes rows", f"{what} of a query")
        cursor.literal()
    return syntax.IgnoredStatement(what)


def parse_help(cursor: Cursor) -> syntax.SessionStatement:
    raise sql_error(8108, "*ast.HelpStmt")


def refuse(cursor: Cursor, what: str) -> syntax.SessionStatement:
    raise not_simulated_error(what, SIMULATED)


# -- SHOW, DESCRIBE and ADMIN SHOW (ShowStmt, ExplainStmt, AdminStmt) -----------------------------------------------------


PLAIN_KINDS = {
    **dict.fromkeys(("CHARSET", "CHARACTER SET", "CHAR SET"), "CHARSET"),
    **dict.fromkeys(("DATABASES", "SCHEMAS"), "DATABASES"),
    **{kind: kind for kind in ("COLLATION", "ENGINES", "PLUGINS", "PROFILES", "VARIABLES", "STATUS")},
    **{kind: kind for kind in ("FUNCTION STATUS", "PROCEDURE STATUS")},
}
"""Kinds without an object, by their words; LIKE or WHERE may follow."""

UNFILTERED_KINDS = {
    **{kind: kind for kind in ("WARNINGS", "ERRORS", "MASTER STATUS")},
    "BINARY LOG STATUS": "MASTER STATUS",
}
OF_A_DATABASE = ("TABLE STATUS", "OPEN TABLES", "TABLES", "TRIGGERS", "EVENTS")
OBJECTS = ("TABLE", "VIEW", "SEQUENCE")


def parse_show(cursor: Cursor) -> syntax.SessionStatement:
    if cursor.accept("CREATE"):
        return _parse_create(cursor)
    if cursor.accept("COUNT ( * )"):
        return Show(cursor.one_of("WARNINGS", "ERRORS"), counts=True)
    for words, kind in UNFILTERED_KINDS.items():
        if cursor.accept(words):
            return Show(kind)
    for what in ("PRIVILEGES", "BUILTINS"):
        if cursor.accept(what):
            return syntax.IgnoredStatement(f"SHOW {what}")
    if cursor.word() == "BINARY":
        cursor.unexpected("LOG STATUS")
    if cursor.accept("GRANTS"):
        return _parse_user(cursor) if cursor.accept("FOR") else Show("GRANTS")
    is_global = cursor.accept("GLOBAL")
    if is_global or cursor.accept("SESSION") or cursor.accept("LOCAL"):
        if cursor.word() not in ("VARIABLES", "STATUS"):
            return parse_ignored(cursor, "SHOW")
    for words, kind in PLAIN_KINDS.items():
        if cursor.accept(words):
            return _with_filter(cursor, Show(kind, is_global=is_global))
    extended = cursor.accept("EXTENDED")
    full = cursor.accept("FULL")
    if not extended and cursor.accept("PROCESSLIST"):
        return Show("PROCESSLIST", full=full)
    if cursor.accept("COLUMNS") or cursor.accept("FIELDS"):
        return _with_filter(cursor, Show("COLUMNS", full=full, table=_parse_table(cursor)))
    if cursor.accept("INDEX") or cursor.accept("INDEXES") or cursor.accept("KEYS"):
        return _with_filter(cursor, Show("INDEX", table=_parse_table(cursor)))
    for kind in OF_A_DATABASE:
        if cursor.accept(kind):
            return _with_filter(cursor, Show(kind, full=full, database=_parse_database(cursor)))
    if cursor.accept("TABLE"):
        return _parse_of_table(cursor)
    return parse_ignored(cursor, "SHOW")


def _parse_of_table(cursor: Cursor) -> syntax.SessionStatement:
    """Parse the rest of SHOW TABLE … NEXT_ROW_ID and of SHOW TABLE … REGIONS, which has no LIKE."""
    table = cursor.qualified_name()
    if cursor.accept("NEXT_ROW_ID"):
        return Show("NEXT_ROW_ID", table=table)
    while not cursor.at_end():
        if cursor.accept("REGIONS") and cursor.word() not in ("", "WHERE"):
            cursor.unexpected("WHERE")
        if not cursor.at_end():
            cursor.literal()
    return syntax.IgnoredStatement("SHOW TABLE REGIONS")


def parse_admin_show(cursor: Cursor) -> syntax.SessionStatement:
    if not cursor.accept("JOBS"):
        return parse_ignored(cursor, "SHOW")
    limit = cursor.integer() if cursor.kind() == "number" else None
    return _with_filter(cursor, Show("DDL JOBS", limit=limit))


def _parse_create(cursor: Cursor) -> syntax.SessionStatement:
    for word in OBJECTS:
        if cursor.accept(word):
            return Show(f"CREATE {word}", table=cursor.qualified_name())
    if cursor.accept("USER"):
        return replace(_parse_user(cursor), kind="CREATE USER")
    if cursor.accept("DATABASE") or cursor.accept("SCHEMA"):
        if_not_exists = cursor.accept("IF NOT EXISTS")
        return Show("CREATE DATABASE", database=cursor.name("a database"), if_not_exists=if_not_exists)
    return parse_ignored(cursor, "SHOW")


def _parse_user(cursor: Cursor) -> Show:
    """Parse the rest of SHOW GRANTS FOR and SHOW CREATE USER."""
    start = cursor.next_token()
    while not cursor.at_end() and cursor.word() != "USING":
        cursor.literal()
    user = cursor.text_since(start)
    parse_ignored(cursor, "SHOW")
    return Show("GRANTS", user="" if user.upper().startswith("CURRENT_USER") else user)


def _parse_table(cursor: Cursor) -> syntax.TableName:
    """Parse `FROM table [FROM database]`."""
    cursor.one_of("FROM", "IN")
    table = cursor.qualified_name()
    database = _parse_database(cursor)
    return syntax.TableName(database, table.name) if database else table


def _parse_database(cursor: Cursor) -> str:
    return cursor.name("a database") if cursor.accept("FROM") or cursor.accept("IN") else ""


def _with_filter(cursor: Cursor, show: Show) -> Show:
    if cursor.accept("LIKE"):
        pattern = cursor.grammar.simple_expression(cursor)
        if not isinstance(pattern, syntax.Literal):
            cursor.unexpected("a pattern in quotes")
        return replace(show, like=pattern.text)
    return replace(show, where=cursor.grammar.expression(cursor)) if cursor.accept("WHERE") else show


# -- all statements ---------------------------------------------------------------------------------------------


SIMULATED = (
    "DDL, INSERT, REPLACE, UPDATE, DELETE, SELECT, BEGIN, START TRANSACTION, COMMIT, ROLLBACK, SAVEPOINT, USE, SET,"
    " PREPARE and EXECUTE"
)

IGNORED = (
    "ADMIN|ALTER INSTANCE|ALTER RANGE|ALTER USER|ANALYZE|BACKUP|CALIBRATE|CREATE BINDING|"
    "CREATE GLOBAL BINDING|CREATE ROLE|CREATE SESSION BINDING|CREATE STATISTICS|CREATE USER|DROP BINDING|"
    "DROP GLOBAL BINDING|DROP ROLE|DROP SESSION BINDING|DROP STATISTICS|DROP STATS|DROP USER|FLUSH|GRANT|"
    "KILL|LOAD STATS|LOCK STATS|OPTIMIZE|PLAN|QUERY|RECOMMEND|REFRESH|RENAME USER|REVOKE|SET BINDING|"
    "SPLIT|DISTRIBUTE|UNLOCK STATS"
).split("|")
"""Statements that affect neither rows nor the changefeed."""

MYSQL_ONLY = ("CREATE EVENT|CREATE FUNCTION|CREATE TRIGGER|DROP EVENT|DROP FUNCTION|DROP TRIGGER|HANDLER|XA").split("|")
REFUSED = (
    *"ALTER IMPORT|BATCH|BINLOG|CALL|CANCEL|CHANGE|CREATE IMPORT|CREATE PROCEDURE|DROP IMPORT|DROP PROCEDURE|"
    "IMPORT INTO|IMPORT|LOAD|PAUSE|PURGE|RESTART|RESTORE|RESUME|SHUTDOWN|STOP|TRAFFIC".split("|"),
    *MYSQL_ONLY,
)
"""Statements with effects that are not simulated."""

NOT_EXECUTED = frozenset((*IGNORED, *REFUSED))

PARSERS: dict[str, Callable[[Cursor], syntax.SessionStatement]] = {
    "BEGIN": parse_begin,
    "START TRANSACTION": parse_start_transaction,
    "COMMIT": parse_commit,
    "ROLLBACK": parse_rollback,
    "SAVEPOINT": lambda cursor: syntax.Savepoint(cursor.name("a savepoint")),
    "RELEASE SAVEPOINT": lambda cursor: syntax.ReleaseSavepoint(cursor.name("a savepoint")),
    "USE": lambda cursor: syntax.Use(cursor.name("the name of a database")),
    "SET": parse_set,
    "PREPARE": parse_prepare,
    "EXECUTE": parse_execute,
    **dict.fromkeys(
        ("DEALLOCATE PREPARE", "DROP PREPARE"),
        lambda cursor: syntax.Deallocate(cursor.name("the name of a prepared statement")),
    ),
    "DO": lambda cursor: syntax.Do(cursor.comma_list(cursor.grammar.expression)),
    "HELP": parse_help,
    "SHOW": parse_show,
    "ADMIN SHOW DDL": parse_admin_show,
    **{word: partial(parse_explain, what=word) for word in ("EXPLAIN", "DESC", "DESCRIBE", "TRACE")},
    **{phrase: partial(parse_ignored, what=phrase) for phrase in IGNORED},
    **{phrase: partial(refuse, what=phrase) for phrase in REFUSED},
}
"""Parsers that begin after the phrase."""
