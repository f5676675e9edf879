"""Vectors of large messages and compression: rows → messages, and the files that claim-check stores.

A file's name stands in for a random one, and compressed bytes are compared by what they decompress to: TiCDC's
libraries find other matches than ours.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from codec_rows import unframed
from simulator import changefeed
from simulator.codecs import CODECS, StoredFile
from simulator.codecs.compression import decompressed
from simulator.errors import ChangefeedError, EncodeError
from vector_codecs import messages, options, rows, wanted
from vector_files import Vector

Json = Mapping[str, Any]
LARGE = "sink.kafka-config.large-message-handle"


def check_extra(vector: Vector) -> None:
    """A vector of `extra`."""
    data = vector.data
    try:
        changefeed.load(*settings(data), vector.release)
        made = messages([data], options(data, vector.release), vector.release)
        files = CODECS[data["protocol"]].encode(rows([data]), options(data, vector.release), vector.release).files
    except (ChangefeedError, EncodeError) as error:
        code, text = (data["error"] or "").lstrip("[").split("]", 1)
        assert (error.code, error.text[: len(text)]) == (code, text)
        return
    assert data["error"] is None
    names = dict(zip((file.name for file in files), data.get("files") or {}, strict=True))
    assert [plain(message, data, names) for message in made] == [plain(message, data, {}) for message in wanted(data)]
    theirs = [StoredFile(name, base64.b64decode(content)) for name, content in (data.get("files") or {}).items()]
    assert [stored(file, data) for file in files] == [stored(file, data) for file in theirs]


def settings(data: Json) -> tuple[str, str]:
    """sink-uri and changefeed.toml that say the options."""
    large = {name: text for name, text in data["options"].items() if name.startswith(("large-", "claim-"))}
    texts = [f"{name} = {text if text == 'true' else json.dumps(text)}" for name, text in large.items()]
    parameters = "".join(f"&{name}={text}" for name, text in data["options"].items() if name not in large)
    return f"kafka://k:9092/t?protocol={data['protocol']}{parameters}", "\n".join([f"[{LARGE}]", *texts])


def plain(message: tuple[bytes | None, bytes, int], data: Json, names: Mapping[str, str]) -> list[bytes | None]:
    """Key and decompressed values of a message, with the vector's names of files."""
    key, value, _ = message
    parts = [value] if key is None else unframed(value)
    texts = [key, *(decompressed(part, options(data).large_message_handle_compression) for part in parts)]
    return [None if text is None else renamed(text, names) for text in texts]


def renamed(text: bytes, names: Mapping[str, str]) -> bytes:
    for ours, theirs in names.items():
        text = text.replace(ours.encode(), theirs.encode())
    return text


def stored(file: StoredFile, data: Json) -> list[bytes | None]:
    """What a consumer gets out of a file."""
    if options(data).claim_check_raw_value:
        return plain((None, file.content, 1), data, {})
    content = json.loads(file.content)
    assert file.content == json.dumps(content, separators=(",", ":")).encode()
    assert list(content) == ["key", "value"]
    key = None if content["key"] is None else base64.b64decode(content["key"])
    return plain((key, base64.b64decode(content["value"]), 1), data, {})
