"""A cursor over the tokens of one SQL statement, from which parsing functions take words, names, literals, lists.

It raises SchemaError with line and column where the next token does not fit. After a `.` and between back-quotes any
word is a name. Elsewhere no word of RESERVED is a name, and no word of NOT_CALLED is the name of a function.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import cache
from importlib import resources
from typing import NamedTuple, NoReturn, TypeVar

from sqlglot.tokens import Token, TokenType

from simulator.errors import SchemaError, did_you_mean
from simulator.tidb import syntax

T = TypeVar("T")

PHRASES = frozenset(("GROUP BY", "ORDER BY", "PARTITION BY", "MEMBER OF"))
"""The only tokens of several words. All other phrases are read word by word."""


MAX_UNSIGNED = 2**64 - 1

END = Token(TokenType.SENTINEL, "")
"""The token after the last one."""

NOT_WORDS = frozenset(
    getattr(TokenType, kind)
    for kind in ("IDENTIFIER", "STRING", "NATIONAL_STRING", "HEX_STRING", "BIT_STRING", "SENTINEL")
)
"""The tokens that are not words."""

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
    """The parsing functions for expressions and queries, which contain each other."""

    expression: Callable[[Cursor], syntax.Node]
    bit_expression: Callable[[Cursor], syntax.Node]
    """An expression without comparisons."""

    simple_expression: Callable[[Cursor], syntax.Node]
    """An expression without operators."""

    subquery: Callable[[Cursor], tuple[str, syntax.QueryTree]]
    """A query in parentheses: the text that TiDB writes back, and the tree."""


class Cursor:
    """A position in the tokens of a statement, at first before the first token."""

    def __init__(
        self,
        sql: str,
        tokens: Sequence[Token],
        grammar: Grammar,
        charset: str = "utf8mb4",
        sql_mode: frozenset[str] = frozenset(),
        parameters: Sequence[syntax.Node] | None = None,
    ) -> None:
        self.sql = sql
        self.grammar = grammar
        self.charset = charset
        """The charset of the client. TiDB writes it before string literals."""

        self.sql_mode = sql_mode
        self.concatenates = "PIPES_AS_CONCAT" in sql_mode
        """Whether `||` means CONCAT instead of OR."""

        self.real_is_float = "REAL_AS_FLOAT" in sql_mode
        self.ignores_space = "IGNORE_SPACE" in sql_mode
        """Whether a blank may stand between any function name and its `(`."""

        self.negates_early = "HIGH_NOT_PRECEDENCE" in sql_mode
        """Whether NOT binds as tightly as `!`."""

        self.parameters = parameters
        """The value of each `?` of a prepared statement. None for every other statement."""

        self.enclosing_queries = 0
        """The number of parentheses with a query that the next token is in."""

        self._tokens = (*tokens, END, END)
        self._words = ["" if token.token_type in NOT_WORDS else token.text.upper() for token in self._tokens]
        self._size = len(tokens)
        self._index = 0

    # -- the next tokens ---------------------------------------------------------------------------------------------

    def at_end(self) -> bool:
        return self._index == self._size

    def next_token(self) -> Token:
        """Return the next token, END after the last one."""
        return self._tokens[self._index]

    def next_text(self) -> str:
        """Return a description of the next token for an error message."""
        return "the end of the statement" if self.at_end() else repr(self.written()[:40])

    def written(self) -> str:
        """Return the next token as it is written, quotes and prefix included."""
        token = self._tokens[self._index]
        return self.sql[token.start : token.end + 1]

    def kind(self) -> str:
        """Return the kind of the next token: name (quoted), string, number, hex, bit, introducer, word, or "" at the end."""
        return KINDS.get(self._tokens[self._index].token_type, "word")

    def word(self) -> str:
        """Return the next word or symbol in upper case, or "" at a quoted name, at a string and at the end."""
        return self._words[self._index]

    def word_after(self) -> str:
        return self._words[self._index + 1]

    def word_ahead(self, places: int) -> str:
        """Return the word `places` tokens ahead, as `word` does."""
        return self._words[min(self._index + places, self._size)]

    def is_last(self, places: int) -> bool:
        """Whether the token `places` ahead is the last one."""
        return self._index + places + 1 == self._size

    def touches_next(self) -> bool:
        """Whether the next two tokens are adjacent in the text."""
        here, after = self._tokens[self._index : self._index + 2]
        return self._index + 1 < self._size and after.start == here.end + 1

    def begins_call(self) -> bool:
        """Whether a `(` follows the next token at once, or after blanks under IGNORE_SPACE."""
        return self.word_after() == "(" and (self.ignores_space or self.touches_next())

    def string_follows(self) -> bool:
        return self._tokens[self._index + 1].token_type is TokenType.STRING

    def closing_ahead(self, places: int) -> int:
        """Return how many tokens ahead the `(` at `places` is closed, or -1 if it is not closed."""
        depth = 0
        for index in range(self._index + places, self._size):
            kind = self._tokens[index].token_type
            depth += (kind is TokenType.L_PAREN) - (kind is TokenType.R_PAREN)
            if not depth:
                return index - self._index
        return -1

    def is_name(self) -> bool:
        """Whether the next token is an identifier, quoted or not."""
        token = self._tokens[self._index]
        if token.token_type in NOT_WORDS:
            return token.token_type is TokenType.IDENTIFIER
        first = token.text[:1]
        return first.isalnum() and token.token_type is not TokenType.NUMBER or first in ("_", "$") or first > "\x7f"

    def is_free_name(self) -> bool:
        """Whether the next token is an identifier that is quoted or no reserved word."""
        return self.is_name() and not self._is_reserved()

    def _is_reserved(self) -> bool:
        word = self.word()
        return word in PHRASES or word in RESERVED and not self._is_beside_dot()

    def _is_beside_dot(self) -> bool:
        """Whether the next token follows a `.` or touches one. Every word is a name there."""
        follows = self._index > 0 and self._tokens[self._index - 1].token_type is TokenType.DOT
        return follows or self._tokens[self._index + 1].token_type is TokenType.DOT and self.touches_next()

    # -- consuming tokens --------------------------------------------------------------------------------------------

    def _advance(self) -> Token:
        """Consume and return the next token. At the end the cursor does not move."""
        token = self._tokens[self._index]
        self._index = min(self._index + 1, self._size)
        return token

    def take(self) -> str:
        """Consume the next token and return it as `word` does."""
        word = self.word()
        self._advance()
        return word

    def literal(self) -> str:
        """Consume the next token and return it without its quotes."""
        return self._advance().text

    def parameter(self) -> syntax.Node:
        """Consume a `?` and return its value. Raises SchemaError outside of a prepared statement."""
        before = sum(token.token_type is TokenType.PLACEHOLDER for token in self._tokens[: self._index])
        if self.parameters is None:
            raise SchemaError("a '?' stands outside of PREPARE", number=1149, said="syntax error, unexpected '?'")
        self._advance()
        return self.parameters[before]

    def accept(self, phrase: str) -> bool:
        """Consume the phrase if it comes next, and return whether it did."""
        index = self._index
        for part in phrase_words(phrase):
            if self._words[index] != part:
                return False
            index += 1
        self._index = index
        return True

    def expect(self, phrase: str) -> None:
        """Consume the phrase; raises SchemaError if something else comes next."""
        if not self.accept(phrase):
            self.unexpected(repr(phrase))

    def name(self, what: str = "a name") -> str:
        """Consume an identifier; raises SchemaError for a reserved word that is neither quoted nor beside a `.`."""
        if not self.is_name():
            self.unexpected(what)
        if self._is_reserved():
            self.fail(f"{self.next_text()} is a reserved word, which is a name only between back-quotes")
        if self.word() in FUNCTIONS and self.begins_call() and not self._is_beside_dot():
            self.fail(f"{self.next_text()} is a function if '(' follows, and a name only between back-quotes")
        return self._any_name()

    def _any_name(self) -> str:
        written = self.written()
        token = self._advance()
        return token.text if token.token_type is TokenType.IDENTIFIER else written

    def user_variable(self) -> str:
        """Consume `@name` and return the name, which may be any word or a string."""
        self.expect("@")
        if self.kind() == "string":
            return self.string()
        if not self.is_name():
            self.unexpected("a variable")
        return self._with_suffixes(self._any_name())

    def system_variable(self) -> str:
        """Consume the name of a system variable, with or without its scope, and return it in lower case."""
        return self._with_suffixes(self.name("a variable")).lower()

    def _with_suffixes(self, name: str) -> str:
        while self.accept("."):
            name += f".{self.name('a variable')}"
        return name

    def dotted_name(self, what: str = "the name of a column", rest: str = "") -> tuple[str, ...]:
        """Consume `c`, `t.c` or `d.t.c`."""
        names = [self.name(what)]
        while len(names) < 3 and self.accept("."):
            names.append(self.name(rest or what))
        return tuple(names)

    def qualified_name(self, what: str = "the name of a table") -> syntax.TableName:
        """Consume `schema.name` or `name`."""
        first = self.name(what)
        return syntax.TableName(first, self.name(what)) if self.accept(".") else syntax.TableName("", first)

    def keyword(self, what: str = "a word") -> str:
        """Consume a word, reserved or not, and return it in upper case."""
        if self.kind() != "word" or not self.is_name():
            self.unexpected(what)
        return self.take()

    def name_or_string(self, what: str) -> str:
        """Consume an identifier or a string, as charsets and options are spelled."""
        if self.kind() == "string":
            return self.string(what)
        return self.take().lower() if self.word() == "BINARY" else self.name(what)

    def string(self, what: str = "a string") -> str:
        """Consume a string and return it without quotes and introducer; raises SchemaError."""
        if self.kind() == "introducer":
            self._advance()
        if self.kind() != "string":
            self.unexpected(what)
        return self.literal()

    def plain_string(self, what: str = "a string in quotes") -> str:
        """Consume a string without an introducer, as options and comments have it; raises SchemaError."""
        if self.next_token().token_type is not TokenType.STRING:
            self.unexpected(what)
        return self.literal()

    def one_of(self, *phrases: str) -> str:
        """Consume the first of the words or phrases that fits; raises SchemaError."""
        phrase = next((phrase for phrase in phrases if self.accept(phrase)), "")
        if not phrase:
            self.unexpected(" or ".join(filter(None, (", ".join(phrases[:-1]), phrases[-1]))), phrases)
        return phrase

    def integer(self, what: str = "a whole number") -> int:
        """Consume an unsigned integer, of which twenty digits count; raises SchemaError."""
        text = self.next_token().text
        if self.kind() != "number" or not text.isdecimal() or not text.isascii():
            self.unexpected(what)
        return int(self.literal()[:20])

    def count(self, what: str = "a whole number") -> int:
        """Consume an unsigned integer of at most 64 bits; raises SchemaError."""
        token = self.next_token()
        number = self.integer(what)
        if number > MAX_UNSIGNED or len(token.text.lstrip("0")) > len(str(MAX_UNSIGNED)):
            self.fail(f"{token.text[:40]} is too large; accepted: up to {MAX_UNSIGNED}", token)
        return number

    def begins_default(self) -> bool:
        """Whether DEFAULT comes next as a keyword, not as a function."""
        return self.word() == "DEFAULT" and self.word_after() != "("

    def sequence(self, *parts: str | Callable[[Cursor], T]) -> tuple[T, ...]:
        """Consume phrases and, with a parsing function each, everything else; return what the functions return."""
        results: list[T] = []
        for part in parts:
            if isinstance(part, str):
                self.expect(part)
            else:
                results.append(part(self))
        return tuple(results)

    def list_while(self, begins: Callable[[Cursor], bool], item: Callable[[Cursor], T]) -> tuple[T, ...]:
        """Consume items without commas between them, as long as `begins` says that another one comes next."""
        items: list[T] = []
        while begins(self):
            items.append(item(self))
        return tuple(items)

    def comma_list(self, item: Callable[[Cursor], T]) -> tuple[T, ...]:
        """Consume `item, …`.

        Rules that nest deeply have loops of their own, because each Python frame reduces the depth that can be parsed.
        """
        items = [item(self)]
        while self.accept(","):
            items.append(item(self))
        return tuple(items)

    def parenthesised_list(self, item: Callable[[Cursor], T]) -> tuple[T, ...]:
        """Consume `( item, … )`."""
        self.expect("(")
        items = [item(self)]
        while self.accept(","):
            items.append(item(self))
        if not self.accept(")"):
            self.unexpected("',' or ')'")
        return tuple(items)

    def last_token(self) -> Token:
        """Return the token before the cursor."""
        return self._tokens[self._index - 1]

    def text_since(self, token: Token) -> str:
        """Return the SQL text from the token up to the cursor."""
        return self.sql[token.start : self._tokens[self._index - 1].end + 1]

    # -- errors ------------------------------------------------------------------------------------------------------

    def fail(self, message: str, token: Token | None = None) -> NoReturn:
        """Raise SchemaError at the token, by default the next one."""
        token = token or self.next_token()
        raise SchemaError(f"{position(self.sql, token.start if token else len(self.sql))}: {message}")

    def unexpected(self, accepted: str, words: Collection[str] = ()) -> NoReturn:
        """Raise SchemaError because the next token is not one of those accepted."""
        word = self.word()
        hint = did_you_mean(word, words) if word and word not in words else ""
        self.fail(f"{self.next_text()} is not expected here.{hint} Accepted: {accepted}")


@cache
def phrase_words(phrase: str) -> tuple[str, ...]:
    """Return the words of a phrase as the tokenizer splits them."""
    return (phrase,) if phrase in PHRASES else tuple(phrase.split())


def position(sql: str, offset: int) -> str:
    """Return `line 2, column 5` for an offset, both counted from 1."""
    before = sql[:offset]
    return f"line {before.count(chr(10)) + 1}, column {offset - before.rfind(chr(10))}"


def _read_keywords() -> list[tuple[str, str, str]]:
    """Return the word of each line of `keywords.tsv`, its kind, and whether it may be the name of a function."""
    with resources.files(__package__).joinpath("keywords.tsv").open(encoding="utf-8") as lines:
        next(lines)
        return [(word, kind, called) for word, kind, called in map(str.split, lines)]


_KEYWORDS = _read_keywords()
RESERVED = frozenset(word for word, kind, _ in _KEYWORDS if kind == "reserved")
"""TiDB v8.5: the reserved words of pkg/parser/keywords.go, and their other spellings in misc.go."""

UNRESERVED = frozenset(word for word, kind, _ in _KEYWORDS if kind == "unreserved")
"""TiDB v8.5: the other words of pkg/parser/keywords.go."""

NOT_CALLED = frozenset(word for word, _, called in _KEYWORDS if called == "no")
"""TiDB v6.5: words of the grammar that may name a column but no function (pkg/parser/parser.y)."""

FUNCTIONS = frozenset(
    """
    CAST CURDATE CURTIME DATE_ADD DATE_SUB EXTRACT NOW POSITION SUBSTR SUBSTRING TRIM BIT_AND BIT_OR BIT_XOR
    GROUP_CONCAT MAX MIN STD STDDEV STDDEV_POP STDDEV_SAMP SUM VARIANCE VAR_POP VAR_SAMP APPROX_COUNT_DISTINCT
    APPROX_PERCENTILE COUNT MID SYSDATE TRANSLATE
    """.split()
)
"""Words that are no names if `(` follows them, under IGNORE_SPACE also after blanks (pkg/parser/misc.go, btFuncTokenMap)."""
