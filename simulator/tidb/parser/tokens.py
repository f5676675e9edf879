"""Split a text into tokens, by sqlglot's tokenizer for MySQL with TiDB's words, and parse those that are literals.

Versioned comments are opened exactly where TiDB executes their content. Literals have the values of TiDB's lexer.
Statements of a program that differ in plain literals share the text without them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal

from sqlglot.dialects.mysql import MySQL
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType

from simulator import limits
from simulator.errors import SchemaError
from simulator.tidb.parser.cursor import MAX_UNSIGNED, NOT_WORDS, PHRASES, Cursor, position
from simulator.tidb.syntax.expressions import Literal, Node, Word

FEATURES = frozenset(
    """
    auto_rand auto_id_cache auto_rand_base clustered_index force_inc global_index placement pre_split resource_group ttl
    affinity
    """.split()
)
"""The features whose comments `/*T![feature] … */` TiDB executes (TiDB: pkg/parser/tidb/features.go)."""

SYMBOLS = frozenset(("/*+", "||", ">=", "<=", "<>", "!=", ":=", "<=>", "->", "->>", "&&", "@@"))
"""TiDB's symbols of several characters. sqlglot has those of other dialects too."""

SUM = re.compile(r"([0-9.]+e[+-]?[0-9]+)[+-]", re.IGNORECASE)
QUOTED = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|`[^`]*+`|--\s[^\n]*+|\#[^\n]*+|/\*(?![!T]).*?\*/"""
BRACKETS = re.compile(rf"[()]|{QUOTED}", re.DOTALL)
"""A parenthesis, or a text, a name or a comment that may hold some."""

WORDS = re.compile(rf"{QUOTED}|\w++|\S", re.DOTALL)
"""A text, a name, a comment, a word or a symbol."""

LARGE = 1 << 20
"""Characters of SQL whose words are looked at before sqlglot's slow tokenizer does."""

PHRASE_ENDS = frozenset(phrase.split()[1] for phrase in PHRASES)
MYSQL = MySQL()


def is_keyword(word: str) -> bool:
    """Whether TiDB's tokenizer has the word, the phrase or the symbol."""
    return word in SYMBOLS or word in PHRASES or word.replace("_", "").isalnum()


class Tokenizer(MySQL.Tokenizer):
    """sqlglot's tokenizer with only TiDB's words, without commands as one token, and with TiDB's versioned comments."""

    KEYWORDS = {
        **{word: kind for word, kind in MySQL.Tokenizer.KEYWORDS.items() if is_keyword(word)},
        "/*!": TokenType.HINT,
        "/*T!": TokenType.HINT,
        "/*T![": TokenType.HINT,
    }
    COMMANDS = set()


class WithoutEscapes(Tokenizer):
    """The tokenizer under NO_BACKSLASH_ESCAPES, where a backslash is an ordinary character."""

    STRING_ESCAPES = ["'", '"']


def tokenize(sql: str, sql_mode: frozenset[str] = frozenset()) -> list[Token]:
    """Return the tokens of a text, with versioned comments opened, as NO_BACKSLASH_ESCAPES and ANSI_QUOTES of `sql_mode`
    have it.

    Raises SchemaError for an unclosed quote or comment, and for a text that is not valid Unicode.
    """
    check_unicode(sql)
    check_size(sql)
    tokenizer = (WithoutEscapes if "NO_BACKSLASH_ESCAPES" in sql_mode else Tokenizer)(MYSQL)
    try:
        tokens = join_phrases(open_comments(sql, split_number_sums(sql, tokenizer.tokenize(sql))))
    except SqlglotError:
        start = tokenizer.tokens[-1].end + 1 if tokenizer.tokens else 0
        start += len(sql[start:]) - len(sql[start:].lstrip())
        raise SchemaError(f"{position(sql, start)}: {tokenizer_message(sql, start)}") from None
    return [as_name(sql, token) for token in tokens] if "ANSI_QUOTES" in sql_mode else tokens


def as_name(sql: str, token: Token) -> Token:
    """Return a string in double quotes as a name, whose escapes count as in a string (tidb pkg/parser/lexer.go Lex)."""
    if token.token_type is not TokenType.STRING or sql[token.start] != '"':
        return token
    return Token(TokenType.IDENTIFIER, token.text, token.line, token.col, token.start, token.end)


def split_number_sums(sql: str, tokens: list[Token]) -> list[Token]:
    """Split `1e0+1` into three tokens. For sqlglot it is one number."""
    if not any(token.token_type is TokenType.NUMBER and SUM.match(token.text) for token in tokens):
        return tokens
    result: list[Token] = []
    waiting = tokens[::-1]
    while waiting:
        token = waiting.pop()
        number = SUM.match(token.text) if token.token_type is TokenType.NUMBER else None
        if number is None:
            result.append(token)
            continue
        end, sign = token.end, token.start + number.end(1)
        while waiting and waiting[-1].start == end + 1 and waiting[-1].token_type in (TokenType.DOT, TokenType.NUMBER):
            end = waiting.pop().end
        result.append(Token(TokenType.NUMBER, number[1], token.line, token.col, token.start, sign - 1))
        kind = TokenType.PLUS if sql[sign] == "+" else TokenType.DASH
        result.append(Token(kind, sql[sign], token.line, token.col, sign, sign))
        rest = Tokenizer(MYSQL).tokenize(sql[sign + 1 : end + 1])
        waiting += [
            Token(each.token_type, each.text, token.line, token.col, each.start + sign + 1, each.end + sign + 1)
            for each in reversed(rest)
        ]
    return result


def tokenizer_message(sql: str, start: int) -> str:
    """Return why no token begins at an offset. sqlglot's own messages differ between its two tokenizers."""
    if sql[start : start + 1] in tuple("'\"`"):
        return f"what {sql[start]} opens here is not closed"
    if sql.startswith("/*", start):
        return "this comment has no '*/'"
    return "this literal has other characters than digits"


def check_unicode(sql: str) -> None:
    """Raise SchemaError at a NUL that is in no text, and at half of a surrogate pair, which UTF-8 cannot encode."""
    if "\0" in sql and (nul := next((word for word in WORDS.finditer(sql) if word[0] == "\0"), None)):
        raise SchemaError(f"{position(sql, nul.start())}: a NUL character: this is no text of SQL")
    try:
        sql.encode()
    except UnicodeEncodeError as error:
        raise SchemaError(f"{position(sql, error.start)}: {sql[error.start]!r} is not valid Unicode") from None


def check_size(sql: str) -> None:
    """Raise SchemaError for a text that is too long, with too many or too long words, or whose parentheses are nested
    too deeply."""
    if len(sql) > limits.SQL_BYTES:
        most = limits.size(limits.SQL_BYTES)
        raise SchemaError(f"the SQL is too long, with {len(sql):,} characters: at most {most} are accepted")
    if sql.count("(") > limits.SQL_NESTING:
        _check_nesting(sql)
    if len(sql) > LARGE:
        _check_words(sql)


def _check_nesting(sql: str) -> None:
    depth = 0
    for found in BRACKETS.finditer(sql):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if depth > limits.SQL_NESTING:
            raise SchemaError(
                f"{position(sql, found.start())}: parentheses are nested too deeply: at most "
                f"{limits.SQL_NESTING:,} levels are accepted"
            )


def _check_words(sql: str) -> None:
    for number, word in enumerate(WORDS.finditer(sql), 1):
        if number > limits.SQL_TOKENS:
            raise SchemaError(f"the SQL has too many words and symbols: at most {limits.SQL_TOKENS:,} are accepted")
        size = word.end() - word.start()
        if size > limits.SQL_WORD and (word[0][0].isalnum() or word[0][0] == "_") and word[0][:2].lower() not in BASES:
            raise SchemaError(
                f"{position(sql, word.start())}: a word of {size:,} characters: at most {limits.SQL_WORD:,} are accepted"
            )


BASES = ("0x", "0b")
"""The beginnings of words that may be long."""


def open_comments(sql: str, tokens: list[Token]) -> list[Token]:
    """Remove the frame of `/*! … */` and `/*T![feature] … */`, or the whole comment if TiDB does not know the feature.

    A comment that TiDB executes may extend to the end of the text. Raises SchemaError if another one is not closed.
    """
    opened: list[Token] = []
    inside = False
    index = 0
    while index < len(tokens):
        token = tokens[index]
        index += 1
        if token.token_type is TokenType.HINT and token.text in ("/*!", "/*T!", "/*T!["):
            inside, index = skip_comment_opening(sql, tokens, index)
        elif inside and is_comment_end(tokens, index - 1):
            inside = False
            index += 1
        else:
            opened.append(token)
    return opened


def join_phrases(tokens: list[Token]) -> list[Token]:
    """Join the two words of a phrase to one token, with or without comments between them. Changes the list."""
    ends = [index for index, token in enumerate(tokens) if len(token.text) == 2 and token.text.upper() in PHRASE_ENDS]
    for index in reversed(ends):
        first, last = tokens[index - 1], tokens[index]
        phrase = f"{first.text} {last.text}".upper()
        if index and phrase in PHRASES and NOT_WORDS.isdisjoint((first.token_type, last.token_type)):
            kind = Tokenizer.KEYWORDS[phrase]
            tokens[index - 1 : index + 1] = [Token(kind, phrase, first.line, first.col, first.start, last.end)]
    return tokens


def skip_comment_opening(sql: str, tokens: list[Token], index: int) -> tuple[bool, int]:
    """Return whether TiDB executes the versioned comment that opens before `index`, and the index of the next token.

    That is the comment's first token, or the first one after a comment that TiDB does not execute.
    """
    opening = tokens[index - 1]
    is_executed = sql[opening.start : opening.end + 1] == opening.text
    if opening.text == "/*!" and index < len(tokens):
        version = tokens[index]
        return True, index + (version.start == opening.end + 1 and version.text.isdecimal() and len(version.text) > 4)
    if opening.text == "/*T![":
        closing = next((i for i in range(index, len(tokens)) if tokens[i].token_type is TokenType.R_BRACKET), None)
        if closing is None:
            raise SchemaError(f"{position(sql, opening.start)}: this '/*T![' has no ']'")
        if not sql[opening.end + 1 : tokens[closing].start].replace(",", "").replace("_", "").isalnum():
            raise SchemaError(f"{position(sql, opening.start)}: this '/*T![' has no list of features")
        features = (token.text for token in tokens[index:closing] if token.token_type is not TokenType.COMMA)
        is_executed = is_executed and FEATURES.issuperset(features)
        index = closing + 1
    if is_executed:
        return True, index
    while index < len(tokens):
        if is_comment_end(tokens, index):
            return False, index + 2
        index += 1
    raise SchemaError(f"{position(sql, opening.start)}: this comment has no '*/'")


def is_comment_end(tokens: list[Token], index: int) -> bool:
    """Whether the tokens at `index` are `*/`."""
    return (
        tokens[index].token_type is TokenType.STAR
        and index + 1 < len(tokens)
        and tokens[index + 1].token_type is TokenType.SLASH
        and tokens[index + 1].start == tokens[index].end + 1
    )


# -- literals and units of time ------------------------------------------------------------------------------------


INTRODUCERS = ("utf8", "utf8mb4", "ascii", "latin1", "binary")
"""The charsets that TiDB accepts as `_charset'…'` (pkg/parser/charset/charset.go, GetDefaultCollationLegacy)."""


def _parse_string(cursor: Cursor) -> Node:
    """Parse a string. Adjacent strings are one."""
    if cursor.next_token().token_type is TokenType.NATIONAL_STRING:
        return Literal("string", cursor.literal(), "utf8", True)
    text = cursor.literal()
    while cursor.kind() == "string" and cursor.next_token().token_type is TokenType.STRING:
        text += cursor.literal()
    return Literal("string", text, cursor.charset)


def _parse_introduced(cursor: Cursor) -> Node:
    """Parse `_charset'…'` or `_charset x'…'`."""
    charset = cursor.literal()[1:]
    if charset.lower() not in INTRODUCERS:
        raise SchemaError(f"Unsupported character introducer: '{charset.lower()}'", number=1115)
    if cursor.kind() == "string":
        return Literal("string", cursor.literal(), charset.lower(), True)
    if cursor.kind() not in ("hex", "bit"):
        cursor.unexpected("a string")
    return LITERALS[cursor.kind()](cursor)


def _parse_number(cursor: Cursor) -> Node:
    at = cursor.next_token()
    text = cursor.literal().lower()
    if not set(text) <= set("0123456789.e+-") or text.endswith("e") or not text[0].isdigit() and text[0] != ".":
        cursor.fail(f"{text!r} is not a number", at)
    return number_literal(text)


def number_literal(text: str) -> Literal:
    """Return a number as TiDB keeps it: an integer of up to 64 bits, else a decimal, or a float with an exponent."""
    if "e" in text:
        value = float(text)
        if math.isinf(value):
            raise SchemaError(f"Illegal double '{text}' value found during parsing", number=1367)
        return float_literal(value)
    whole, point, fraction = text.partition(".")
    whole = whole.lstrip("0") or "0"
    if not point and len(whole) <= 20 and int(whole) <= MAX_UNSIGNED:
        return Literal("integer", whole)
    return Literal("decimal", f"{whole}.{fraction}" if fraction else whole)


def float_literal(value: float) -> Literal:
    digits = len(Decimal(repr(value)).normalize().as_tuple().digits)
    return Literal("float", f"{value:.{digits - 1}e}")


def parse_fraction(cursor: Cursor) -> Node:
    """Parse `.5`, which the tokenizer splits into a dot and a number."""
    touching = cursor.touches_next()
    cursor.take()
    if not touching or cursor.kind() != "number":
        cursor.unexpected("an expression")
    text = cursor.literal().lower()
    if "." in text:
        cursor.unexpected("an operator")
    return number_literal(f".{text}")


def _parse_hex(cursor: Cursor) -> Node:
    at, written = cursor.next_token(), cursor.written()
    digits = cursor.literal().lower()
    if written.startswith("0X") or not set(digits) <= set("0123456789abcdef"):
        cursor.fail("this is not a hexadecimal literal", at)
    if len(digits) % 2 and not written.startswith("0x"):
        cursor.fail("a hexadecimal literal takes an even number of digits", at)
    return Literal("hex", "0" * (len(digits) % 2) + digits)


def _parse_bit(cursor: Cursor) -> Node:
    at, written = cursor.next_token(), cursor.written()
    digits = cursor.literal()
    if written.startswith("0B") or not set(digits) <= set("01"):
        cursor.fail("this is not a bit literal", at)
    return Literal("bit", digits and (digits.lstrip("0") or "0"))


LITERALS: dict[str, Callable[[Cursor], Node]] = {
    "string": _parse_string,
    "introducer": _parse_introduced,
    "number": _parse_number,
    "hex": _parse_hex,
    "bit": _parse_bit,
}
"""By the kind of the next token."""


COMPOUND = tuple(
    """
    SECOND_MICROSECOND MINUTE_MICROSECOND MINUTE_SECOND HOUR_MICROSECOND HOUR_SECOND HOUR_MINUTE DAY_MICROSECOND
    DAY_SECOND DAY_MINUTE DAY_HOUR YEAR_MONTH
    """.split()
)
UNITS = frozenset(("MICROSECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR", *COMPOUND))


def parse_unit(cursor: Cursor) -> Word:
    spelled = cursor.word()
    word = spelled.removeprefix("SQL_TSI_")
    if word not in UNITS or word != spelled and word in ("MICROSECOND", *COMPOUND):
        cursor.unexpected("a unit of time", UNITS)
    cursor.take()
    return Word(word)


LITERAL = re.compile(
    """(?<![\\w$@.'])(?:'([^'\\\\\ud800-\udfff]*)'(?!')|([0-9]{1,18}(?:\\.[0-9]{1,18})?)(?![\\w$.]))"""
)
"""A string without escapes, or a number without an exponent, that no word, variable or string touches."""


def without_literals(text: str) -> tuple[str, list[Node]]:
    """Return a text with `?` for each literal, and the literals. Those in comments, strings and names count, too: then the
    new text has fewer parameters than there are literals."""
    found = LITERAL.findall(text)
    values: list[Node] = [
        number_literal(number) if number else Literal("string", string, "utf8mb4") for string, number in found
    ]
    return (LITERAL.sub("?", text) if values else text), values
