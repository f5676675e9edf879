"""LIKE patterns of MySQL."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable


@functools.lru_cache(256)
def compile_like(pattern: str, escape: str) -> Callable[[str], bool]:
    """Return a function that matches a text against the pattern."""
    pieces, characters = [], iter(pattern)
    for character in characters:
        if character == escape:
            pieces.append(re.escape(next(characters, escape)))
        else:
            pieces.append({"%": ".*", "_": "."}.get(character) or re.escape(character))
    regexp = re.compile("".join(pieces), re.DOTALL)
    return lambda text: regexp.fullmatch(text) is not None
