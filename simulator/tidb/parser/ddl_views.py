"""Reads CREATE VIEW and DROP VIEW.

One law: what the statement does not say is what TiDB takes for it (TiDB: pkg/parser/parser.y, CreateViewStmt).
"""

from __future__ import annotations

from simulator.tidb.parser.cursor import TiDBParser
from simulator.tidb.parser.ddl_names import comma_list, restrict_or_cascade, table_name
from simulator.tidb.parser.queries import read_query
from simulator.tidb.restore.restoring import quoted
from simulator.tidb.syntax.objects import CreateView, DropView

ALGORITHMS = ("UNDEFINED", "MERGE", "TEMPTABLE")
SECURITIES = ("DEFINER", "INVOKER")
CHECKS = ("CASCADED", "LOCAL")


def create_view(parser: TiDBParser) -> CreateView:
    """A whole CREATE VIEW statement."""
    parser.expect("CREATE")
    or_replace = parser.accept("OR REPLACE")
    algorithm = setting(parser, "ALGORITHM", ALGORITHMS, "=")
    by = definer(parser)
    security = setting(parser, "SQL SECURITY", SECURITIES)
    parser.expect("VIEW")
    view = table_name(parser, "the name of a view")
    columns = parser.comma_separated(lambda cursor: cursor.free_name("a column")) if parser.word() == "(" else ()
    parser.expect("AS")
    query = read_query(parser)
    check = setting(parser, "WITH", CHECKS)
    if not parser.at_end():
        parser.expect("CHECK OPTION")
    return CreateView(view, query, columns, or_replace, algorithm, by, security, check)


def setting(parser: TiDBParser, phrase: str, accepted: tuple[str, ...], sign: str = "") -> str:
    """One of the accepted words behind the phrase and the sign; the first of them where the phrase does not come."""
    if not parser.accept(phrase):
        return accepted[0]
    if sign:
        parser.expect(sign)
    if parser.word() not in accepted:
        parser.unexpected(", ".join(accepted), accepted)
    return parser.take()


def definer(parser: TiDBParser) -> str:
    """A user as TiDB writes it back: CURRENT_USER, or name and host between back-quotes, the host `%` if not said."""
    if not parser.accept("DEFINER"):
        return "CURRENT_USER"
    parser.expect("=")
    if parser.accept("CURRENT_USER"):
        parser.accept("( )")
        return "CURRENT_USER"
    name = parser.name_or_string("a user")
    host = host_name(parser).lower() if parser.accept("@") else "%"
    return f"{quoted(name)}@{quoted(host)}"


def host_name(parser: TiDBParser) -> str:
    """A host behind `@`: quoted, or all that follows without a blank."""
    if parser.kind() in ("string", "name"):
        return parser.literal()
    start = last = parser.next_token()
    while not parser.at_end() and parser.next_token().start <= last.end + 1:
        last = parser.next_token()
        parser.take()
    if last is start and not parser.text_since(start):
        parser.unexpected("a host")
    return parser.text_since(start)


def drop_view(parser: TiDBParser) -> DropView:
    """What follows DROP VIEW."""
    if_exists = parser.accept("IF EXISTS")
    views = comma_list(parser, lambda cursor: table_name(cursor, "the name of a view"))
    restrict_or_cascade(parser)
    return DropView(views, if_exists)
