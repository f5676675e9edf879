"""Parse a text into DDL statements of TiDB, which their first words identify; those about views, sequences, policies.

The longest phrase of PARSERS and NOT_DDL that a statement begins with decides (TiDB: pkg/parser/parser.y, Statement).
Missing parts get TiDB's defaults. The options of sequences are kept as TiDB writes them back (pkg/parser/ast/ddl.go).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import product
from typing import NoReturn

from sqlglot.tokens import Token

from simulator.errors import DdlError, SchemaError, did_you_mean
from simulator.limits import TOO_DEEP
from simulator.tidb import syntax
from simulator.tidb.parser import databases_and_tables, session
from simulator.tidb.parser.alter_table import parse_alter_table
from simulator.tidb.parser.cursor import NOT_WORDS, Cursor, position
from simulator.tidb.parser.databases_and_tables import parse_create_index, parse_create_table, parse_drop_index
from simulator.tidb.parser.expressions import parse_restrict_or_cascade
from simulator.tidb.parser.keys_and_options import begins_option, parse_option
from simulator.tidb.parser.query import parse_query
from simulator.tidb.parser.script import not_ddl_error, only_statement, parse_tokens, split_tokens
from simulator.tidb.parser.tokens import tokenize
from simulator.tidb.syntax.definitions import Statement

# -- views --------------------------------------------------------------------------------------------------------


def parse_create_view(cursor: Cursor) -> syntax.CreateView:
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


def parse_definer(cursor: Cursor) -> tuple[str, str] | None:
    """Parse an optional DEFINER: None for CURRENT_USER, or a user and a host, by default `%`."""
    if not cursor.accept("DEFINER"):
        return None
    cursor.expect("=")
    if cursor.accept("CURRENT_USER"):
        cursor.accept("( )")
        return None
    name = cursor.name_or_string("a user")
    return name, parse_host_name(cursor).lower() if cursor.accept("@") else "%"


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


DdlParser = Callable[[Cursor], Statement]
Phrase = tuple[str, ...]


def phrases(text: str) -> tuple[Phrase, ...]:
    """Return every phrase that the text stands for: `CREATE DATABASE|SCHEMA` is two."""
    return tuple(product(*(word.split("|") for word in text.split())))


AFTER_PHRASE: Mapping[str, DdlParser] = {
    "CREATE DATABASE|SCHEMA": databases_and_tables.parse_create_database,
    "ALTER DATABASE|SCHEMA": databases_and_tables.parse_alter_database,
    "DROP DATABASE|SCHEMA": databases_and_tables.parse_drop_database,
    "DROP TABLE|TABLES": databases_and_tables.parse_drop_table,
    "DROP TEMPORARY TABLE|TABLES": partial(databases_and_tables.parse_drop_table, temporary="local"),
    "DROP GLOBAL TEMPORARY TABLE|TABLES": partial(databases_and_tables.parse_drop_table, temporary="global"),
    "TRUNCATE": databases_and_tables.parse_truncate_table,
    "RENAME TABLE": databases_and_tables.parse_rename_table,
    "RECOVER TABLE": databases_and_tables.parse_recover_table,
    "FLASHBACK": databases_and_tables.parse_flashback,
    "ADMIN REPAIR TABLE": databases_and_tables.parse_repair_table,
    "ADMIN CLEANUP TABLE LOCK": databases_and_tables.parse_cleanup_locks,
    "LOCK TABLE|TABLES": databases_and_tables.parse_lock_tables,
    "UNLOCK TABLE|TABLES": databases_and_tables.parse_unlock_tables,
    "CREATE INDEX": partial(parse_create_index, kind="key"),
    **{
        f"CREATE {kind} INDEX": partial(parse_create_index, kind=kind.lower())
        for kind in ("UNIQUE", "SPATIAL", "FULLTEXT", "VECTOR", "COLUMNAR")
    },
    "DROP INDEX": parse_drop_index,
    "DROP HYPO INDEX": partial(parse_drop_index, hypothetical=True),
    "DROP VIEW": parse_drop_view,
    "CREATE SEQUENCE": parse_create_sequence,
    "ALTER SEQUENCE": parse_alter_sequence,
    "DROP SEQUENCE": parse_drop_sequence,
    "CREATE OR REPLACE PLACEMENT POLICY": partial(parse_placement_policy, verb="CREATE", or_replace=True),
    **{f"{verb} PLACEMENT POLICY": partial(parse_placement_policy, verb=verb) for verb in ("CREATE", "ALTER", "DROP")},
    **{f"{verb} RESOURCE GROUP": partial(parse_resource_group, verb=verb) for verb in ("CREATE", "ALTER", "DROP")},
    "ALTER TABLE": parse_alter_table,
    "ALTER IGNORE TABLE": partial(parse_alter_table, ignore=True),
}
"""Parsers that begin after the phrase."""

FROM_PHRASE: Mapping[str, DdlParser] = {
    "CREATE TABLE": parse_create_table,
    "CREATE TEMPORARY TABLE": parse_create_table,
    "CREATE GLOBAL TEMPORARY TABLE": parse_create_table,
    "CREATE VIEW|ALGORITHM|DEFINER|SQL": parse_create_view,
    "CREATE OR REPLACE VIEW|ALGORITHM|DEFINER|SQL": parse_create_view,
}
"""Parsers that begin with the phrase itself."""

PARSERS: Mapping[Phrase, tuple[bool, DdlParser]] = {
    phrase: (after_phrase, parser)
    for after_phrase, table in ((True, AFTER_PHRASE), (False, FROM_PHRASE))
    for text, parser in table.items()
    for phrase in phrases(text)
}
"""By phrase: whether the parser begins after it, and the parser."""

DDL_WORDS = {phrase[0] for phrase in PARSERS}
NOT_DDL = frozenset(
    words if words[0] in DDL_WORDS else words[:1]
    for phrase in (*session.PARSERS, *"SELECT INSERT REPLACE UPDATE DELETE WITH TABLE VALUES (".split())
    if phrase not in session.MYSQL_ONLY
    for words in [tuple(phrase.split())]
)
"""The first words of statements that change no schema."""


def next_words(phrases: Iterable[Phrase]) -> Mapping[Phrase, tuple[str, ...]]:
    """Return the words that can follow each beginning of a phrase."""
    words_by_start: dict[Phrase, dict[str, None]] = {}
    for phrase in phrases:
        for length, word in enumerate(phrase):
            words_by_start.setdefault(phrase[:length], {})[word] = None
    return {start: tuple(words) for start, words in words_by_start.items()}


NEXT_WORDS = next_words((*PARSERS, *sorted(NOT_DDL)))
DDL_NEXT_WORDS = next_words(PARSERS)
SYNTAX = "parser:1064"
LONGEST = max(len(phrase) for phrase in (*PARSERS, *NOT_DDL))


def parse_ddl(text: str, sql_mode: frozenset[str] = frozenset()) -> Statement | None:
    """Parse the only statement of the text; returns None for a text without one.

    READING_MODES of `sql_mode` change how it is parsed.

    Raises DdlError: `parser:1064` with line and column for what TiDB cannot parse and for a second statement, without
    a code for a statement that is not DDL.
    """
    with parse_errors():
        tokens = only_statement(text, tokenize(text, sql_mode))
        return parse_statement(text, tokens, "", sql_mode) if tokens else None


def parse_ddl_script(text: str, charset: str = "", sql_mode: frozenset[str] = frozenset()) -> tuple[Statement, ...]:
    """Parse every statement of the text; raises DdlError as `parse_ddl` does.

    `charset` is the client's, utf8mb4 if empty.
    """
    with parse_errors():
        return tuple(
            parse_statement(text, tokens, charset, sql_mode) for tokens in split_tokens(tokenize(text, sql_mode))
        )


@contextmanager
def parse_errors() -> Iterator[None]:
    """Convert the errors of parsing functions to DdlError."""
    try:
        yield
    except SchemaError as error:
        raise DdlError(str(error), SYNTAX) from None
    except RecursionError:
        raise DdlError(TOO_DEEP, SYNTAX) from None


def parse_statement(text: str, tokens: list[Token], charset: str, sql_mode: frozenset[str] = frozenset()) -> Statement:
    """Parse the tokens of one statement; raises SchemaError, or DdlError if it is not DDL."""
    words = first_words(tokens)
    for length in range(len(words), 0, -1):
        phrase = words[:length]
        if phrase in PARSERS:
            after_phrase, parser = PARSERS[phrase]
            remaining = tokens[length:] if after_phrase else tokens
            return parse_tokens(text, remaining, parser, charset or "utf8mb4", sql_mode)
        if phrase in NOT_DDL:
            raise not_ddl_error(" ".join(phrase))
    fail_at_first_words(text, tokens, words, NEXT_WORDS, DDL_NEXT_WORDS)


def first_words(tokens: Sequence[Token]) -> tuple[str, ...]:
    """Return the words that can identify the statement, in upper case, with "" for a quoted name."""
    return tuple("" if token.token_type in NOT_WORDS else token.text.upper() for token in tokens[:LONGEST])


def fail_at_first_words(
    text: str,
    tokens: Sequence[Token],
    words: Phrase,
    after: Mapping[Phrase, tuple[str, ...]],
    preferred: Mapping[Phrase, tuple[str, ...]],
) -> NoReturn:
    """Raise SchemaError at the first word that fits no phrase.

    The message lists the words of `preferred`, or those of `after` if `preferred` has none.
    """
    length_matched = next(length for length in range(len(words), -1, -1) if words[:length] in after)
    accepted = preferred.get(words[:length_matched]) or after[words[:length_matched]]
    at, what, hint = len(text), "the end of the statement", ""
    if length_matched < len(words):
        token = tokens[length_matched]
        at, what = token.start, repr(text[token.start : token.end + 1][:40])
        hint = did_you_mean(words[length_matched], after[words[:length_matched]])
    raise SchemaError(f"{position(text, at)}: {what} is not expected here.{hint} Accepted: {', '.join(accepted)}")
