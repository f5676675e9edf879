"""Rows whose whole message claim-check put into a file, made whole again.

One law: the file must tell of the row that the message tells of (tiflow v8.5.3: pkg/sink/codec/common/helper.go
UnmarshalClaimCheckMessage).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable

from simulator.errors import UserError
from simulator.read.decode.compressed import plain
from simulator.read.decode.events import Event, RowEvent

Decode = Callable[[bytes | None, bytes | None], tuple[Event, ...]]


def whole(event: RowEvent, read: Callable[[str], bytes], decode: Decode) -> RowEvent:
    """The row with all its columns; raises UserError where the file cannot be read or tells of another row."""
    content = read(event.stored_at)
    try:
        found = decode(*_message(content))
    except (ValueError, TypeError, UserError) as error:
        raise UserError(f"{event.stored_at} holds no message: {error}") from error
    if len(found) == 1 and isinstance(found[0], RowEvent) and _same_row(event, found[0]):
        return found[0]
    raise UserError(f"{event.stored_at} holds another row than the message that names it")


def _message(content: bytes) -> tuple[bytes | None, bytes]:
    """Key and value: JSON with both in base64, which 7.3.0 may compress, or with claim-check-raw-value the value
    alone."""
    content = plain(content)
    if content[:7] != b'{"key":':
        return None, content
    document = json.loads(content)
    key = document["key"]
    return None if key is None else base64.b64decode(key), base64.b64decode(document["value"])


def _same_row(cut: RowEvent, full: RowEvent) -> bool:
    sides = (cut.before, full.before), (cut.after, full.after)
    return (cut.commit_ts, cut.schema, cut.table, cut.op) == (full.commit_ts, full.schema, full.table, full.op) and all(
        full_side is not None and small.items() <= full_side.items() for small, full_side in sides if small is not None)
