"""Templates whose values tell rows apart: a column that does so can be read back from each value.

Read from the left, a part of a template ends where a character comes that it has not. The same holds from the right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from simulator.generate.values.counted import AutoRandomRecipe, CountingRecipe, NumberedTextRecipe
from simulator.generate.values.parents import ReferenceRecipe
from simulator.generate.values.pools import pool
from simulator.generate.values.recipes import (
    ConstantRecipe,
    NullableRecipe,
    PooledRecipe,
    RangeRecipe,
    Recipe,
    RowTimeRecipe,
    TemplateRecipe,
    UpdateCountRecipe,
)
from simulator.tidb.model.types import family

DIGITS = frozenset("0123456789")
NUMBER = DIGITS | frozenset("+-.e")
TIME = DIGITS | frozenset("-: .")

Letters = frozenset[str]
"""Characters in lower case."""


def distinct_template(recipe: TemplateRecipe, telling: Sequence[int], prefix: int) -> TemplateRecipe | None:
    """Return the recipe if one of its `telling` parts can be read back from each value; None if none can.

    With a prefix, which is not -1, that part must be the first one, and lie within that many characters.
    """
    letters = [_letters(each) for each in recipe.recipes]
    literals = [text.lower() for text in recipe.literals]
    if prefix < 0:
        mirrored, last = [text[::-1] for text in reversed(literals)], len(letters) - 1
        readable = any(
            _readable(literals, letters, at) or _readable(mirrored, letters[::-1], last - at) for at in telling
        )
        return recipe if readable else None
    first = recipe.recipes[0]
    digits = min(prefix - len(recipe.literals[0]), 18)
    if 0 not in telling or not isinstance(first, CountingRecipe) or letters[0] != DIGITS or digits < 1:
        return None
    if not _readable(literals, letters, 0) or len(literals) == 2 and literals[1][:1] in DIGITS:
        return None
    counted = replace(first, most=min(first.most, 10**digits - 1), where=recipe.where)
    return replace(recipe, recipes=(counted, *recipe.recipes[1:]))


def _readable(literals: Sequence[str], letters: Sequence[Letters | None], at: int) -> bool:
    """Return whether each part up to that one ends where a character comes that it has not, or where the rest is fixed."""
    for place in range(min(at + 1, len(letters) - 1)):
        after, those = _following(literals, letters, place), letters[place]
        if after is None or those is None or after & those:
            return False
    return True


def _following(literals: Sequence[str], letters: Sequence[Letters | None], place: int) -> Letters | None:
    """Return the characters that may come after a part; None for any."""
    if literals[place + 1]:
        return frozenset(literals[place + 1][0])
    if place + 1 == len(letters):
        return frozenset()
    those, after = letters[place + 1], _following(literals, letters, place + 1)
    return None if those is None or after is None else those | after


def _letters(recipe: Recipe) -> Letters | None:
    """Return the characters of all values; None for any."""
    match recipe:
        case CountingRecipe(type, first, step):
            if family(type) in ("date", "datetime"):
                return TIME
            plain = family(type) in ("integer", "bit", "string", "text") and first >= 0 and step > 0
            return DIGITS if plain else NUMBER
        case AutoRandomRecipe():
            return DIGITS
        case UpdateCountRecipe() | RangeRecipe() | RowTimeRecipe():
            return NUMBER | TIME
        case ConstantRecipe(text):
            return frozenset((text or b"").decode().lower())
        case PooledRecipe(values, type, seed):
            return frozenset(b"".join(pool(values, type, seed).texts.to_pylist()).decode().lower())
        case NullableRecipe(inner) | ReferenceRecipe(inner):
            return _letters(inner)
        case NumberedTextRecipe(_, pooled):
            words = _letters(pooled)
            return None if words is None else words | DIGITS | {"-"}
        case TemplateRecipe(literals, recipes):
            parts = [frozenset("".join(literals).lower()), *map(_letters, recipes)]
            known = [each for each in parts if each is not None]
            return frozenset().union(*known) if len(known) == len(parts) else None
    return None
