"""Parse a text into DDL statements of TiDB, which their first words identify.

The longest phrase of PARSERS and NOT_DDL that a statement begins with decides (TiDB: pkg/parser/parser.y, Statement).
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
from simulator.tidb.parser.cursor import NOT_WORDS, Cursor, position
from simulator.tidb.parser.ddl import databases_and_tables, objects
from simulator.tidb.parser.ddl.alter_table import parse_alter_table
from simulator.tidb.parser.ddl.create_table import parse_create_table
from simulator.tidb.parser.ddl.keys import parse_create_index, parse_drop_index
from simulator.tidb.parser.script import not_ddl_error, only_statement, parse_tokens, split_tokens
from simulator.tidb.parser.tokens import tokenize
from simulator.tidb.syntax.definitions import Statement

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
    "DROP VIEW": objects.parse_drop_view,
    "CREATE SEQUENCE": objects.parse_create_sequence,
    "ALTER SEQUENCE": objects.parse_alter_sequence,
    "DROP SEQUENCE": objects.parse_drop_sequence,
    "CREATE OR REPLACE PLACEMENT POLICY": partial(objects.parse_placement_policy, verb="CREATE", or_replace=True),
    **{
        f"{verb} PLACEMENT POLICY": partial(objects.parse_placement_policy, verb=verb)
        for verb in ("CREATE", "ALTER", "DROP")
    },
    **{
        f"{verb} RESOURCE GROUP": partial(objects.parse_resource_group, verb=verb)
        for verb in ("CREATE", "ALTER", "DROP")
    },
    "ALTER TABLE": parse_alter_table,
    "ALTER IGNORE TABLE": partial(parse_alter_table, ignore=True),
}
"""Parsers that begin after the phrase."""

FROM_PHRASE: Mapping[str, DdlParser] = {
    "CREATE TABLE": parse_create_table,
    "CREATE TEMPORARY TABLE": parse_create_table,
    "CREATE GLOBAL TEMPORARY TABLE": parse_create_table,
    "CREATE VIEW|ALGORITHM|DEFINER|SQL": objects.parse_create_view,
    "CREATE OR REPLACE VIEW|ALGORITHM|DEFINER|SQL": objects.parse_create_view,
}
"""Parsers that begin with the phrase itself."""

PARSERS: Mapping[Phrase, tuple[bool, DdlParser]] = {
    phrase: (after_phrase, parser)
    for after_phrase, table in ((True, AFTER_PHRASE), (False, FROM_PHRASE))
    for text, parser in table.items()
    for phrase in phrases(text)
}
"""By phrase: whether the parser begins after it, and the parser."""

NOT_DDL = frozenset(
    phrase
    for text in (
        "SELECT|INSERT|REPLACE|UPDATE|DELETE|WITH|TABLE|VALUES|(|SET|SHOW|USE|GRANT|REVOKE|ANALYZE|EXPLAIN|DESC|DESCRIBE",
        "BEGIN|START|COMMIT|ROLLBACK|SAVEPOINT|RELEASE|PREPARE|EXECUTE|DEALLOCATE|CALL|DO|KILL|FLUSH|HELP|SHUTDOWN|RESTART",
        "LOAD|IMPORT|BACKUP|RESTORE|PURGE|PAUSE|RESUME|STOP|CANCEL|BATCH|SPLIT|DISTRIBUTE|OPTIMIZE|TRACE|BINLOG|CHANGE",
        "ADMIN|PLAN|QUERY|CALIBRATE|RECOMMEND|TRAFFIC|REFRESH",
        "CREATE USER|ROLE|STATISTICS|PROCEDURE|BINDING|IMPORT",
        "CREATE GLOBAL|SESSION BINDING",
        "ALTER USER|INSTANCE|RANGE|IMPORT",
        "DROP USER|ROLE|STATS|STATISTICS|PROCEDURE|PREPARE|BINDING|IMPORT",
        "DROP GLOBAL|SESSION BINDING",
        "SET BINDING",
        "RENAME USER",
        "LOCK STATS",
        "UNLOCK STATS",
    )
    for phrase in phrases(text)
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
