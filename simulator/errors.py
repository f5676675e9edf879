"""Every error a user can meet, by whose fault it is.

SimulatorError
├── UserError            the input, the options or this machine's setup is wrong: exit code 2
│   ├── SchemaError      CREATE TABLE text that TiDB would not take
│   ├── DdlError         a statement that TiDB, or TiCDC, does not take
│   ├── SqlError         a statement of a script that TiDB refuses, by MySQL's number
│   ├── SnapshotError    a snapshot directory or a value in it
│   ├── ChangefeedError  sink-uri or changefeed.toml, as TiCDC itself rejects it
│   ├── ScenarioError    a scenario file
│   └── EncodeError      a row or event that TiCDC could not put on the wire
├── ExpectationError     a scenario expects something else than what happens in it: exit code 1
└── DeliveryError        Kafka (or the disk) did not take what was sent, or a process that sent died: exit code 3

A message says what is wrong, the value, and what would be accepted, on one line; several things on one line each. It
has no secrets in it: what stands before @ in a URI, and the value of a parameter whose name tells a secret, are shown
as ***.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable
from urllib.parse import unquote

HIDDEN = "***"

SECRET = re.compile(r"pass|pasw|pwd|secret|token$|(access|account)[-_]?key|signature|credential|private", re.IGNORECASE)
"""Words in names of what nobody may read, misspelt ones too (tiflow v8.5.3: pkg/util/uri.go has much the same)."""

PARAMETER = re.compile(r"""(?<![^\s?&='"])([^\s?&='"]++)=(?!\*{3}(?:[\s)]|$))[^&'"\n]*""")
END = re.compile(r"[?#]")
NO_PORT = re.compile(r"://[^/]*:[^/\]]*[^/\]\d]")
USER = re.compile(r"""(:/{1,2})[^\s'"]*@""")


class SimulatorError(Exception):
    """Anything this package raises on purpose; `exit_code` is what the command line ends with.

    Each argument is a line of its own for people.
    """

    exit_code = 2

    def __str__(self) -> str:
        return "\n".join(map(str, self.args))


class UserError(SimulatorError):
    """The input, the options or the machine's setup is wrong."""


class SchemaError(UserError):
    """Table definition text that TiDB would reject, or that names a type TiDB does not have.

    `number` is MySQL's, of what TiDB's parser refuses: 1064 for most of it. `said` is TiDB's own text, where it has
    another number.
    """

    def __init__(self, *texts: object, number: int = 1064, said: str = "") -> None:
        super().__init__(*texts)
        self.number = number
        self.said = said


class CodedError(UserError):
    """What TiDB or TiCDC refuses, with its own error code before the text; empty where it has none."""

    def __init__(self, text: str, code: str = "") -> None:
        super().__init__(f"[{code}] {text}" if code else text)
        self.code = code
        self.text = text


class DdlError(CodedError):
    """A statement that cannot be read, applied or replicated.

    `code` is TiDB's or TiCDC's own: `parser:1064` for text that is no statement, `schema:1146` and the like for one
    that does not fit the tables, `CDC:ErrSnapshotSchemaNotFound` and the like for one that stops the changefeed;
    empty for a statement that is not DDL.
    """


class SqlError(UserError):
    """What TiDB says of a statement on rows: `ERROR 1062 (23000): Duplicate entry '6' for key 't.PRIMARY'`."""

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
    """A scenario file that cannot be played; an argument for each mistake in it."""


class ExpectationError(SimulatorError):
    """What a scenario expects is not what there is; an argument for each line of what differs."""

    exit_code = 1


class EncodeError(CodedError):
    """An event that TiCDC's encoder refuses; `code` is TiCDC's own error code."""


class DeliveryError(SimulatorError):
    """Kafka or the file system did not take the records, or a process that made them died."""

    exit_code = 3


def printable(text: str) -> str:
    """Text on one line that any terminal takes: what is not printable (controls, line breaks, marks that turn the
    direction of writing, lone surrogates) is written as escapes.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def printable_json(document: object, indent: int | None = None) -> str:
    """JSON that any terminal takes, with the escapes that JSON has."""
    text = json.dumps(document, ensure_ascii=False, indent=indent)
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """` Did you mean 'x'?` for the closest known name, or nothing."""
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" Did you mean {close[0]!r}?" if close else ""


def is_secret(name: str) -> bool:
    """Whether a setting of that name holds a secret."""
    return SECRET.search(unquote(name)) is not None


def masked(text: str) -> str:
    """Any text with the secrets of the URIs and parameters in it hidden; rather too much of it than too little."""
    text = PARAMETER.sub(lambda found: f"{found[1]}={HIDDEN}" if is_secret(found[1]) else found[0], text)
    return USER.sub(rf"\1{HIDDEN}@", text)


def shown(uri: str) -> str:
    """A URI without its parameters, and without its user and password, which may hold ? or # by mistake."""
    head = END.split(uri, maxsplit=1)[0]
    return END.split(masked(uri), maxsplit=1)[0] if NO_PORT.search(head) and "@" not in head else masked(head)
