"""Text files in other character sets than UTF-8, read as UTF-8."""

from __future__ import annotations

import codecs
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from simulator.errors import SnapshotError
from simulator.files import decode_text
from simulator.settings import CHARSETS

UTF8 = "utf8mb4"

ACCEPTED = f"UTF-8, or with --charset {', '.join(name for name in CHARSETS if name != UTF8)}"
"""What an error of a text file in another charset names."""

ALIKE = ("gbk", "gb18030")

_UNDEFINED = "mysql-latin1"


def _as_control(error: UnicodeError) -> tuple[str | bytes, int]:
    """Convert the five bytes that cp1252 leaves undefined, as MySQL's latin1 does."""
    if isinstance(error, UnicodeDecodeError):
        return error.object[error.start : error.end].decode("latin-1"), error.end
    if isinstance(error, UnicodeEncodeError):
        return error.object[error.start : error.end].encode("latin-1"), error.end
    raise error


codecs.register_error(_UNDEFINED, _as_control)


def as_utf8(blocks: Iterator[bytes], charset: str, path: str) -> Iterator[bytes]:
    """Yield text as UTF-8; raise SnapshotError for bytes that the character set does not have."""
    if charset == UTF8:
        yield from blocks
        return
    decoder = codecs.getincrementaldecoder(CHARSETS[charset])(_UNDEFINED if charset == "latin1" else "strict")
    read = 0
    for block, final in _with_last(blocks):
        try:
            yield decoder.decode(block, final).encode("utf-8", "surrogatepass")
        except UnicodeDecodeError as error:
            shown = error.object[error.start : error.start + 4].hex(" ")
            where = max(0, read - (len(error.object) - len(block))) + error.start
            raise SnapshotError(f"{path}: not {charset}: bytes {shown} at byte {where:,}") from None
        except UnicodeError as error:
            raise SnapshotError(f"{path}: not {charset}: {error}") from None
        read += len(block)


def text_of(data: bytes, charset: str, place: str) -> str:
    """Return the text of a file, without a byte order mark; raise UserError for another character set."""
    if charset == UTF8:
        return decode_text(data, place)
    return b"".join(as_utf8(iter((data,)), charset, place)).decode().removeprefix("\ufeff")


def _with_last(blocks: Iterator[bytes]) -> Iterator[tuple[bytes, bool]]:
    yield from ((block, False) for block in blocks)
    yield b"", True


def bytes_of(values: pa.Array, charset: str) -> pa.Array | None:
    """Return the bytes that stood in the file for values (binary) of a binary column; None if they cannot be told."""
    texts = values.view(pa.string())
    if charset == UTF8 or pc.all(pc.fill_null(pc.string_is_ascii(texts), True)).as_py():
        return values
    if charset in ALIKE:  # each character that they read is written as the bytes that it was read from
        encoded = values.dictionary_encode()
        made = [text.decode().encode(CHARSETS[charset]) for text in encoded.dictionary.to_pylist()]
        return pa.array(made, pa.binary()).take(encoded.indices)
    if charset != "latin1":
        return None
    lengths = pc.fill_null(pc.utf8_length(texts), 0).to_numpy()
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    held = pc.fill_null(texts, "")
    together = pc.binary_join(pa.ListArray.from_arrays(pa.array([0, len(held)], pa.int32()), held), "")
    data = together[0].as_py().encode("cp1252", _UNDEFINED)
    made = pa.BinaryArray.from_buffers(pa.binary(), len(values), [None, pa.py_buffer(offsets), pa.py_buffer(data)])
    return pc.if_else(values.is_valid(), made, pa.scalar(None, pa.binary()))
