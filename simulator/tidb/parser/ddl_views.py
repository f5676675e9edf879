"""Reads CREATE VIEW and DROP VIEW.

One law: what the statement does not say is what TiDB takes for it (TiDB: pkg/parser/parser.y, CreateViewStmt).
"""

from __future__ import annotations

from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.ddl_names import comma_list, restrict_or_cascade, table_name
from simulator.tidb.parser.queries.query import read_query
from simulator.tidb.restore.names import quoted
from simulator.tidb.syntax.objects import CreateView, DropView

ALGORITHMS = ("UNDEFINED", "MERGE", "TEMPTABLE")
SECURITIES = ("DEFINER", "INVOKER")
CHECKS = ("CASCADED", "LOCAL")


def create_view(cursor: Cursor) -> CreateView:
    """A whole CREATE VIEW statement."""
    cursor.expect("CREATE")
    or_replace = cursor.accept("OR REPLACE")
    algorithm = setting(cursor, "ALGORITHM", ALGORITHMS, "=")
    by = definer(cursor)
    security = setting(cursor, "SQL SECURITY", SECURITIES)
    cursor.expect("VIEW")
    view = table_name(cursor, "the name of a view")
    columns = cursor.comma_separated(lambda cursor: cursor.name("a column")) if cursor.word() == "(" else ()
    cursor.expect("AS")
    query = read_query(cursor)
    check = setting(cursor, "WITH", CHECKS)
    if not cursor.at_end():
        cursor.expect("CHECK OPTION")
    return CreateView(view, query, columns, or_replace, algorithm, by, security, check)


def setting(cursor: Cursor, phrase: str, accepted: tuple[str, ...], sign: str = "") -> str:
    """One of the accepted words behind the phrase and the sign; the first of them where the phrase does not come."""
    if not cursor.accept(phrase):
        return accepted[0]
    if sign:
        cursor.expect(sign)
    if cursor.word() not in accepted:
        cursor.unexpected(", ".join(accepted), accepted)
    return cursor.take()


def definer(cursor: Cursor) -> str:
    """A user as TiDB writes it back: CURRENT_USER, or name and host between back-quotes, the host `%` if not said."""
    if not cursor.accept("DEFINER"):
        return "CURRENT_USER"
    cursor.expect("=")
    if cursor.accept("CURRENT_USER"):
        cursor.accept("( )")
        return "CURRENT_USER"
    name = cursor.name_or_string("a user")
    host = host_name(cursor).lower() if cursor.accept("@") else "%"
    return f"{quoted(name)}@{quoted(host)}"


def host_name(cursor: Cursor) -> str:
    """A host behind `@`: quoted, or all that follows without a blank."""
    if cursor.kind() in ("string", "name"):
        return cursor.literal()
    start = last = cursor.next_token()
    while not cursor.at_end() and cursor.next_token().start <= last.end + 1:
        last = cursor.next_token()
        cursor.take()
    if last is start and not cursor.text_since(start):
        cursor.unexpected("a host")
    return cursor.text_since(start)


def drop_view(cursor: Cursor) -> DropView:
    """What follows DROP VIEW."""
    if_exists = cursor.accept("IF EXISTS")
    views = comma_list(cursor, lambda cursor: table_name(cursor, "the name of a view"))
    restrict_or_cascade(cursor)
    return DropView(views, if_exists)
