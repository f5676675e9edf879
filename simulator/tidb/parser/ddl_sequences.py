"""Reads CREATE, ALTER and DROP SEQUENCE.

One law: each option comes out under the words TiDB writes it back with.
"""

from __future__ import annotations

from types import MappingProxyType

from simulator.tidb.parser.cursor import TiDBParser
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


def create_sequence(parser: TiDBParser) -> CreateSequence:
    if_not_exists = parser.accept("IF NOT EXISTS")
    name = sequence_name(parser)
    options = sequence_options(parser)
    return CreateSequence(name, options, table_options(parser), if_not_exists)


def alter_sequence(parser: TiDBParser) -> AlterSequence:
    if_exists = parser.accept("IF EXISTS")
    name = sequence_name(parser)
    if parser.word() not in WORDS:
        parser.unexpected(f"an option of a sequence: {', '.join(WORDS)}", WORDS)
    return AlterSequence(name, sequence_options(parser, altering=True), if_exists)


def drop_sequence(parser: TiDBParser) -> DropSequence:
    if_exists = parser.accept("IF EXISTS")
    return DropSequence(comma_list(parser, sequence_name), if_exists)


def sequence_name(parser: TiDBParser) -> TableName:
    return table_name(parser, "the name of a sequence")


def sequence_options(parser: TiDBParser, altering: bool = False) -> tuple[SequenceOption, ...]:
    options = []
    while parser.word() in WORDS and (altering or parser.word() != "RESTART"):
        options.append(sequence_option(parser))
    return tuple(options)


def sequence_option(parser: TiDBParser) -> SequenceOption:
    word = parser.take()
    if word == "NO":
        word += parser.word()
        if word not in PLAIN:
            parser.unexpected("MINVALUE, MAXVALUE, CACHE or CYCLE", ("MINVALUE", "MAXVALUE", "CACHE", "CYCLE"))
        parser.take()
    if word in PLAIN:
        return SequenceOption(PLAIN[word])
    name, instead = NUMBERED[word]
    said = bool(instead) and parser.accept(instead) or parser.accept("=")
    if word == "RESTART" and not said and parser.kind() != "number" and parser.word() not in ("-", "+"):
        return SequenceOption("RESTART")
    return SequenceOption(name, signed(parser))


def signed(parser: TiDBParser) -> int:
    """A whole number of 64 bits, with its sign."""
    token = parser.next_token()
    negative = parser.accept("-")
    if not negative:
        parser.accept("+")
    value = parser.integer() * (-1 if negative else 1)
    if not -2**63 <= value < 2**63:
        parser.fail(f"{value} is out of the range of 64 bits", token)
    return value


def table_options(parser: TiDBParser) -> tuple[TableOption, ...]:
    options = []
    while begins_option(parser):
        options.append(read_option(parser))
        parser.accept(",")
    return tuple(options)
