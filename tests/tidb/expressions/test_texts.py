"""Keys of single texts compare as those of columns of texts do."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.tidb.collations import has_weights, sort_keys
from simulator.tidb.expressions.texts import collation_key, fold_case
from simulator.tidb.functions.texts import like_matcher
from simulator.tidb.model.types import COLLATIONS

TEXTS = st.text(st.sampled_from("aAäßsS b%_\\\0é\u0301文😀") | st.characters(exclude_categories=["Cs"]), max_size=6)


@given(st.sampled_from(sorted(COLLATIONS)), TEXTS, TEXTS)
def test_keys_compare_as_sort_keys_do(collation: str, one: str, other: str) -> None:
    key = collation_key(collation) or str
    first, second = sort_keys(collation, pa.array([one, other])).to_pylist()
    assert (key(one) == key(other), key(one) < key(other)) == (first == second, first < second)


LETTERS = st.characters(max_codepoint=0xFFFF, exclude_categories=["Cs"])


@given(st.sampled_from(sorted(filter(has_weights, COLLATIONS))), LETTERS, LETTERS)
def test_characters_are_folded_to_one_if_they_are_equal(collation: str, one: str, other: str) -> None:
    fold = fold_case(collation)
    first, second = sort_keys(collation, pa.array([one, other])).to_pylist()
    assert fold is not None and (fold(one) == fold(other)) == (first == second)


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("", [""], ["a"]),
        ("%", ["", "a\nb"], []),
        ("a%", ["a", "ab"], ["", "ba"]),
        ("%a", ["a", "ba"], ["ab"]),
        ("%a%", ["a", "bab"], ["b"]),
        ("a%b", ["ab", "a%b", "a\nb"], ["ba", "abc"]),
        ("_", ["a", "😀", "%"], ["", "ab"]),
        (r"\%\_\a\\", ["%_a\\"], ["a_a\\"]),
        ("a\\", ["a\\"], ["a"]),
        ("%_a_%", ["xay"], ["a", "xa", "ay"]),
    ],
)
def test_patterns_match_whole_texts(pattern: str, matching: list[str], other: list[str]) -> None:
    matches = like_matcher(pattern, "\\")
    assert [text for text in (*matching, *other) if matches(text)] == matching
