"""The cursor passes over what is asked for, and says where something else stands."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from simulator.errors import SchemaError
from simulator.tidb.parser.cursor import Cursor, position
from simulator.tidb.parser.splitting import GRAMMAR
from simulator.tidb.parser.tokens import tokenize


def cursor(text: str) -> Cursor:
    return Cursor(text, tokenize(text), GRAMMAR)


def test_a_phrase_is_accepted_whole_or_not_at_all() -> None:
    """Its case, and blanks and comments inside, do not matter. Two words that are one token are one word."""
    place = cursor("if /* or */ Not  exists t")
    assert not place.accept("IF EXISTS")
    assert (place.word(), place.accept("IF NOT EXISTS"), place.name(), place.at_end()) == ("IF", True, "t", True)
    place = cursor("partition  by (a)")
    assert (place.accept("PARTITION"), place.accept("PARTITION BY"), place.word()) == (False, True, "(")


def test_a_quoted_name_or_a_string_is_no_word() -> None:
    """So that `select` between back-quotes begins no query."""
    place = cursor("`select` 'from' x'41' where")
    assert (place.word(), place.word_after(), place.word_ahead(2), place.word_ahead(3)) == ("", "", "", "WHERE")
    assert [(place.kind(), place.literal())[0] for _ in range(4)] == ["name", "string", "hex", "word"]


def test_the_cursor_never_leaves_the_statement() -> None:
    """After the last token every word is empty, however often it is taken."""
    place = cursor("a")
    assert [place.take(), place.take(), place.literal(), place.word(), place.kind()] == ["A", "", "", "", ""]
    assert (place.at_end(), place.word_ahead(9), place.next_text()) == (True, "", "the end of the statement")


def test_parentheses_and_text_since_a_token() -> None:
    """A parenthesis inside a string closes nothing. The text has the blanks and comments between the tokens."""
    assert (cursor("((a) ')') b").closing_ahead(0), cursor("((a)").closing_ahead(0)) == (5, -1)
    place = cursor("x  a +/* more */ `b` , c")
    place.take()
    start = place.next_token()
    for _ in range(3):
        place.take()
    assert place.text_since(start) == "a +/* more */ `b`"


END = "the end of the statement is not expected here. Accepted:"


@pytest.mark.parametrize(
    ("text", "read", "message"),
    [
        (
            "a\n  b",
            lambda place: (place.name(), place.expect("c")),
            "2, column 3: 'b' is not expected here. Accepted: 'c'",
        ),
        ("a", lambda place: (place.name(), place.name("a column")), f"1, column 2: {END} a column"),
        ("group", Cursor.name, "1, column 1: 'group' is a reserved word, which is a name only between back-quotes"),
        ("-1", Cursor.integer, "1, column 1: '-' is not expected here. Accepted: a whole number"),
        ("(1, 2", lambda place: place.parenthesised_list(Cursor.integer), f"1, column 6: {END} ',' or ')'"),
        (
            "tabel",
            lambda place: place.unexpected("TABLE or VIEW", ("TABLE", "VIEW")),
            "1, column 1: 'tabel' is not expected here. Did you mean 'TABLE'? Accepted: TABLE or VIEW",
        ),
    ],
)
def test_an_unexpected_token_is_reported_with_its_position(
    text: str, read: Callable[[Cursor], object], message: str
) -> None:
    """The message lists what would be accepted."""
    with pytest.raises(SchemaError) as caught:
        read(cursor(text))
    assert str(caught.value) == f"line {message}"


def test_places_are_counted_in_characters_from_one() -> None:
    """The width of a character does not matter."""
    found = [position("é表\nx", offset) for offset in (0, 2, 3, 4)]
    assert found == [f"line {line}, column {column}" for line, column in ((1, 1), (1, 3), (2, 1), (2, 2))]
