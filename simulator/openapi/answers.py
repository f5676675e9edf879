"""Answers as TiCDC's gin writes them: JSON in Go's form, and errors with TiCDC's codes and their status of HTTP."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

from simulator.changefeeds.errors import text_of
from simulator.errors import ChangefeedError, CodedError, DeliveryError, SimulatorError, mask_secrets

HTML = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})
"""What Go's encoding/json escapes in texts."""


def answer(document: Any, status: int = 200, indented: bool = False) -> Response:
    """Return a document as an answer; TiCDC indents some."""
    separators = (",", ": ") if indented else (",", ":")
    text = json.dumps(document, ensure_ascii=False, separators=separators, indent=4 if indented else None)
    content = text.translate(HTML).encode("utf-8", "replace")
    return Response(content, status, {"content-type": "application/json; charset=utf-8"})


BAD_REQUESTS = (
    "ErrAPIInvalidParam",
    "ErrSinkURIInvalid",
    "ErrStartTsBeforeGC",
    "ErrChangeFeedNotExists",
    "ErrTargetTsBeforeStartTs",
    "ErrTableIneligible",
    "ErrFilterRuleInvalid",
    "ErrChangefeedUpdateRefused",
    "ErrMySQLConnectionError",
    "ErrMySQLInvalidConfig",
    "ErrCaptureNotExist",
    "ErrSchedulerRequestFailed",
)
"""Errors whose status is 400, also inside of others; that of all others is 500 (tiflow v8.5.3: cdc/api/util.go)."""

INVALID = "CDC:ErrAPIInvalidParam"


def invalid(text: str) -> ChangefeedError:
    """Return the error of a parameter that TiCDC refuses in words of its own."""
    return ChangefeedError(text, INVALID)


def invalid_body(error: Exception) -> ChangefeedError:
    """Return the error of a body that TiCDC cannot read."""
    return ChangefeedError(f"invalid api parameter: {error}", INVALID)


def error_answer(error: SimulatorError) -> Response:
    """Return the answer for an error."""
    code = _code(error)
    text = mask_secrets(text_of(error) if isinstance(error, CodedError) and error.code else f"[{code}]{error}")
    bad = any(f"CDC:{name}" in text for name in BAD_REQUESTS)
    return answer({"error_msg": text, "error_code": code}, 400 if bad else 500, indented=True)


def _code(error: SimulatorError) -> str:
    """Return TiCDC's code; of an error that only the simulator has, that of a wrong parameter."""
    if isinstance(error, CodedError) and error.code:
        return error.code
    return "CDC:ErrKafkaNewProducer" if isinstance(error, DeliveryError) else INVALID


def refusal(code: str, text: str, status: int) -> Response:
    """Return the answer of the simulator's own refusals, in TiCDC's form."""
    return answer({"error_msg": f"[{code}]{text}", "error_code": code}, status, indented=True)
