"""TiDB as a dialect of sqlglot: MySQL's, with TiDB's versioned comments opened, text in, statements out.

One law: a versioned comment is opened here exactly where TiDB itself would read what it holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from sqlglot import Token, TokenType
from sqlglot.dialects.mysql import MySQL
from sqlglot.errors import SqlglotError

from simulator.errors import SchemaError
from simulator.tidb.parser.cursor import PHRASES, QUOTED, Rules, TiDBParser, position
from simulator.tidb.parser.expressions import read_bits, read_node, read_simple
from simulator.tidb.parser.queries import read_subquery

T = TypeVar("T")

_OPENING = re.compile(r"/\*(?:!\d*|[Tt]!(?:\[[^\]]*\])?)\s*\Z")
_CLOSING = re.compile(r"\s*\*/")

FEATURES = frozenset((
    "auto_rand", "auto_id_cache", "auto_rand_base", "clustered_index", "force_inc", "global_index", "placement",
    "pre_split", "resource_group", "ttl", "affinity",
))
"""What TiDB opens as `/*T![feature] … */`; any other feature leaves a comment (TiDB: pkg/parser/tidb/features.go)."""


SYMBOLS = frozenset(("/*+", "||", ">=", "<=", "<>", "!=", ":=", "<=>", "->", "->>", "&&", "@@"))
"""The symbols of several characters that TiDB has; sqlglot knows those of other dialects too."""


ENDS = frozenset(phrase.split()[1] for phrase in PHRASES)


def is_keyword(word: str) -> bool:
    """Whether TiDB's tokenizer has the word, the phrase or the symbol."""
    return word in SYMBOLS or word in PHRASES or word.replace("_", "").isalnum()


class TiDB(MySQL):
    class Tokenizer(MySQL.Tokenizer):
        KEYWORDS = {
            **{word: kind for word, kind in MySQL.Tokenizer.KEYWORDS.items() if is_keyword(word)},
            "/*!": TokenType.HINT,
            "/*T!": TokenType.HINT,
            "/*T![": TokenType.HINT,
        }
        COMMANDS = set()

    Parser = TiDBParser


TIDB = TiDB()
RULES = Rules(read_node, read_bits, read_simple, read_subquery)


def tokenize(sql: str) -> list[Token]:
    """The tokens of a text, versioned comments opened.

    Raises SchemaError where a quote or comment is not closed, and for a text that no client can send.
    """
    check_unicode(sql)
    tokenizer = TIDB.tokenizer()
    try:
        return phrases_joined(open_comments(sql, tokenizer.tokenize(sql)))
    except SqlglotError as error:
        start = tokenizer.tokens[-1].end + 1 if tokenizer.tokens else 0
        start += len(sql[start:]) - len(sql[start:].lstrip())
        raise SchemaError(f"{position(sql, start)}: {unclosed(error)}") from None


def unclosed(error: SqlglotError) -> str:
    """What the tokenizer found no end of, by what it met there: `Missing ' from …`, or the end of the text."""
    said = str(error.__cause__ or error)
    if quote := re.match("Missing (.) from", said):
        return f"what {quote[1]} opens here is not closed"
    return "this literal has other characters than digits" if "invalid char" in said else "this comment has no '*/'"


def check_unicode(sql: str) -> None:
    """Raises SchemaError at half of a surrogate pair, which UTF-8 has no bytes for."""
    try:
        sql.encode()
    except UnicodeEncodeError as error:
        raise SchemaError(f"{position(sql, error.start)}: {sql[error.start]!r} is not valid Unicode") from None


def open_comments(sql: str, tokens: list[Token]) -> list[Token]:
    """Removes the frame of `/*! … */` and `/*T![feature] … */`, or all of it where TiDB does not know the feature.

    What TiDB opens may go on to the end of the text; raises SchemaError where anything else is not closed.
    """
    opened: list[Token] = []
    inside = False
    index = 0
    while index < len(tokens):
        token = tokens[index]
        index += 1
        if token.token_type is TokenType.HINT and token.text in ("/*!", "/*T!", "/*T!["):
            inside, index = after_opening(sql, tokens, index)
        elif inside and closes(tokens, index - 1):
            inside = False
            index += 1
        else:
            opened.append(token)
    return opened


def phrases_joined(tokens: list[Token]) -> list[Token]:
    """The two words of a phrase as one token, comments between them or not; changes the list."""
    ends = [index for index, token in enumerate(tokens) if len(token.text) == 2 and token.text.upper() in ENDS]
    for index in reversed(ends):
        first, last = tokens[index - 1], tokens[index]
        phrase = f"{first.text} {last.text}".upper()
        if index and phrase in PHRASES and QUOTED.isdisjoint((first.token_type, last.token_type)):
            kind = TIDB.tokenizer_class.KEYWORDS[phrase]
            tokens[index - 1:index + 1] = [Token(kind, phrase, first.line, first.col, first.start, last.end)]
    return tokens


def after_opening(sql: str, tokens: list[Token], index: int) -> tuple[bool, int]:
    """Where what a versioned comment holds begins, the comment's opening being just before `index`."""
    opening = tokens[index - 1]
    known = sql[opening.start:opening.end + 1] == opening.text
    if opening.text == "/*!" and index < len(tokens):
        version = tokens[index]
        return True, index + (version.start == opening.end + 1 and version.text.isdecimal() and len(version.text) > 4)
    if opening.text == "/*T![":
        closing = next((i for i in range(index, len(tokens)) if tokens[i].token_type is TokenType.R_BRACKET), None)
        if closing is None:
            raise SchemaError(f"{position(sql, opening.start)}: this '/*T![' has no ']'")
        if not sql[opening.end + 1:tokens[closing].start].replace(",", "").replace("_", "").isalnum():
            raise SchemaError(f"{position(sql, opening.start)}: this '/*T![' has no list of features")
        features = (token.text for token in tokens[index:closing] if token.token_type is not TokenType.COMMA)
        known = known and FEATURES.issuperset(features)
        index = closing + 1
    if known:
        return True, index
    while index < len(tokens):
        if closes(tokens, index):
            return False, index + 2
        index += 1
    raise SchemaError(f"{position(sql, opening.start)}: this comment has no '*/'")


def closes(tokens: list[Token], index: int) -> bool:
    """Whether the tokens at `index` are `*/`."""
    return (
        tokens[index].token_type is TokenType.STAR
        and index + 1 < len(tokens)
        and tokens[index + 1].token_type is TokenType.SLASH
        and tokens[index + 1].start == tokens[index].end + 1
    )


def statements(tokens: list[Token]) -> list[list[Token]]:
    """The tokens of each statement, without the semicolons."""
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.token_type is TokenType.SEMICOLON:
            parts.append([])
        else:
            parts[-1].append(token)
    return [part for part in parts if part]


def text_of(sql: str, tokens: list[Token]) -> str:
    """The text of a statement, without its semicolon; a versioned comment that begins or ends it is whole."""
    opening = _OPENING.search(sql, max(0, tokens[0].start - 99), tokens[0].start)
    closing = _CLOSING.match(sql, tokens[-1].end + 1)
    return sql[opening.start() if opening else tokens[0].start:closing.end() if closing else tokens[-1].end + 1]


def begins(sql: str, tokens: list[Token], statement: Callable[[TiDBParser], bool]) -> bool:
    """Whether the tokens begin as the reader says; the rest of them is not read."""
    return statement(cursor(sql, tokens))


def cursor(sql: str, tokens: list[Token], charset: str = "utf8mb4") -> TiDBParser:
    """A parser before the first of the tokens; `charset` is that of the client that sent the text."""
    parser = TiDBParser(dialect=TIDB)
    parser.charset = charset
    parser.rules = RULES
    parser.load(sql, tokens)
    return parser


def read(sql: str, tokens: list[Token], statement: Callable[[TiDBParser], T], charset: str = "utf8mb4") -> T:
    """What the reader makes of one statement, which it must read to its end; raises SchemaError."""
    parser = cursor(sql, tokens, charset)
    result = statement(parser)
    if not parser.at_end():
        parser.unexpected("the end of the statement")
    return result
