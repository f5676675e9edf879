"""Arguments and results of functions: texts, None for NULL."""

from __future__ import annotations

import functools
from collections.abc import Callable

Text = str | None


def strict(function: Callable[..., Text]) -> Callable[..., Text]:
    """Make a function return NULL if any argument is NULL."""

    @functools.wraps(function)
    def call(*arguments: Text) -> Text:
        return None if None in arguments else function(*arguments)

    return call
