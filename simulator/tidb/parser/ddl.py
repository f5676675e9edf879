"""Text → statement: every DDL statement of TiDB, told apart by its first words.

One law: whatever the text, it gives a statement, None for an empty text, or a DdlError; of the phrases that a statement
may begin with, the longest that fits decides (TiDB: pkg/parser/parser.y, Statement).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import product
from types import MappingProxyType
from typing import NoReturn

from sqlglot.tokens import Token

from simulator.errors import DdlError, SchemaError, did_you_mean
from simulator.tidb.parser.alter_table import parse_alter_table
from simulator.tidb.parser.create_table import parse_create_table
from simulator.tidb.parser.cursor import QUOTED, Cursor, position
from simulator.tidb.parser.databases_and_tables import (
    parse_alter_database,
    parse_cleanup_locks,
    parse_create_database,
    parse_drop_database,
    parse_drop_table,
    parse_flashback,
    parse_lock_tables,
    parse_recover_table,
    parse_rename_table,
    parse_repair_table,
    parse_truncate_table,
    parse_unlock_tables,
)
from simulator.tidb.parser.keys import parse_create_index, parse_drop_index
from simulator.tidb.parser.objects import (
    parse_alter_sequence,
    parse_create_sequence,
    parse_create_view,
    parse_drop_sequence,
    parse_drop_view,
    parse_placement_policy,
    parse_resource_group,
)
from simulator.tidb.parser.splitting import not_ddl_error, parse_tokens, split_tokens
from simulator.tidb.parser.tokens import tokenize
from simulator.tidb.syntax.ddl import Statement

Reader = Callable[[Cursor], Statement]
Phrase = tuple[str, ...]


def phrases(text: str) -> tuple[Phrase, ...]:
    """`CREATE DATABASE|SCHEMA` is two phrases."""
    return tuple(product(*(word.split("|") for word in text.split())))


BEHIND: Mapping[str, Reader] = {
    "CREATE DATABASE|SCHEMA": parse_create_database,
    "ALTER DATABASE|SCHEMA": parse_alter_database,
    "DROP DATABASE|SCHEMA": parse_drop_database,
    "DROP TABLE|TABLES": parse_drop_table,
    "DROP TEMPORARY TABLE|TABLES": partial(parse_drop_table, temporary="local"),
    "DROP GLOBAL TEMPORARY TABLE|TABLES": partial(parse_drop_table, temporary="global"),
    "TRUNCATE": parse_truncate_table,
    "RENAME TABLE": parse_rename_table,
    "RECOVER TABLE": parse_recover_table,
    "FLASHBACK": parse_flashback,
    "ADMIN REPAIR TABLE": parse_repair_table,
    "ADMIN CLEANUP TABLE LOCK": parse_cleanup_locks,
    "LOCK TABLE|TABLES": parse_lock_tables,
    "UNLOCK TABLE|TABLES": parse_unlock_tables,
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
"""Readers that begin behind the phrase."""

WHOLE: Mapping[str, Reader] = {
    "CREATE TABLE": parse_create_table,
    "CREATE TEMPORARY TABLE": parse_create_table,
    "CREATE GLOBAL TEMPORARY TABLE": parse_create_table,
    "CREATE VIEW|ALGORITHM|DEFINER|SQL": parse_create_view,
    "CREATE OR REPLACE VIEW|ALGORITHM|DEFINER|SQL": parse_create_view,
}
"""Readers that begin with the phrase itself."""

READERS: Mapping[Phrase, tuple[bool, Reader]] = MappingProxyType(
    {
        phrase: (behind, reader)
        for behind, table in ((True, BEHIND), (False, WHOLE))
        for text, reader in table.items()
        for phrase in phrases(text)
    }
)
"""By phrase: whether the reader begins behind it, and the reader."""

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
"""How the statements begin that change no schema."""


def next_words(known: Iterable[Phrase]) -> Mapping[Phrase, tuple[str, ...]]:
    """By the beginning of a phrase: the words that can follow."""
    found: dict[Phrase, dict[str, None]] = {}
    for phrase in known:
        for length, word in enumerate(phrase):
            found.setdefault(phrase[:length], {})[word] = None
    return MappingProxyType({start: tuple(words) for start, words in found.items()})


WORDS_AFTER = next_words((*READERS, *sorted(NOT_DDL)))
DDL_WORDS_AFTER = next_words(READERS)
SYNTAX = "parser:1064"
LONGEST = max(len(phrase) for phrase in (*READERS, *NOT_DDL))


def parse_ddl(text: str, charset: str = "") -> Statement | None:
    """The one statement in the text; None where the text has none. `charset` is the client's, utf8mb4 if empty.

    Raises DdlError: `parser:1064` with line and column for what TiDB cannot parse and for a second statement; no code
    for a statement that is not DDL.
    """
    with parse_errors():
        found = split_tokens(tokenize(text))
        if len(found) > 1:
            second = position(text, found[1][0].start)
            raise SchemaError(f"{second}: a second statement begins here; one is accepted")
        return parse_statement(text, found[0], charset) if found else None


def parse_ddl_script(text: str, charset: str = "") -> tuple[Statement, ...]:
    """Every statement in the text, in order; raises DdlError as `parse_ddl` does."""
    with parse_errors():
        return tuple(parse_statement(text, tokens, charset) for tokens in split_tokens(tokenize(text)))


@contextmanager
def parse_errors() -> Iterator[None]:
    """Turns what readers raise into DdlError."""
    try:
        yield
    except SchemaError as error:
        raise DdlError(str(error), SYNTAX) from None
    except RecursionError:
        raise DdlError("the statement is nested too deeply", SYNTAX) from None


def parse_statement(text: str, tokens: list[Token], charset: str) -> Statement:
    """What the tokens of one statement say; raises SchemaError, or DdlError if it is not DDL."""
    words = first_words(tokens)
    for length in range(len(words), 0, -1):
        phrase = words[:length]
        if phrase in READERS:
            behind, reader = READERS[phrase]
            return parse_tokens(text, tokens[length:] if behind else tokens, reader, charset or "utf8mb4")
        if phrase in NOT_DDL:
            raise not_ddl_error(" ".join(phrase))
    fail_at_first_words(text, tokens, words, WORDS_AFTER, DDL_WORDS_AFTER)


def first_words(tokens: Sequence[Token]) -> tuple[str, ...]:
    """The words that can tell which statement it is, in capitals; empty in place of a quoted name."""
    return tuple("" if token.token_type in QUOTED else token.text.upper() for token in tokens[:LONGEST])


def fail_at_first_words(
    text: str,
    tokens: Sequence[Token],
    words: Phrase,
    after: Mapping[Phrase, tuple[str, ...]],
    preferred: Mapping[Phrase, tuple[str, ...]],
) -> NoReturn:
    """Raises SchemaError at the first word that begins nothing, with what could stand there, by what `after` knows.

    Where `preferred` knows a word, only what it knows is accepted.
    """
    known = next(length for length in range(len(words), -1, -1) if words[:length] in after)
    accepted = preferred.get(words[:known]) or after[words[:known]]
    at, what, hint = len(text), "the end of the statement", ""
    if known < len(words):
        token = tokens[known]
        at, what = token.start, repr(text[token.start : token.end + 1][:40])
        hint = did_you_mean(words[known], after[words[:known]])
    raise SchemaError(f"{position(text, at)}: {what} is not expected here.{hint} Accepted: {', '.join(accepted)}")
