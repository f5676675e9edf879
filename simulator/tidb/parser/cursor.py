"""A place in the tokens of one SQL statement, moved word by word.

One law: readers ask for words, names, literals and parentheses; what does not fit is a SchemaError with line and
column, and the place never leaves the statement.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache
from typing import NamedTuple, NoReturn, TypeVar

from sqlglot.tokens import Token, TokenType

from simulator.errors import SchemaError, did_you_mean
from simulator.tidb import syntax
from simulator.tidb.parser.reserved import RESERVED

T = TypeVar("T")

PHRASES = frozenset(("GROUP BY", "ORDER BY", "PARTITION BY", "MEMBER OF"))
"""The only tokens of several words; all other phrases are read word by word."""

END = Token(TokenType.SENTINEL, "")
"""What stands behind the last token."""

QUOTED = frozenset(
    (
        TokenType.IDENTIFIER,
        TokenType.STRING,
        TokenType.NATIONAL_STRING,
        TokenType.HEX_STRING,
        TokenType.BIT_STRING,
        TokenType.SENTINEL,
    )
)
"""The tokens that are no words."""

KINDS = {
    TokenType.IDENTIFIER: "name",
    TokenType.STRING: "string",
    TokenType.NATIONAL_STRING: "string",
    TokenType.NUMBER: "number",
    TokenType.HEX_STRING: "hex",
    TokenType.BIT_STRING: "bit",
    TokenType.INTRODUCER: "introducer",
    TokenType.SENTINEL: "",
}


class Grammar(NamedTuple):
    """The rules of expressions and queries, which contain each other."""

    node: Callable[[Cursor], syntax.Node]
    """An expression."""

    bits: Callable[[Cursor], syntax.Node]
    """An expression without comparisons."""

    simple: Callable[[Cursor], syntax.Node]
    """An expression without operators."""

    subquery: Callable[[Cursor], tuple[str, syntax.QueryTree]]
    """A query in parentheses: as TiDB writes it back, and what it says."""


class Cursor:
    """Before the first of a statement's tokens when it is made."""

    def __init__(
        self,
        sql: str,
        tokens: Sequence[Token],
        rules: Grammar,
        charset: str = "utf8mb4",
        sql_mode: frozenset[str] = frozenset(),
        parameters: Sequence[syntax.Node] | None = None,
    ) -> None:
        self.sql = sql
        self.rules = rules
        self.charset = charset
        """The charset in which the text was sent: what TiDB writes before its string literals."""

        self.concatenates = "PIPES_AS_CONCAT" in sql_mode
        """Whether `||` is CONCAT and no OR."""

        self.real_is_float = "REAL_AS_FLOAT" in sql_mode
        self.ignores_space = "IGNORE_SPACE" in sql_mode
        """Whether a blank may stand between every function and its `(`."""

        self.negates_early = "HIGH_NOT_PRECEDENCE" in sql_mode
        """Whether NOT binds as `!` does."""

        self.parameters = parameters
        """What each `?` of a prepared statement stands for; None for any other statement, which has none."""

        self._tokens = (*tokens, END, END)
        self._words = ["" if token.token_type in QUOTED else token.text.upper() for token in self._tokens]
        self._size = len(tokens)
        self._index = 0

    # -- what comes next ---------------------------------------------------------------------------------------------

    def at_end(self) -> bool:
        return self._index == self._size

    def next_token(self) -> Token:
        """The token that comes next, to point an error at later; END behind the last one."""
        return self._tokens[self._index]

    def next_text(self) -> str:
        """What comes next, for an error message."""
        return "the end of the statement" if self.at_end() else repr(self.written()[:40])

    def written(self) -> str:
        """The next token as it is written, quotes and prefix included."""
        token = self._tokens[self._index]
        return self.sql[token.start : token.end + 1]

    def kind(self) -> str:
        """What the next token is: name (quoted), string, number, hex, bit, introducer or word; empty at the end."""
        return KINDS.get(self._tokens[self._index].token_type, "word")

    def word(self) -> str:
        """The next word or symbol in upper case; empty at a quoted name, at a string and at the end."""
        return self._words[self._index]

    def word_after(self) -> str:
        """As `word`, one further."""
        return self._words[self._index + 1]

    def word_ahead(self, places: int) -> str:
        """As `word`, so many tokens further; empty behind the end."""
        return self._words[min(self._index + places, self._size)]

    def is_last(self, places: int) -> bool:
        """Whether the statement ends behind the token so many places ahead."""
        return self._index + places + 1 == self._size

    def touches_next(self) -> bool:
        """Whether nothing stands between the next token and the one after it."""
        here, after = self._tokens[self._index : self._index + 2]
        return self._index + 1 < self._size and after.start == here.end + 1

    def string_follows(self) -> bool:
        """Whether a string stands behind the next token."""
        return self._tokens[self._index + 1].token_type is TokenType.STRING

    def closing_ahead(self, places: int) -> int:
        """How many tokens further the `(` that stands so many tokens ahead is closed; -1 where it is not."""
        depth = 0
        for index in range(self._index + places, self._size):
            kind = self._tokens[index].token_type
            depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
            if not depth:
                return index - self._index
        return -1

    def is_name(self) -> bool:
        """Whether an identifier, quoted or not, comes next."""
        token = self._tokens[self._index]
        if token.token_type in QUOTED:
            return token.token_type is TokenType.IDENTIFIER
        first = token.text[:1]
        return first.isalnum() and token.token_type is not TokenType.NUMBER or first in ("_", "$") or first > "\x7f"

    def is_free_name(self) -> bool:
        """Whether an identifier comes next that TiDB takes as one: quoted, or no reserved word."""
        return self.is_name() and not self._is_reserved()

    def _is_reserved(self) -> bool:
        word = self.word()
        return word in PHRASES or word in RESERVED and not self._is_beside_dot()

    def _is_beside_dot(self) -> bool:
        """Whether the next token follows a `.`, or is followed by one at once: any word is a name there."""
        behind = self._index > 0 and self._tokens[self._index - 1].token_type is TokenType.DOT
        return behind or self._tokens[self._index + 1].token_type is TokenType.DOT and self.touches_next()

    # -- what is passed over -----------------------------------------------------------------------------------------

    def _advance(self) -> Token:
        """Passes over the next token, which is given; at the end nothing moves."""
        token = self._tokens[self._index]
        self._index = min(self._index + 1, self._size)
        return token

    def take(self) -> str:
        """The next word in upper case, passed over."""
        word = self.word()
        self._advance()
        return word

    def literal(self) -> str:
        """The next token without its quotes, passed over."""
        return self._advance().text

    def parameter(self) -> syntax.Node:
        """What the `?` that comes next stands for, passed over."""
        before = sum(token.token_type is TokenType.PLACEHOLDER for token in self._tokens[: self._index])
        if self.parameters is None:
            raise SchemaError("a '?' stands outside of PREPARE", number=1149, said="syntax error, unexpected '?'")
        self._advance()
        return self.parameters[before]

    def accept(self, phrase: str) -> bool:
        """Passes over the phrase if it comes next."""
        index = self._index
        for part in phrase_words(phrase):
            if self._words[index] != part:
                return False
            index += 1
        self._index = index
        return True

    def expect(self, phrase: str) -> None:
        """Passes over the phrase; raises SchemaError where something else comes."""
        if not self.accept(phrase):
            self.unexpected(repr(phrase))

    def name(self, what: str = "a name") -> str:
        """An identifier as it is written; raises SchemaError for a reserved word neither quoted nor beside a `.`."""
        if not self.is_name():
            self.unexpected(what)
        if self._is_reserved():
            self.fail(f"{self.next_text()} is a reserved word, which is a name only between back-quotes")
        return self._any_name()

    def _any_name(self) -> str:
        written = self.written()
        token = self._advance()
        return token.text if token.token_type is TokenType.IDENTIFIER else written

    def user_variable(self) -> str:
        """The name of `@name`, which may be any word or a string."""
        self.expect("@")
        if self.kind() == "string":
            return self.string()
        if not self.is_name():
            self.unexpected("a variable")
        name = self._any_name()
        while self.accept("."):
            name += f".{self.name('a variable')}"
        return name

    def qualified_name(self, what: str = "the name of a table") -> syntax.TableName:
        """`schema.name` or `name`."""
        first = self.name(what)
        return syntax.TableName(first, self.name(what)) if self.accept(".") else syntax.TableName("", first)

    def keyword(self, what: str = "a word") -> str:
        """A word in capitals, whether TiDB reserves it or not."""
        if self.kind() != "word" or not self.is_name():
            self.unexpected(what)
        return self.take()

    def name_or_string(self, what: str) -> str:
        """An identifier or a string, as charsets and options are spelled."""
        if self.kind() == "string":
            return self.string(what)
        return self.take().lower() if self.word() == "BINARY" else self.name(what)

    def string(self, what: str = "a string") -> str:
        """A string without its quotes, its introducer forgotten; raises SchemaError."""
        if self.kind() == "introducer":
            self._advance()
        if self.kind() != "string":
            self.unexpected(what)
        return self.literal()

    def integer(self, what: str = "a whole number") -> int:
        """A whole number without a sign, of its first twenty digits; raises SchemaError."""
        text = self.next_token().text
        if self.kind() != "number" or not text.isdecimal() or not text.isascii():
            self.unexpected(what)
        return int(self.literal()[:20])

    def listed(self, item: Callable[[Cursor], T]) -> tuple[T, ...]:
        """`item, …`; what nests has a loop of its own, as each frame of Python's makes the deepest text less deep."""
        items = [item(self)]
        while self.accept(","):
            items.append(item(self))
        return tuple(items)

    def comma_separated(self, item: Callable[[Cursor], T]) -> tuple[T, ...]:
        """`( item, … )`"""
        self.expect("(")
        items = [item(self)]
        while self.accept(","):
            items.append(item(self))
        if not self.accept(")"):
            self.unexpected("',' or ')'")
        return tuple(items)

    def text_since(self, token: Token) -> str:
        """The SQL text from that token up to here."""
        return self.sql[token.start : self._tokens[self._index - 1].end + 1]

    # -- what is wrong -----------------------------------------------------------------------------------------------

    def fail(self, message: str, token: Token | None = None) -> NoReturn:
        """Raises SchemaError at the token, by default the one that comes next."""
        token = token or self.next_token()
        raise SchemaError(f"{position(self.sql, token.start if token else len(self.sql))}: {message}")

    def unexpected(self, accepted: str, words: Collection[str] = ()) -> NoReturn:
        """Raises SchemaError: something else comes next than what is accepted."""
        word = self.word()
        hint = did_you_mean(word, words) if word and word not in words else ""
        self.fail(f"{self.next_text()} is not expected here.{hint} Accepted: {accepted}")


@cache
def phrase_words(phrase: str) -> tuple[str, ...]:
    """The words of a phrase as the tokens have them."""
    return (phrase,) if phrase in PHRASES else tuple(phrase.split())


def position(sql: str, offset: int) -> str:
    """`line 2, column 5` of an offset, both counted from 1."""
    before = sql[:offset]
    return f"line {before.count(chr(10)) + 1}, column {offset - before.rfind(chr(10))}"
