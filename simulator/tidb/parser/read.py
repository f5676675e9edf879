"""Text → statement: every DDL statement of TiDB, told apart by its first words.

One law: whatever the text, it gives a statement, None for an empty text, or a DdlError.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NoReturn

from sqlglot.tokens import Token

from simulator.errors import DdlError, SchemaError, did_you_mean
from simulator.tidb.parser.cursor import QUOTED, position
from simulator.tidb.parser.first_words import DDL_WORDS_AFTER, NOT_DDL, READERS, WORDS_AFTER
from simulator.tidb.parser.texts import read, statements
from simulator.tidb.parser.tokens import tokenize
from simulator.tidb.syntax.statements import Statement

SYNTAX = "parser:1064"
LONGEST = max(len(phrase) for phrase in (*READERS, *NOT_DDL))


def read_statement(text: str, charset: str = "") -> Statement | None:
    """The one statement in the text; None where the text has none. `charset` is the client's, utf8mb4 if empty.

    Raises DdlError: `parser:1064` with line and column for what TiDB cannot parse and for a second statement; no code
    for a statement that is not DDL.
    """
    with reading():
        found = statements(tokenize(text))
        if len(found) > 1:
            second = position(text, found[1][0].start)
            raise SchemaError(f"{second}: a second statement begins here; one is accepted")
        return statement(text, found[0], charset) if found else None


def read_statements(text: str, charset: str = "") -> tuple[Statement, ...]:
    """Every statement in the text, in order; raises DdlError as `read_statement` does."""
    with reading():
        return tuple(statement(text, tokens, charset) for tokens in statements(tokenize(text)))


@contextmanager
def reading() -> Iterator[None]:
    """Turns what readers raise into DdlError."""
    try:
        yield
    except SchemaError as error:
        raise DdlError(str(error), SYNTAX) from None
    except RecursionError:
        raise DdlError("the statement is nested too deeply", SYNTAX) from None


def statement(text: str, tokens: list[Token], charset: str) -> Statement:
    """What the tokens of one statement say; raises SchemaError, or DdlError if it is not DDL."""
    words = first_words(tokens)
    for length in range(len(words), 0, -1):
        phrase = words[:length]
        if phrase in READERS:
            behind, reader = READERS[phrase]
            return read(text, tokens[length:] if behind else tokens, reader, charset or "utf8mb4")
        if phrase in NOT_DDL:
            raise not_ddl(" ".join(phrase))
    fail_at_first_words(text, tokens, words)


def first_words(tokens: Sequence[Token]) -> tuple[str, ...]:
    """The words that can tell which statement it is, in capitals; empty in place of a quoted name."""
    return tuple("" if token.token_type in QUOTED else token.text.upper() for token in tokens[:LONGEST])


def not_ddl(what: str) -> DdlError:
    return DdlError(f"{what} is not DDL: no schema changes, and TiCDC sends no DDL event")


def fail_at_first_words(text: str, tokens: Sequence[Token], words: tuple[str, ...]) -> NoReturn:
    """Raises SchemaError at the first word that begins nothing, with what could stand there."""
    known = next(length for length in range(len(words), -1, -1) if words[:length] in WORDS_AFTER)
    accepted = DDL_WORDS_AFTER.get(words[:known]) or WORDS_AFTER[words[:known]]
    at, what, hint = len(text), "the end of the statement", ""
    if known < len(words):
        token = tokens[known]
        at, what = token.start, repr(text[token.start:token.end + 1][:40])
        hint = did_you_mean(words[known], WORDS_AFTER[words[:known]])
    raise SchemaError(f"{position(text, at)}: {what} is not expected here.{hint} Accepted: {', '.join(accepted)}")
