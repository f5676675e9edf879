"""Vectors of large messages and compression: rows → messages, and the files that claim-check stores.

A file's name stands in for a random one, and compressed bytes are compared by what they decompress to: TiCDC's
libraries find other matches than ours.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping

from support.vectors import keys as vector_keys
from support.codec_rows import unframed
from simulator.errors import ChangefeedError, EncodeError
from simulator.releases import Release
from simulator.ticdc.codecs import StoredFile
from simulator.ticdc.codecs.compression import decompressed
from support.vectors.codecs import MESSAGES, OF_ROW, Json, assert_refused, encoded, messages, wanted
from support.vectors.files import Vector
from support.vectors.keys import Kind
from support.vectors.options import codec_options


def check_extra(vector: Vector) -> None:
    """A vector of `extra`."""
    data, release = vector.data, vector.release
    try:
        made = messages([data], data, release)
        files = encoded([data], data, codec_options(data, release), release).files
    except (ChangefeedError, EncodeError) as error:
        assert_refused(error, data["error"])
        return
    assert data["error"] is None
    kept = data.get("files") or {}
    names = dict(zip((file.name for file in files), kept, strict=True))
    assert [plain(message, data, names, release) for message in made] == [
        plain(message, data, {}, release) for message in wanted(data)]
    theirs = [StoredFile(name, base64.b64decode(content)) for name, content in kept.items()]
    assert [stored(file, data, release) for file in files] == [stored(file, data, release) for file in theirs]


def plain(
    message: tuple[bytes | None, bytes, int], data: Json, names: Mapping[str, str], release: Release,
) -> list[bytes | None]:
    """Key and decompressed values of a message, with the vector's names of files."""
    key, value, _ = message
    parts = [value] if key is None else unframed(value)
    compression = codec_options(data, release).large_message_handle_compression
    texts = [key, *(decompressed(part, compression) for part in parts)]
    return [None if text is None else renamed(text, names) for text in texts]


def renamed(text: bytes, names: Mapping[str, str]) -> bytes:
    for ours, theirs in names.items():
        text = text.replace(ours.encode(), theirs.encode())
    return text


def stored(file: StoredFile, data: Json, release: Release) -> list[bytes | None]:
    """What a consumer gets out of a file."""
    if codec_options(data, release).claim_check_raw_value:
        return plain((None, file.content, 1), data, {}, release)
    content = json.loads(file.content)
    assert file.content == json.dumps(content, separators=(",", ":")).encode()
    assert list(content) == ["key", "value"]
    key = None if content["key"] is None else base64.b64decode(content["key"])
    return plain((key, base64.b64decode(content["value"]), 1), data, {}, release)


KINDS = {"extra": Kind(check_extra, vector_keys.of(f"{OF_ROW} protocol options error files", messages=MESSAGES))}
