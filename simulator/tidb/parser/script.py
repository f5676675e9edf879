"""Split a script into statements, as a MySQL client does before it sends them one by one.

Only quotes and comments decide where a statement ends. A versioned comment is part of its statement. A comment line
`-- fails 1062` before a statement names the error that it must raise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import MappingProxyType

from simulator.errors import SchemaError, SqlError
from simulator.tidb.parser.cursor import position
from simulator.tidb.parser.tokens import tokenize
from simulator.tidb.syntax.session import ScriptStatement

ESCAPED = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|`[^`]*+`"""
PLAIN = r"""'[^']*+'|"[^"]*+"|`[^`]*+`"""


def _boundary_pattern(quoted: str) -> re.Pattern[str]:
    """Return the pattern of the next comment, quoted text or end, with the empty statements after it. Adjacent quoted texts are one with a doubled quote."""
    return re.compile(
        rf"""
    (?P<quoted> {quoted})
  | (?P<versioned> /\*[Tt]?!(?:{quoted}|[^'"`*]|\*(?!/))*+\*/)
  | (?P<hint> /\*\+.*?\*/)
  | (?P<comment> --(?=\s|\Z)[^\n]*+ | \#[^\n]*+ | /\*(?![Tt]?!).*?\*/)
  | (?P<end> ;[\s;]*+)
  | (?P<open> ['"`] | /\*)
""",
        re.VERBOSE | re.DOTALL,
    )


BOUNDARIES = MappingProxyType({True: _boundary_pattern(ESCAPED), False: _boundary_pattern(PLAIN)})
"""By whether a backslash is an escape character."""

NO_ESCAPES = "NO_BACKSLASH_ESCAPES"
SETS_MODE = re.compile(r"SET\b.*\bsql_mode\b", re.IGNORECASE | re.DOTALL)

BLANK = re.compile(r"\s*")
FAILS = re.compile(r"--\s+fails\s+(\d{3,5})\b.*", re.IGNORECASE | re.DOTALL)
FAILS_WITHOUT_NUMBER = re.compile(r"--\s+fails(\s*|\s*[^\s\w].*|\s+\d.*)", re.IGNORECASE | re.DOTALL)
DELIMITER = re.compile(r"DELIMITER(?=\s)", re.IGNORECASE)
COMMENT_ALONE = re.compile(r"/\*[Tt]?!(?:(?!\*/).)*\*/\s*", re.DOTALL)


def split_script(text: str, sql_mode: frozenset[str] = frozenset()) -> tuple[ScriptStatement, ...]:
    """Return the statements of a script; `sql_mode` is the session's before it.

    A SET sql_mode in the script decides whether backslashes are escape characters after it.

    Raises SqlError 1064 with line and column for an unclosed quote or comment, for DELIMITER, for `-- fails` without a
    number, and for a NUL character.
    """
    return tuple(_split_statements(text, NO_ESCAPES not in sql_mode))


def _split_statements(text: str, escapes: bool) -> Iterator[ScriptStatement]:
    if "\0" in text:
        raise _syntax_error(text, text.index("\0"), "a NUL character: this is no text of SQL")
    offset, line, counted_to = 0, 1, 0
    begin = -1
    error: int | None = None
    while offset <= len(text):
        match = BOUNDARIES[escapes].search(text, offset)
        start = match.start() if match else len(text)
        kind = match.lastgroup if match else "end"
        if begin < 0:
            begin = _statement_start(text, offset, start, kind)
        if kind == "open":
            raise _syntax_error(text, start, _unclosed_message(text, start))
        if kind == "comment" and begin < 0 and match:
            error = _expected_error(text, start, match[0]) or error
        if kind == "end":
            if begin >= 0:
                line += text.count("\n", counted_to, begin)
                counted_to = begin
                statement = text[begin:start].rstrip()
                if not _is_comment(statement):
                    yield ScriptStatement(statement, line, error)
                    escapes = NO_ESCAPES not in statement.upper() if SETS_MODE.match(statement) else escapes
                    error = None
            begin = -1
        offset = match.end() if match else len(text) + 1
    if error is not None:
        raise _syntax_error(text, len(text), f"no statement follows that `-- fails {error}` could be about")


def _statement_start(text: str, offset: int, start: int, kind: str | None) -> int:
    """Return the offset of a statement that begins at `offset`, before or with the token at `start`, or -1."""
    blank = BLANK.match(text, offset, start)
    first = blank.end() if blank else offset
    if first == start and kind in ("end", "comment"):
        return -1
    if DELIMITER.match(text, first):
        raise _syntax_error(
            text, first, "DELIMITER is not simulated, as no stored routines are. Accepted: statements that end with ';'"
        )
    return first


def _expected_error(text: str, start: int, comment: str) -> int | None:
    """Return the error number of a `-- fails` comment on its own line; raises SqlError if it has no number."""
    match, is_bare = FAILS.fullmatch(comment), FAILS_WITHOUT_NUMBER.fullmatch(comment)
    if match is None and is_bare is None or text[text.rfind("\n", 0, start) + 1 : start].strip():
        return None
    if match is None:
        raise _syntax_error(
            text, start, "`-- fails` names no error: expected is `-- fails 1062`, a number of 3 to 5 digits"
        )
    return int(match[1])


def _is_comment(statement: str) -> bool:
    """Whether the text has only versioned comments that TiDB does not execute."""
    if not COMMENT_ALONE.match(statement):
        return False
    try:
        return not tokenize(statement)
    except SchemaError:
        return False


def _unclosed_message(text: str, start: int) -> str:
    if text[start] == "/":
        return "this comment has no '*/'"
    return f"what {text[start]} opens here is not closed"


def _syntax_error(text: str, offset: int, what: str) -> SqlError:
    return SqlError(1064, "42000", f"You have an error in your SQL syntax: {position(text, offset)}: {what}")
