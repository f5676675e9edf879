"""A text of SQL statements taken apart, as a MySQL client does before it sends them one by one.

One law: quotes and comments alone decide where a statement ends; what it says is for others. A versioned comment is
part of its statement; a comment line `-- fails 1062` before a statement names the error that it must raise.
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


def _delimiter_pattern(quoted: str) -> re.Pattern[str]:
    """What a statement's end is told by; two quoted texts side by side are one with a doubled quote."""
    return re.compile(
        rf"""
    (?P<quoted> {quoted})
  | (?P<versioned> /\*[Tt]?!(?:{quoted}|[^'"`*]|\*(?!/))*+\*/)
  | (?P<hint> /\*\+.*?\*/)
  | (?P<comment> --(?=\s|\Z)[^\n]*+ | \#[^\n]*+ | /\*(?![Tt]?!).*?\*/)
  | (?P<end> ;)
  | (?P<open> ['"`] | /\*)
""",
        re.VERBOSE | re.DOTALL,
    )


MARKS = MappingProxyType({True: _delimiter_pattern(ESCAPED), False: _delimiter_pattern(PLAIN)})
"""By whether a backslash escapes."""

NO_ESCAPES = "NO_BACKSLASH_ESCAPES"
SETS_MODE = re.compile(r"SET\b.*\bsql_mode\b", re.IGNORECASE | re.DOTALL)

BLANK = re.compile(r"\s*")
FAILS = re.compile(r"--\s+fails\s+(\d{3,5})\b.*", re.IGNORECASE | re.DOTALL)
FAILS_WITHOUT_NUMBER = re.compile(r"--\s+fails(\s*|\s*[^\s\w].*|\s+\d.*)", re.IGNORECASE | re.DOTALL)
DELIMITER = re.compile(r"DELIMITER(?=\s)", re.IGNORECASE)
COMMENT_ALONE = re.compile(r"/\*[Tt]?!(?:(?!\*/).)*\*/\s*", re.DOTALL)


def split_script(text: str, sql_mode: frozenset[str] = frozenset()) -> tuple[ScriptStatement, ...]:
    """The statements of a script, in order; `sql_mode` is the session's before it.

    Backslashes are read as the last SET sql_mode says that names NO_BACKSLASH_ESCAPES or not.

    Raises SqlError 1064 with line and column where a quote or comment is never closed, for DELIMITER, for `-- fails`
    without a number, and for a text that holds NUL.
    """
    return tuple(_split_statements(text, NO_ESCAPES not in sql_mode))


def _split_statements(text: str, escapes: bool) -> Iterator[ScriptStatement]:
    if "\0" in text:
        raise _syntax_error(text, text.index("\0"), "a NUL character: this is no text of SQL")
    here, line, counted = 0, 1, 0
    begin = -1
    fails: int | None = None
    while here <= len(text):
        mark = MARKS[escapes].search(text, here)
        start = mark.start() if mark else len(text)
        kind = mark.lastgroup if mark else "end"
        if begin < 0:
            begin = _statement_start(text, here, start, kind)
        if kind == "open":
            raise _syntax_error(text, start, _unclosed_message(text, start))
        if kind == "comment" and begin < 0 and mark:
            fails = _expected_error(text, start, mark[0]) or fails
        if kind == "end":
            if begin >= 0:
                line += text.count("\n", counted, begin)
                counted = begin
                written = text[begin:start].rstrip()
                if not _is_comment(written):
                    yield ScriptStatement(written, line, fails)
                    escapes = NO_ESCAPES not in written.upper() if SETS_MODE.match(written) else escapes
                    fails = None
            begin = -1
        here = mark.end() if mark else len(text) + 1
    if fails is not None:
        raise _syntax_error(text, len(text), f"no statement follows that `-- fails {fails}` could be about")


def _statement_start(text: str, here: int, start: int, kind: str | None) -> int:
    """Where a statement begins between two marks, or with the second one; -1 where none does."""
    blank = BLANK.match(text, here, start)
    first = blank.end() if blank else here
    if first == start and kind in ("end", "comment"):
        return -1
    if DELIMITER.match(text, first):
        raise _syntax_error(
            text, first, "DELIMITER is not simulated, as no stored routines are. Accepted: statements that end with ';'"
        )
    return first


def _expected_error(text: str, start: int, comment: str) -> int | None:
    """The error that a comment on a line of its own names; raises SqlError for `-- fails` without one."""
    if text[text.rfind("\n", 0, start) + 1 : start].strip():
        return None
    found = FAILS.fullmatch(comment)
    if found is None and FAILS_WITHOUT_NUMBER.fullmatch(comment):
        raise _syntax_error(
            text, start, "`-- fails` names no error: expected is `-- fails 1062`, a number of 3 to 5 digits"
        )
    return int(found[1]) if found else None


def _is_comment(statement: str) -> bool:
    """Whether versioned comments that TiDB does not open are all there is."""
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
