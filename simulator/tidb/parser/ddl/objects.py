"""Parse the statements about views, sequences, placement policies and resource groups.

Missing parts get TiDB's defaults (TiDB: pkg/parser/parser.y). The options of sequences are kept as TiDB
writes them back (pkg/parser/ast/ddl.go).
"""

from __future__ import annotations

from simulator.tidb import syntax
from simulator.tidb.parser.clauses import parse_restrict_or_cascade
from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.ddl.options import begins_option, parse_option
from simulator.tidb.parser.query import parse_query
from simulator.tidb.restore.expressions import quote_name

# -- views --------------------------------------------------------------------------------------------------------


def parse_create_view(cursor: Cursor) -> syntax.CreateView:
    """Parse a whole CREATE VIEW statement."""
    cursor.expect("CREATE")
    or_replace = cursor.accept("OR REPLACE")
    algorithm = parse_view_setting(cursor, "ALGORITHM", "UNDEFINED", "MERGE", "TEMPTABLE", sign="=")
    definer = parse_definer(cursor)
    security = parse_view_setting(cursor, "SQL SECURITY", "DEFINER", "INVOKER")
    cursor.expect("VIEW")
    view = cursor.qualified_name("the name of a view")
    columns = cursor.parenthesised_list(lambda cursor: cursor.name("a column")) if cursor.word() == "(" else ()
    cursor.expect("AS")
    query = parse_query(cursor)
    check = parse_view_setting(cursor, "WITH", "CASCADED", "LOCAL")
    if not cursor.at_end():
        cursor.expect("CHECK OPTION")
    return syntax.CreateView(view, query, columns, or_replace, algorithm, definer, security, check)


def parse_view_setting(cursor: Cursor, phrase: str, *words: str, sign: str = "") -> str:
    """Parse the phrase, the sign and one of the words. Without the phrase, the first word is the default."""
    if not cursor.accept(phrase):
        return words[0]
    cursor.expect(sign)
    return cursor.one_of(*words)


def parse_definer(cursor: Cursor) -> str:
    """Parse an optional DEFINER, and return it as TiDB writes it back: CURRENT_USER, or a quoted name and host.

    The default host is `%`.
    """
    if not cursor.accept("DEFINER"):
        return "CURRENT_USER"
    cursor.expect("=")
    if cursor.accept("CURRENT_USER"):
        cursor.accept("( )")
        return "CURRENT_USER"
    name = cursor.name_or_string("a user")
    host = parse_host_name(cursor).lower() if cursor.accept("@") else "%"
    return f"{quote_name(name)}@{quote_name(host)}"


def parse_host_name(cursor: Cursor) -> str:
    """Parse the host after `@`: quoted, or everything up to the next blank."""
    if cursor.kind() in ("string", "name"):
        return cursor.literal()
    start = last = cursor.next_token()
    while not cursor.at_end() and cursor.next_token().start <= last.end + 1:
        last = cursor.next_token()
        cursor.take()
    if last is start and not cursor.text_since(start):
        cursor.unexpected("a host")
    return cursor.text_since(start)


def parse_drop_view(cursor: Cursor) -> syntax.DropView:
    if_exists = cursor.accept("IF EXISTS")
    views = cursor.comma_list(lambda cursor: cursor.qualified_name("the name of a view"))
    parse_restrict_or_cascade(cursor)
    return syntax.DropView(views, if_exists)


# -- sequences ----------------------------------------------------------------------------------------------------


NUMBERED = {
    "INCREMENT": ("INCREMENT BY", "BY"),
    "START": ("START WITH", "WITH"),
    "MINVALUE": ("MINVALUE", ""),
    "MAXVALUE": ("MAXVALUE", ""),
    "CACHE": ("CACHE", ""),
    "RESTART": ("RESTART WITH", "WITH"),
}
"""The restored words by the first word, and the word that may replace `=` before the number."""

PLAIN = {
    "NOMINVALUE": "NO MINVALUE",
    "NOMAXVALUE": "NO MAXVALUE",
    **{word: word for word in ("NOCACHE", "NOCYCLE", "CYCLE")},
}
"""The restored words of the options without a number, by their first word."""
SEQUENCE_WORDS = (*NUMBERED, *PLAIN, "NO")


def parse_create_sequence(cursor: Cursor) -> syntax.CreateSequence:
    if_not_exists = cursor.accept("IF NOT EXISTS")
    name = parse_sequence_name(cursor)
    options = parse_sequence_options(cursor)
    return syntax.CreateSequence(name, options, parse_table_options(cursor), if_not_exists)


def parse_alter_sequence(cursor: Cursor) -> syntax.AlterSequence:
    if_exists = cursor.accept("IF EXISTS")
    name = parse_sequence_name(cursor)
    if cursor.word() not in SEQUENCE_WORDS:
        cursor.unexpected(f"an option of a sequence: {', '.join(SEQUENCE_WORDS)}", SEQUENCE_WORDS)
    return syntax.AlterSequence(name, parse_sequence_options(cursor, altering=True), if_exists)


def parse_drop_sequence(cursor: Cursor) -> syntax.DropSequence:
    if_exists = cursor.accept("IF EXISTS")
    return syntax.DropSequence(cursor.comma_list(parse_sequence_name), if_exists)


def parse_sequence_name(cursor: Cursor) -> syntax.TableName:
    return cursor.qualified_name("the name of a sequence")


def parse_sequence_options(cursor: Cursor, altering: bool = False) -> tuple[syntax.SequenceOption, ...]:
    def begins(cursor: Cursor) -> bool:
        return cursor.word() in SEQUENCE_WORDS and (altering or cursor.word() != "RESTART")

    return cursor.list_while(begins, parse_sequence_option)


def parse_sequence_option(cursor: Cursor) -> syntax.SequenceOption:
    word = cursor.take()
    if word == "NO":
        word += cursor.word()
        if word not in PLAIN:
            cursor.unexpected("MINVALUE, MAXVALUE, CACHE or CYCLE", ("MINVALUE", "MAXVALUE", "CACHE", "CYCLE"))
        cursor.take()
    if word in PLAIN:
        return syntax.SequenceOption(PLAIN[word])
    name, preposition = NUMBERED[word]
    has_value = bool(preposition) and cursor.accept(preposition) or cursor.accept("=")
    if word == "RESTART" and not has_value and cursor.kind() != "number" and cursor.word() not in ("-", "+"):
        return syntax.SequenceOption("RESTART")
    return syntax.SequenceOption(name, parse_signed_number(cursor))


def parse_signed_number(cursor: Cursor) -> int:
    """Parse an integer of 64 bits with an optional sign."""
    token = cursor.next_token()
    negative = cursor.accept("-")
    if not negative:
        cursor.accept("+")
    value = cursor.integer() * (-1 if negative else 1)
    if not -(2**63) <= value < 2**63:
        cursor.fail(f"{value} is out of the range of 64 bits", token)
    return value


def parse_table_options(cursor: Cursor) -> tuple[syntax.TableOption, ...]:
    options = []
    while begins_option(cursor):
        options.append(parse_option(cursor))
        cursor.accept(",")
    return tuple(options)


# -- placement policies and resource groups -----------------------------------------------------------------------


POLICY_COUNTS = ("FOLLOWERS", "VOTERS", "LEARNERS")
POLICY_TEXTS = tuple(
    """
    PRIMARY_REGION REGIONS SCHEDULE CONSTRAINTS LEADER_CONSTRAINTS FOLLOWER_CONSTRAINTS VOTER_CONSTRAINTS
    LEARNER_CONSTRAINTS SURVIVAL_PREFERENCES
    """.split()
)


def parse_placement_policy(cursor: Cursor, verb: str, or_replace: bool = False) -> syntax.PlacementPolicy:
    """Parse the rest of CREATE, ALTER or DROP PLACEMENT POLICY."""
    exists = cursor.accept("IF NOT EXISTS" if verb == "CREATE" else "IF EXISTS")
    name = cursor.name("the name of a placement policy")
    options = () if verb == "DROP" else parse_policy_options(cursor)
    return syntax.PlacementPolicy(verb, name, options, or_replace, exists)


def parse_policy_options(cursor: Cursor) -> tuple[syntax.TableOption, ...]:
    options = [parse_policy_option(cursor)]
    while not cursor.at_end():
        cursor.accept(",")
        options.append(parse_policy_option(cursor))
    return tuple(options)


def parse_policy_option(cursor: Cursor) -> syntax.TableOption:
    word = cursor.word()
    if word not in (*POLICY_COUNTS, *POLICY_TEXTS):
        cursor.unexpected(f"one of {', '.join((*POLICY_TEXTS, *POLICY_COUNTS))}", (*POLICY_COUNTS, *POLICY_TEXTS))
    cursor.take()
    cursor.accept("=")
    if word in POLICY_TEXTS:
        return syntax.TableOption(word, cursor.string(), quoted=True)
    token = cursor.next_token()
    count = cursor.integer()
    if word == "FOLLOWERS" and count == 0:
        cursor.fail("FOLLOWERS must be positive", token)
    return syntax.TableOption(word, str(count))


def parse_resource_group(cursor: Cursor, verb: str) -> syntax.ResourceGroup:
    """Parse the rest of CREATE, ALTER or DROP RESOURCE GROUP. Its options, which no changefeed sends, are skipped."""
    exists = cursor.accept("IF NOT EXISTS" if verb == "CREATE" else "IF EXISTS")
    name = cursor.take().lower() if cursor.word() == "DEFAULT" else cursor.name("the name of a resource group")
    while verb != "DROP" and not cursor.at_end():
        cursor.literal()
    return syntax.ResourceGroup(verb, name, exists)
