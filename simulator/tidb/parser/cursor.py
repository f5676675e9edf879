"""A cursor over the tokens of one SQL statement: sqlglot's MySQL parser, to be read word by word.

One law: readers ask for words, names, literals and parentheses; what does not fit is a SchemaError with line and
column.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple, NoReturn, TypeVar

from sqlglot import Token, TokenType
from sqlglot.parsers.mysql import MySQLParser

from simulator.errors import SchemaError, did_you_mean
from simulator.tidb.parser.reserved import RESERVED
from simulator.tidb.syntax.expressions import Node

T = TypeVar("T")

PHRASES = frozenset(("GROUP BY", "ORDER BY", "PARTITION BY", "MEMBER OF"))
"""The only tokens of several words; all other phrases are read word by word."""

QUOTED = frozenset((
    TokenType.IDENTIFIER, TokenType.STRING, TokenType.NATIONAL_STRING, TokenType.HEX_STRING, TokenType.BIT_STRING,
    TokenType.SENTINEL,
))

KINDS = {
    TokenType.IDENTIFIER: "name",
    TokenType.STRING: "string",
    TokenType.NATIONAL_STRING: "string",
    TokenType.NUMBER: "number",
    TokenType.HEX_STRING: "hex",
    TokenType.BIT_STRING: "bit",
    TokenType.INTRODUCER: "introducer",
}


class Rules(NamedTuple):
    """The rules of expressions and queries, which contain each other."""

    node: Callable[[TiDBParser], Node]
    """An expression."""

    bits: Callable[[TiDBParser], Node]
    """An expression without comparisons."""

    simple: Callable[[TiDBParser], Node]
    """An expression without operators."""

    subquery: Callable[[TiDBParser], str]
    """A query in parentheses, as TiDB writes it back."""


class TiDBParser(MySQLParser):
    """A cursor over the tokens of one statement; sqlglot's own `_parse_…` methods remain usable at any place of it."""

    charset = "utf8mb4"
    """The charset in which the text was sent: what TiDB writes before its string literals."""

    rules: Rules
    """Set where a cursor is made (`simulator.tidb.parser.dialect`)."""

    def raise_error(self, message: str, token: Token | None = None) -> NoReturn:
        self.fail(message[:1].lower() + message[1:], token)

    def fail(self, message: str, token: Token | None = None) -> NoReturn:
        """Raises SchemaError at the token, by default the one that comes next."""
        token = token or self._curr
        raise SchemaError(f"{position(self.sql, token.start if token else len(self.sql))}: {message}")

    def unexpected(self, accepted: str, words: Collection[str] = ()) -> NoReturn:
        """Raises SchemaError: something else comes next than what is accepted."""
        word = self.word()
        hint = did_you_mean(word, words) if word and word not in words else ""
        self.fail(f"{self.next_text()} is not expected here.{hint} Accepted: {accepted}")

    def next_text(self) -> str:
        """What comes next, for an error message."""
        token = self._curr
        return repr(self.sql[token.start:token.end + 1][:40]) if token else "the end of the statement"

    def next_token(self) -> Token:
        """The token that comes next, to point an error at later."""
        return self._curr

    def kind(self) -> str:
        """What the next token is: name (quoted), string, number, hex, bit, introducer or word; empty at the end."""
        return KINDS.get(self._curr.token_type, "word") if self._curr else ""

    def literal(self) -> str:
        """The next token without its quotes, passed over."""
        text = self._curr.text
        self._advance()
        return text

    def at_end(self) -> bool:
        return self._index >= self._tokens_size

    def word(self) -> str:
        """The next word or symbol in upper case; empty at a quoted name, at a string and at the end."""
        token = self._curr
        return "" if token.token_type in QUOTED else token.text.upper()

    def word_after(self) -> str:
        """As `word`, one further."""
        token = self._next
        return "" if token.token_type in QUOTED else token.text.upper()

    def word_ahead(self, places: int) -> str:
        """As `word`, so many tokens further; empty behind the end."""
        index = self._index + places
        token = self._tokens[index] if index < self._tokens_size else None
        return token.text.upper() if token and token.token_type not in QUOTED else ""

    def is_last(self, places: int) -> bool:
        """Whether the statement ends behind the token so many places ahead."""
        return self._index + places + 1 == self._tokens_size

    def touches_next(self) -> bool:
        """Whether nothing stands between the next token and the one after it."""
        return self._index + 1 < self._tokens_size and self._next.start == self._curr.end + 1

    def string_follows(self) -> bool:
        """Whether a string stands behind the next token."""
        return self._next.token_type is TokenType.STRING

    def written(self) -> str:
        """The next token as it is written, quotes and prefix included."""
        return self.sql[self._curr.start:self._curr.end + 1]

    def closing_ahead(self, places: int) -> int:
        """How many tokens further the `(` that stands so many tokens ahead is closed; -1 where it is not."""
        depth = 0
        for index in range(self._index + places, self._tokens_size):
            kind = self._tokens[index].token_type
            depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
            if not depth:
                return index - self._index
        return -1

    def take(self) -> str:
        """The next word in upper case, passed over."""
        word = self.word()
        self._advance()
        return word

    def accept(self, phrase: str) -> bool:
        """Passes over the phrase if it comes next."""
        start = self._index
        for part in (phrase,) if phrase in PHRASES else phrase.split():
            if self.word() != part:
                self._retreat(start)
                return False
            self._advance()
        return True

    def expect(self, phrase: str) -> None:
        if not self.accept(phrase):
            self.unexpected(repr(phrase))

    def is_name(self) -> bool:
        """Whether an identifier, quoted or not, comes next."""
        token = self._curr
        if token.token_type in QUOTED:
            return token.token_type is TokenType.IDENTIFIER
        first = token.text[:1]
        return first.isalnum() and token.token_type is not TokenType.NUMBER or first in ("_", "$") or first > "\x7f"

    def name(self, what: str = "a name") -> str:
        """An identifier as it is written; raises SchemaError for a reserved word neither quoted nor beside a `.`."""
        token = self._curr
        if not self.is_name():
            self.unexpected(what)
        if self.word() in PHRASES or self.word() in RESERVED and not self._is_beside_dot():
            self.fail(f"{self.next_text()} is a reserved word, which is a name only between back-quotes", token)
        self._advance()
        return token.text if token.token_type is TokenType.IDENTIFIER else self.sql[token.start:token.end + 1]

    def is_free_name(self) -> bool:
        """Whether an identifier comes next that TiDB takes as one: quoted, or no reserved word."""
        return self.is_name() and self.word() not in PHRASES and (self.word() not in RESERVED or self._is_beside_dot())

    def _is_beside_dot(self) -> bool:
        """Whether the next token follows a `.`, or is followed by one at once: any word is a name there."""
        behind = self._prev and self._prev.token_type is TokenType.DOT
        return bool(behind) or self._next.token_type is TokenType.DOT and self.touches_next()

    def free_name(self, what: str = "a name") -> str:
        """As `name`, at the beginning of one."""
        return self.name(what)

    def qualified_free_name(self, what: str) -> tuple[str, str]:
        """`schema.name` or `name`, no reserved word but behind the `.`."""
        first = self.free_name(what)
        return (first, self.name(what)) if self.accept(".") else ("", first)

    def keyword(self, what: str = "a word") -> str:
        """A word in capitals, whether TiDB reserves it or not."""
        if self.kind() != "word" or not self.is_name():
            self.unexpected(what)
        return self.take()

    def qualified_name(self, what: str) -> tuple[str, str]:
        """`schema.name` or `name`, the schema then empty."""
        first = self.name(what)
        return (first, self.name(what)) if self.accept(".") else ("", first)

    def name_or_string(self, what: str) -> str:
        """An identifier or a string, as charsets and options are spelled."""
        if self.kind() == "string":
            return self.string(what)
        return self.take().lower() if self.word() == "BINARY" else self.name(what)

    def string(self, what: str = "a string") -> str:
        if self.kind() == "introducer":
            self._advance()
        if self.kind() != "string":
            self.unexpected(what)
        return self.literal()

    def integer(self, what: str = "a whole number") -> int:
        token = self._curr
        if token.token_type is not TokenType.NUMBER or not token.text.isdecimal() or not token.text.isascii():
            self.unexpected(what)
        self._advance()
        return int(token.text[:20])

    def text_since(self, token: Token) -> str:
        """The SQL text from that token up to here."""
        return self._find_sql(token, self._prev)

    def comma_separated(self, item: Callable[[TiDBParser], T]) -> tuple[T, ...]:
        """`( item, … )`"""
        self.expect("(")
        items = [item(self)]
        while self.accept(","):
            items.append(item(self))
        if not self.accept(")"):
            self.unexpected("',' or ')'")
        return tuple(items)

    def load(self, sql: str, tokens: list[Token]) -> None:
        """Puts the cursor before the first of the tokens."""
        self.reset()
        self.sql = sql
        self._chunks = [tokens]
        self._advance_chunk()


def position(sql: str, offset: int) -> str:
    """`line 2, column 5` of an offset, both counted from 1."""
    before = sql[:offset]
    return f"line {before.count(chr(10)) + 1}, column {offset - before.rfind(chr(10))}"
