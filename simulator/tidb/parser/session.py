"""Reads the statements about the session: transactions, USE, SET, a query of its own; and knows those that do nothing.

One law: a statement that no row and no changefeed feels is Nothing, its words not read; one that would change rows in
a way that is not played is refused by its name.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from simulator.errors import SchemaError, SqlError
from simulator.tidb import syntax
from simulator.tidb.model.charsets import COLLATIONS, charset, charset_of, collation
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.dml import read_delete, read_update
from simulator.tidb.parser.queries.query import read_common, read_query

SCOPES = ("GLOBAL", "SESSION", "LOCAL", "INSTANCE")
SET_NOTHING = ("PASSWORD", "ROLE", "DEFAULT", "RESOURCE", "CONFIG", "BINDING", "SESSION_STATES")


def not_simulated(what: str, accepted: str) -> SqlError:
    """For a statement that TiDB plays and nobody here does."""
    return SqlError(1235, "42000", f"{what} is not simulated. Accepted: {accepted}")


# -- transactions -------------------------------------------------------------------------------------------------


def read_begin(cursor: Cursor) -> syntax.Begin:
    """What follows BEGIN."""
    cursor.accept("PESSIMISTIC") or cursor.accept("OPTIMISTIC") or cursor.accept("WORK")
    return syntax.Begin()


def read_start(cursor: Cursor) -> syntax.Begin:
    """What follows START TRANSACTION."""
    if cursor.accept("READ ONLY"):
        raise not_simulated("START TRANSACTION READ ONLY", "START TRANSACTION [READ WRITE]")
    if cursor.accept("WITH"):
        if not cursor.accept("CONSISTENT SNAPSHOT"):
            cursor.expect("CAUSAL CONSISTENCY ONLY")
    else:
        cursor.accept("READ WRITE") or cursor.accept("PESSIMISTIC") or cursor.accept("OPTIMISTIC")
    return syntax.Begin()


def read_commit(cursor: Cursor) -> syntax.Commit:
    """What follows COMMIT."""
    cursor.accept("WORK")
    return syntax.Commit(_chain(cursor))


def read_rollback(cursor: Cursor) -> syntax.Rollback:
    """What follows ROLLBACK."""
    cursor.accept("WORK")
    if cursor.accept("TO"):
        cursor.accept("SAVEPOINT")
        return syntax.Rollback(cursor.name("a savepoint"))
    return syntax.Rollback(chain=_chain(cursor))


def _chain(cursor: Cursor) -> bool:
    """`[AND [NO] CHAIN] [[NO] RELEASE]`: whether another transaction begins at once."""
    chain = cursor.accept("AND CHAIN")
    if not chain:
        cursor.accept("AND NO CHAIN")
    if cursor.accept("RELEASE"):
        raise not_simulated("RELEASE behind COMMIT or ROLLBACK, which ends the session,", "[AND [NO] CHAIN]")
    cursor.accept("NO RELEASE")
    return chain


def read_savepoint(cursor: Cursor) -> syntax.Savepoint:
    """What follows SAVEPOINT."""
    return syntax.Savepoint(cursor.name("a savepoint"))


def read_release(cursor: Cursor) -> syntax.ReleaseSavepoint:
    """What follows RELEASE SAVEPOINT."""
    return syntax.ReleaseSavepoint(cursor.name("a savepoint"))


# -- USE and SET --------------------------------------------------------------------------------------------------


def read_use(cursor: Cursor) -> syntax.Use:
    """What follows USE."""
    return syntax.Use(cursor.name("the name of a database"))


def read_set(cursor: Cursor) -> syntax.SetVariables | syntax.IgnoredStatement:
    """What follows SET."""
    word = cursor.word()
    places = 1 if word in ("GLOBAL", "SESSION") else 0
    if cursor.word_ahead(places) == "TRANSACTION" and cursor.word_ahead(places + 1) in ("ISOLATION", "READ"):
        return _transaction(cursor)
    if word in SET_NOTHING and cursor.word_after() not in ("=", ":="):
        return read_nothing(cursor, f"SET {word}")
    settings = list(_settings(cursor))
    while cursor.accept(","):
        settings += _settings(cursor)
    return syntax.SetVariables(tuple(settings))


def _transaction(cursor: Cursor) -> syntax.IgnoredStatement:
    while not cursor.at_end():
        if cursor.accept("READ ONLY"):
            raise not_simulated("SET TRANSACTION READ ONLY", "READ WRITE, ISOLATION LEVEL …")
        cursor.literal()
    return syntax.IgnoredStatement("SET TRANSACTION")


def _settings(cursor: Cursor) -> tuple[syntax.VariableAssignment, ...]:
    """One variable and its value; NAMES gives two where it has a COLLATE."""
    if cursor.word() == "@":
        name = _user_variable(cursor)
        _equals(cursor)
        return (syntax.VariableAssignment(name, cursor.rules.node(cursor), "user"),)
    if cursor.word() in ("NAMES", "CHARSET") and cursor.word_after() not in ("=", ":=", "."):
        return _names(cursor, cursor.take().lower())
    if cursor.accept("CHARACTER SET") or cursor.accept("CHAR SET"):
        return _names(cursor, "charset")
    return (_variable(cursor),)


def _variable(cursor: Cursor) -> syntax.VariableAssignment:
    system = cursor.accept("@@")
    scope = ""
    behind = cursor.word_after()
    if cursor.word() in SCOPES and (behind == "." if system else behind not in ("=", ":=")):
        scope = cursor.take().lower()
        if system:
            cursor.expect(".")
    name = _dotted(cursor).lower()
    _equals(cursor)
    if cursor.word() == "DEFAULT" and cursor.word_after() != "(":
        cursor.take()
        return syntax.VariableAssignment(name, None, _scope(scope))
    value = _bare_word(cursor)
    return syntax.VariableAssignment(name, value, _scope(scope))


def _scope(scope: str) -> str:
    return {"local": "session", "instance": "global"}.get(scope, scope)


def _dotted(cursor: Cursor) -> str:
    name = cursor.name("a variable")
    while cursor.accept("."):
        name += f".{cursor.name('a variable')}"
    return name


def _equals(cursor: Cursor) -> None:
    if not cursor.accept("=") and not cursor.accept(":="):
        cursor.unexpected("'='")


def _bare_word(cursor: Cursor) -> syntax.Node:
    """An expression; a word alone is a string."""
    if cursor.word() in ("ON", "BINARY", "ALL") and cursor.word_after() in ("", ",") and cursor.kind() == "word":
        return syntax.Literal("string", cursor.literal(), cursor.charset)
    node = cursor.rules.node(cursor)
    alone = isinstance(node, syntax.ColumnName) and len(node.parts) == 1
    return (
        syntax.Literal("string", node.parts[0], cursor.charset)
        if alone and isinstance(node, syntax.ColumnName)
        else node
    )


def _names(cursor: Cursor, kind: str) -> tuple[syntax.VariableAssignment, ...]:
    """What follows SET NAMES and SET CHARSET."""
    if cursor.accept("DEFAULT"):
        return (syntax.VariableAssignment(kind, None, "session"),)
    name = cursor.name_or_string("a character set")
    try:
        value = syntax.Literal("string", charset(name, ""), cursor.charset)
    except SchemaError:
        raise SqlError(1115, "42000", f"Unknown character set: '{name}'") from None
    names = syntax.VariableAssignment(kind, value, "session")
    if kind == "charset" or not cursor.accept("COLLATE"):
        return (names,)
    named = cursor.name_or_string("a collation").lower()
    if collation(named) not in COLLATIONS:
        raise SqlError(1273, "HY000", f"Unknown collation: '{named}'")
    if charset_of(named, "") != value.text:
        raise SqlError(1253, "42000", f"COLLATION '{named}' is not valid for CHARACTER SET '{value.text}'")
    return names, syntax.VariableAssignment(
        "collation_connection", syntax.Literal("string", collation(named), cursor.charset), "session"
    )


# -- prepared statements ------------------------------------------------------------------------------------------


def read_prepare(cursor: Cursor) -> syntax.Prepare:
    """What follows PREPARE."""
    name = cursor.name("the name of a prepared statement")
    cursor.expect("FROM")
    if cursor.word() == "@":
        return syntax.Prepare(name, _user_variable(cursor), True)
    return syntax.Prepare(name, cursor.string())


def read_execute(cursor: Cursor) -> syntax.Execute:
    """What follows EXECUTE."""
    name = cursor.name("the name of a prepared statement")
    return syntax.Execute(name, cursor.listed(_user_variable) if cursor.accept("USING") else ())


def read_deallocate(cursor: Cursor) -> syntax.Deallocate:
    """What follows DEALLOCATE PREPARE or DROP PREPARE."""
    return syntax.Deallocate(cursor.name("the name of a prepared statement"))


def _user_variable(cursor: Cursor) -> str:
    return cursor.user_variable().lower()


# -- queries, and what begins with WITH ---------------------------------------------------------------------------


def read_select_statement(cursor: Cursor) -> syntax.SelectStatement:
    """A whole query."""
    tree = read_query(cursor).tree
    assert tree is not None
    return syntax.SelectStatement(tree)


def read_with(cursor: Cursor) -> syntax.SelectStatement | syntax.Update | syntax.Delete:
    """A whole statement that begins with WITH."""
    common = read_common(cursor)
    if cursor.accept("UPDATE"):
        return read_update(cursor, common)
    if cursor.accept("DELETE"):
        return read_delete(cursor, common)
    tree = read_query(cursor).tree
    assert tree is not None
    return syntax.SelectStatement(syntax.WithTree(common.tables, common.recursive, tree))


# -- what does nothing, and what is not played --------------------------------------------------------------------


def read_nothing(cursor: Cursor, what: str) -> syntax.IgnoredStatement:
    """Passes over the rest."""
    while not cursor.at_end():
        cursor.literal()
    return syntax.IgnoredStatement(what)


def read_explained(cursor: Cursor, what: str) -> syntax.IgnoredStatement:
    """What follows EXPLAIN, DESC or TRACE, which play a statement only with ANALYZE."""
    plays = what == "TRACE" or cursor.word() == "ANALYZE"
    while not cursor.at_end():
        if plays and cursor.word() in ("INSERT", "REPLACE", "UPDATE", "DELETE") and cursor.word_after() != "(":
            raise not_simulated(f"{what} of a statement that changes rows", f"{what} of a query")
        cursor.literal()
    return syntax.IgnoredStatement(what)


def read_do(cursor: Cursor) -> syntax.IgnoredStatement:
    """What follows DO, which shows nothing; an assignment in it would be felt."""
    while not cursor.at_end():
        if cursor.word() == ":=":
            raise not_simulated("DO with an assignment", "SET @a = …")
        cursor.literal()
    return syntax.IgnoredStatement("DO")


def refuse(cursor: Cursor, what: str) -> syntax.SessionStatement:
    raise not_simulated(what, PLAYED)


PLAYED = (
    "DDL, INSERT, REPLACE, UPDATE, DELETE, SELECT, BEGIN, START TRANSACTION, COMMIT, ROLLBACK, SAVEPOINT, USE, SET,"
    " PREPARE and EXECUTE"
)

NOTHING = (
    "ADMIN",
    "ALTER INSTANCE",
    "ALTER RANGE",
    "ALTER USER",
    "ANALYZE",
    "BACKUP",
    "CALIBRATE",
    "CREATE BINDING",
    "CREATE GLOBAL BINDING",
    "CREATE ROLE",
    "CREATE SESSION BINDING",
    "CREATE STATISTICS",
    "CREATE USER",
    "DROP BINDING",
    "DROP GLOBAL BINDING",
    "DROP ROLE",
    "DROP SESSION BINDING",
    "DROP STATISTICS",
    "DROP STATS",
    "DROP USER",
    "FLUSH",
    "GRANT",
    "HELP",
    "KILL",
    "LOAD STATS",
    "LOCK STATS",
    "OPTIMIZE",
    "PLAN",
    "QUERY",
    "RECOMMEND",
    "REFRESH",
    "RENAME USER",
    "REVOKE",
    "SET BINDING",
    "SHOW",
    "SPLIT",
    "DISTRIBUTE",
    "UNLOCK STATS",
)
"""What no row and no changefeed feels."""

REFUSED = (
    "ALTER IMPORT",
    "BATCH",
    "BINLOG",
    "CALL",
    "CANCEL",
    "CHANGE",
    "CREATE EVENT",
    "CREATE FUNCTION",
    "CREATE IMPORT",
    "CREATE PROCEDURE",
    "CREATE TRIGGER",
    "DROP EVENT",
    "DROP FUNCTION",
    "DROP IMPORT",
    "DROP PROCEDURE",
    "DROP TRIGGER",
    "HANDLER",
    "IMPORT INTO",
    "IMPORT",
    "LOAD DATA",
    "LOAD",
    "PAUSE",
    "PURGE",
    "RESTART",
    "RESTORE",
    "RESUME",
    "SHUTDOWN",
    "STOP",
    "TRAFFIC",
    "XA",
)
"""What would do more than is played."""

UNPLAYED = frozenset((*NOTHING, *REFUSED))

Reader = Callable[[Cursor], syntax.SessionStatement | syntax.Update | syntax.Delete]

BEHIND: dict[str, Reader] = {
    "BEGIN": read_begin,
    "START TRANSACTION": read_start,
    "COMMIT": read_commit,
    "ROLLBACK": read_rollback,
    "SAVEPOINT": read_savepoint,
    "RELEASE SAVEPOINT": read_release,
    "USE": read_use,
    "SET": read_set,
    "PREPARE": read_prepare,
    "EXECUTE": read_execute,
    **dict.fromkeys(("DEALLOCATE PREPARE", "DROP PREPARE"), read_deallocate),
    "DO": read_do,
    **{word: partial(read_explained, what=word) for word in ("EXPLAIN", "DESC", "DESCRIBE", "TRACE")},
    **{phrase: partial(read_nothing, what=phrase) for phrase in NOTHING},
    **{phrase: partial(refuse, what=phrase) for phrase in REFUSED},
}
"""Readers that begin behind the phrase."""

WHOLE: dict[str, Reader] = {
    **{word: read_select_statement for word in ("SELECT", "TABLE", "VALUES", "(")},
    "WITH": read_with,
}
"""Readers that begin with the phrase itself."""
