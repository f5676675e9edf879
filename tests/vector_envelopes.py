"""Vectors of the envelopes: DDL statements and watermarks → messages, in both protocols, of every release."""

from __future__ import annotations

import re
from collections.abc import Iterator

from simulator.codecs import CODECS, DdlEvent
from simulator.ddl import actions
from simulator.ddl.read import read_statement
from simulator.ddl.statements import CreateTable, RenameTable
from simulator.schema.syntax import TableName
from vector_codecs import WATERMARK, Json, options, wanted
from vector_files import Vector


def check_ddl_event(vector: Vector) -> None:
    """A vector of `ddl_events`: as many messages as events, each with the bytes that TiCDC sent."""
    data = vector.data
    codec, chosen = CODECS[data["protocol"]], options(data, vector.release)
    if data["type_code"] in (WATERMARK, None):
        entry = codec.watermark(data["commit_ts"], chosen, vector.release)
        entries = [entry] if entry else []
    else:
        entries = [codec.ddl(event, chosen, vector.release) for event in events(data)]
    assert [(*codec.message(entry, chosen, vector.release), 0) for entry in entries] == wanted(data)


def events(data: Json) -> Iterator[DdlEvent]:
    """The events of a statement: one, or one for each part of a RENAME or CREATE of several tables, whose text is
    already the parts' texts in a row, each with its `;`. How statements become events is the business of `ddl`."""
    if not data["query"].endswith(";"):
        yield DdlEvent(data["commit_ts"], data["schema"], data["table"], data["query"], data["type_code"])
        return
    for part in re.findall(r".+?;(?=CREATE |RENAME |$)", data["query"], re.DOTALL):
        name = made(part)
        yield DdlEvent(data["commit_ts"], name.schema or data["schema"], name.name, part, SEVERAL[data["type_code"]])


def made(part: str) -> TableName:
    """The table as it is called after a RENAME or CREATE."""
    statement = read_statement(part)
    if isinstance(statement, RenameTable):
        return statement.pairs[-1][1]
    assert isinstance(statement, CreateTable)
    return TableName(statement.schema, statement.name)


SEVERAL = {actions.RENAME_TABLES: actions.RENAME_TABLE, actions.CREATE_TABLES: actions.CREATE_TABLE}
"""Jobs of several tables → the type of the events that the new architecture makes of them."""
