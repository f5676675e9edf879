"""Reads CREATE, ALTER and DROP SEQUENCE.

One law: each option comes out under the words TiDB writes it back with.
"""

from __future__ import annotations

from types import MappingProxyType

from simulator.tidb.parser.cursor import Cursor
from simulator.tidb.parser.ddl_names import comma_list, table_name
from simulator.tidb.parser.options import begins_option, read_option
from simulator.tidb.syntax.definitions import TableName
from simulator.tidb.syntax.objects import AlterSequence, CreateSequence, DropSequence, SequenceOption
from simulator.tidb.syntax.tables import TableOption

NUMBERED = MappingProxyType({
    "INCREMENT": ("INCREMENT BY", "BY"), "START": ("START WITH", "WITH"), "MINVALUE": ("MINVALUE", ""),
    "MAXVALUE": ("MAXVALUE", ""), "CACHE": ("CACHE", ""), "RESTART": ("RESTART WITH", "WITH"),
})
"""First word → the words written back, and the word that may stand before the number in place of `=`."""

PLAIN = MappingProxyType({
    "NOMINVALUE": "NO MINVALUE", "NOMAXVALUE": "NO MAXVALUE", "NOCACHE": "NOCACHE", "NOCYCLE": "NOCYCLE",
    "CYCLE": "CYCLE",
})
WORDS = (*NUMBERED, *PLAIN, "NO")


def create_sequence(cursor: Cursor) -> CreateSequence:
    if_not_exists = cursor.accept("IF NOT EXISTS")
    name = sequence_name(cursor)
    options = sequence_options(cursor)
    return CreateSequence(name, options, table_options(cursor), if_not_exists)


def alter_sequence(cursor: Cursor) -> AlterSequence:
    if_exists = cursor.accept("IF EXISTS")
    name = sequence_name(cursor)
    if cursor.word() not in WORDS:
        cursor.unexpected(f"an option of a sequence: {', '.join(WORDS)}", WORDS)
    return AlterSequence(name, sequence_options(cursor, altering=True), if_exists)


def drop_sequence(cursor: Cursor) -> DropSequence:
    if_exists = cursor.accept("IF EXISTS")
    return DropSequence(comma_list(cursor, sequence_name), if_exists)


def sequence_name(cursor: Cursor) -> TableName:
    return table_name(cursor, "the name of a sequence")


def sequence_options(cursor: Cursor, altering: bool = False) -> tuple[SequenceOption, ...]:
    options = []
    while cursor.word() in WORDS and (altering or cursor.word() != "RESTART"):
        options.append(sequence_option(cursor))
    return tuple(options)


def sequence_option(cursor: Cursor) -> SequenceOption:
    word = cursor.take()
    if word == "NO":
        word += cursor.word()
        if word not in PLAIN:
            cursor.unexpected("MINVALUE, MAXVALUE, CACHE or CYCLE", ("MINVALUE", "MAXVALUE", "CACHE", "CYCLE"))
        cursor.take()
    if word in PLAIN:
        return SequenceOption(PLAIN[word])
    name, instead = NUMBERED[word]
    said = bool(instead) and cursor.accept(instead) or cursor.accept("=")
    if word == "RESTART" and not said and cursor.kind() != "number" and cursor.word() not in ("-", "+"):
        return SequenceOption("RESTART")
    return SequenceOption(name, signed(cursor))


def signed(cursor: Cursor) -> int:
    """A whole number of 64 bits, with its sign."""
    token = cursor.next_token()
    negative = cursor.accept("-")
    if not negative:
        cursor.accept("+")
    value = cursor.integer() * (-1 if negative else 1)
    if not -2**63 <= value < 2**63:
        cursor.fail(f"{value} is out of the range of 64 bits", token)
    return value


def table_options(cursor: Cursor) -> tuple[TableOption, ...]:
    options = []
    while begins_option(cursor):
        options.append(read_option(cursor))
        cursor.accept(",")
    return tuple(options)
