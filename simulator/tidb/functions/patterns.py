"""LIKE patterns of MySQL."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable


@functools.lru_cache(256)
def compile_like(pattern: str, escape: str) -> Callable[[str], bool]:
    """Whether a text fits the pattern, character by character."""
    pieces, characters = [], iter(pattern)
    for character in characters:
        if character == escape:
            pieces.append(re.escape(next(characters, escape)))
        else:
            pieces.append({"%": ".*", "_": "."}.get(character) or re.escape(character))
    return lambda text: re.compile("".join(pieces), re.DOTALL).fullmatch(text) is not None
