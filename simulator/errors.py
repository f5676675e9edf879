"""The errors that users see, by cause.

SimulatorError
├── UserError            the input, the options or this machine's setup is wrong: exit code 2
│   ├── SchemaError      CREATE TABLE text that TiDB rejects
│   ├── DdlError         a statement that TiDB or TiCDC rejects
│   ├── SqlError         a statement of a script that TiDB rejects, with MySQL's error number
│   ├── SnapshotError    a snapshot directory or a value in it
│   ├── ChangefeedError  a sink-uri or changefeed.toml that TiCDC rejects
│   ├── ScenarioError    a scenario file
│   └── EncodeError      a row or event that TiCDC cannot encode
├── ExpectationError     an expectation of a scenario is not met: exit code 1
└── DeliveryError        Kafka or the disk did not accept records, or a sending process died: exit code 3

A message says what is wrong, the value, and what would be accepted, on one line; several problems have a line each.
Secrets are shown as ***: the part before @ in a URI, and the value of a parameter with a secret's name.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable
from urllib.parse import unquote

HIDDEN = "***"

SECRET = re.compile(r"pass|pasw|pwd|secret|token$|(access|account)[-_]?key|signature|credential|private", re.IGNORECASE)
"""Words in names of secrets, including misspellings (tiflow v8.5.3: pkg/util/uri.go has a similar list)."""

PARAMETER = re.compile(r"""(?<![^\s?&='"])([^\s?&='"]++)=(?!\*{3}(?:[\s)]|$))[^&'"\n]*""")
END = re.compile(r"[?#]")
NO_PORT = re.compile(r"://[^/]*:[^/\]]*[^/\]\d]")
USER = re.compile(r"""(:/{1,2})[^\s'"]*@""")


class SimulatorError(Exception):
    """Base of the errors that this package raises; `exit_code` is the exit code of the command line.

    Each argument is a line for users.
    """

    exit_code = 2

    def __str__(self) -> str:
        return "\n".join(map(str, self.args))


class UserError(SimulatorError):
    """The input, the options or the machine's setup is wrong."""


class SchemaError(UserError):
    """Text of a table definition that TiDB rejects, or with a type that TiDB does not have.

    `number` is MySQL's error number for text that TiDB's parser rejects, mostly 1064. `said` is TiDB's own text for
    other numbers.
    """

    def __init__(self, *texts: object, number: int = 1064, said: str = "") -> None:
        super().__init__(*texts)
        self.number = number
        self.said = said


class CodedError(UserError):
    """An error of TiDB or TiCDC, with its own code before the text; empty if it has none."""

    def __init__(self, text: str, code: str = "") -> None:
        super().__init__(f"[{code}] {text}" if code else text)
        self.code = code
        self.text = text


class DdlError(CodedError):
    """A statement that cannot be parsed, applied or replicated.

    `code` is TiDB's or TiCDC's own: `parser:1064` for a syntax error, `schema:1146` and others for a statement that
    does not fit the tables, `CDC:ErrSnapshotSchemaNotFound` and others for one that stops the changefeed; empty for a
    statement that is not DDL.
    """


class SqlError(UserError):
    """An error of TiDB for a statement on rows: `ERROR 1062 (23000): Duplicate entry '6' for key 't.PRIMARY'`."""

    def __init__(self, number: int, state: str, text: str) -> None:
        super().__init__(f"ERROR {number} ({state}): {text}")
        self.number = number
        self.state = state
        self.text = text


class SnapshotError(UserError):
    """A snapshot that cannot be read: a missing file, a malformed row, a value out of its column's range."""


class ChangefeedError(CodedError):
    """A sink-uri or changefeed.toml that TiCDC rejects; `code` is TiCDC's own error code."""


class ScenarioError(UserError):
    """A scenario file that cannot be run; one argument for each problem."""


class ExpectationError(SimulatorError):
    """An expectation of a scenario that is not met; one argument for each line of the difference."""

    exit_code = 1


class EncodeError(CodedError):
    """An event that TiCDC's encoder rejects; `code` is TiCDC's own error code."""


class NotSimulatedError(EncodeError):
    """An event that TiCDC's encoder accepts, and this simulator's does not."""


class DeliveryError(SimulatorError):
    """Kafka or the file system did not accept records, or a process that made them died."""

    exit_code = 3


def shortened(text: str, most: int = 80) -> str:
    """Return the user's SQL, or other long text, on one line, of which only the beginning is shown."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]}… ({len(line):,} characters)"


def abridged(line: str) -> str:
    """Return a line of a message without the middle of long words and of a very long whole."""
    line = LONG_WORD.sub(lambda word: f"{word[0][:100]}…{word[0][-20:]}", line)
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 300]} … {line[-300:]}"


LONG_WORD = re.compile(r"[^\s/]{200,}")
"""A word that is no path, as only names and SQL of the user are."""

LONGEST_LINE = 1500


def printable(text: str) -> str:
    """Return text on one line for any terminal.

    Characters that are not printable (controls, line breaks, marks of writing direction, lone surrogates) become
    escapes.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def printable_json(document: object, indent: int | None = None) -> str:
    """Return JSON for any terminal, with JSON's escapes."""
    return escaped_json(json.dumps(document, ensure_ascii=False, indent=indent))


def escaped_json(text: str) -> str:
    """Return a text of JSON for any terminal, with JSON's escapes."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ` Did you mean 'x'?` for the closest known name, or an empty string."""
    close = difflib.get_close_matches(name, list(known), n=1) if len(name) <= LONGEST_NAME else []
    return f" Did you mean {close[0]!r}?" if close else ""


LONGEST_NAME = 200
"""Characters of a name that may be a misspelt one; difflib takes long for long texts."""


def is_secret(name: str) -> bool:
    """Return whether a setting of that name holds a secret."""
    return SECRET.search(unquote(name)) is not None


def mask_secrets(text: str) -> str:
    """Return the text with the secrets of URIs and parameters masked, rather too many than too few."""
    text = PARAMETER.sub(lambda match: f"{match[1]}={HIDDEN}" if is_secret(match[1]) else match[0], text)
    return USER.sub(rf"\1{HIDDEN}@", text)


def uri_without_secrets(uri: str) -> str:
    """Return a URI without parameters, user and password; these may contain ? or # by mistake."""
    head = END.split(uri, maxsplit=1)[0]
    return (
        END.split(mask_secrets(uri), maxsplit=1)[0] if NO_PORT.search(head) and "@" not in head else mask_secrets(head)
    )
