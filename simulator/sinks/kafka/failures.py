"""What to do about a piece that Kafka did not take: send it again, in halves, or never."""

from __future__ import annotations

from kafka.errors import (
    AuthorizationError,
    InvalidRecordError,
    InvalidTimestampError,
    InvalidTopicError,
    MessageSizeTooLargeError,
    RecordListTooLargeError,
    SaslAuthenticationFailedError,
    UnsupportedCompressionTypeError,
)

from simulator.sinks.kafka.connect import reason
from simulator.sinks.kafka.flight import BATCH_HEADER, Interrupted, Piece, RECORD_OVERHEAD

TOO_LARGE = (MessageSizeTooLargeError, RecordListTooLargeError)

REFUSED = (AuthorizationError, SaslAuthenticationFailedError)

HOPELESS = (*REFUSED, InvalidRecordError, InvalidTimestampError, InvalidTopicError, UnsupportedCompressionTypeError)
"""Sending again does not help."""


def remedy(piece: Piece, error: BaseException | None, limit: int | None, own: bool) -> list[Piece] | str:
    """The pieces to send in its place, or why there is no use.

    `limit` is the topics' max.message.bytes where known. `own` says that the error is the piece's own for sure: a plain
    kafka-python producer fails what waits beside a message too large with the same error.
    """
    if isinstance(error, TOO_LARGE):
        half = len(piece.values) // 2
        if half:
            return [piece.part(0, half), piece.part(half, len(piece.values))]
        if own or limit is None or piece.size + BATCH_HEADER + RECORD_OVERHEAD > limit:
            return _too_large(piece, limit)
    if isinstance(error, HOPELESS) or isinstance(error, Interrupted) and isinstance(error.cause, REFUSED):
        return reason(error)
    return [piece]


def _too_large(piece: Piece, limit: int | None) -> str:
    takes = "Kafka takes" if limit is None else f"the {limit} bytes that Kafka takes"
    size = f"{piece.size} bytes, and {BATCH_HEADER} or more around it,"
    return f"a message of {size} is larger than {takes} (max.message.bytes of the topic)"
