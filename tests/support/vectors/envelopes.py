"""Vectors of the envelopes: DDL statements and watermarks → messages, in both protocols, of every release."""

from __future__ import annotations

import re
from collections.abc import Iterator

from support.vectors import keys as vector_keys
from simulator.errors import ChangefeedError
from simulator.ticdc.codecs import CODECS, DdlEvent
from simulator.tidb.ddl import actions
from simulator.tidb.parser.read import read_statement
from simulator.tidb.syntax.definitions import TableName
from simulator.tidb.syntax.statements import CreateTable, RenameTable
from support.vectors.codecs import MESSAGES, Json, assert_refused, wanted
from support.vectors.files import Vector
from support.vectors.keys import Kind
from support.vectors.options import codec_options


WATERMARK = -1
"""The `type_code` that stands for a watermark."""


def check_ddl_event(vector: Vector) -> None:
    """A vector of `ddl_events`: as many messages as events, each with the bytes that TiCDC sent."""
    data, release = vector.data, vector.release
    try:
        chosen = codec_options(data, release)
    except ChangefeedError as error:
        assert_refused(error, data.get("error"))
        return
    codec = CODECS[chosen.protocol]
    if data["type_code"] in (WATERMARK, None):
        entry = codec.watermark(data["commit_ts"], chosen, release)
        entries = [entry] if entry else []
    else:
        entries = [codec.ddl(event, chosen, release) for event in events(data)]
    assert data.get("error") is None
    assert [(*codec.message(entry, chosen, release), 0) for entry in entries] == wanted(data)


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

KINDS = {"ddl_events": Kind(check_ddl_event, vector_keys.of(
    "protocol options error query sql type_code schema table commit_ts", messages=MESSAGES))}
