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


def error(text: str, read: Callable[[Cursor], object]) -> str:
    with pytest.raises(SchemaError) as caught:
        read(cursor(text))
    return str(caught.value)


def test_a_phrase_is_accepted_whole_or_not_at_all() -> None:
    """Its case, and blanks and comments inside, do not matter."""
    place = cursor("if /* or */ Not  exists t")
    assert not place.accept("IF EXISTS")
    assert place.word() == "IF"
    assert place.accept("IF NOT EXISTS")
    assert place.name() == "t"
    assert place.at_end()


def test_two_words_of_the_grammar_that_are_one_token_are_one_word() -> None:
    """The phrase is asked for as it is, its words alone are not there."""
    place = cursor("partition  by (a)")
    assert not place.accept("PARTITION")
    assert place.accept("PARTITION BY")
    assert place.word() == "("


def test_a_quoted_name_or_a_string_is_no_word() -> None:
    """So that `select` between back-quotes begins no query."""
    place = cursor("`select` 'from' x'41' where")
    assert (place.word(), place.word_after(), place.word_ahead(2), place.word_ahead(3)) == ("", "", "", "WHERE")
    kinds = []
    while not place.at_end():
        kinds.append(place.kind())
        place.literal()
    assert kinds == ["name", "string", "hex", "word"]


def test_the_cursor_never_leaves_the_statement() -> None:
    """After the last token every word is empty, however often it is taken."""
    place = cursor("a")
    assert [place.take(), place.take(), place.literal(), place.word(), place.kind()] == ["A", "", "", "", ""]
    assert place.at_end()
    assert place.word_ahead(9) == ""
    assert place.next_text() == "the end of the statement"


def test_a_parenthesis_is_closed_by_its_own() -> None:
    """A parenthesis inside a string closes nothing."""
    assert cursor("((a) ')') b").closing_ahead(0) == 5
    assert cursor("((a)").closing_ahead(0) == -1


def test_text_since_a_token_is_as_written() -> None:
    """The text includes blanks and comments between the tokens, and nothing after them."""
    place = cursor("x  a +/* more */ `b` , c")
    place.take()
    start = place.next_token()
    for _ in range(3):
        place.take()
    assert place.text_since(start) == "a +/* more */ `b`"


@pytest.mark.parametrize(
    ("text", "read", "message"),
    [
        (
            "a\n  b",
            lambda place: (place.name(), place.expect("c")),
            "line 2, column 3: 'b' is not expected here. Accepted: 'c'",
        ),
        (
            "a",
            lambda place: (place.name(), place.name("a column")),
            "line 1, column 2: the end of the statement is not expected here. Accepted: a column",
        ),
        (
            "group",
            lambda place: place.name(),
            "line 1, column 1: 'group' is a reserved word, which is a name only between back-quotes",
        ),
        ("-1", lambda place: place.integer(), "line 1, column 1: '-' is not expected here. Accepted: a whole number"),
        (
            "(1, 2",
            lambda place: place.parenthesised_list(Cursor.integer),
            "line 1, column 6: the end of the statement is not expected here. Accepted: ',' or ')'",
        ),
        (
            "tabel",
            lambda place: place.unexpected("TABLE or VIEW", ("TABLE", "VIEW")),
            "line 1, column 1: 'tabel' is not expected here. Did you mean 'TABLE'? Accepted: TABLE or VIEW",
        ),
    ],
)
def test_an_unexpected_token_is_reported_with_its_position(
    text: str, read: Callable[[Cursor], object], message: str
) -> None:
    """The message lists what would be accepted."""
    assert error(text, read) == message


def test_places_are_counted_in_characters_from_one() -> None:
    """The width of a character does not matter."""
    assert [position("é表\nx", offset) for offset in (0, 2, 3, 4)] == [
        "line 1, column 1",
        "line 1, column 3",
        "line 2, column 1",
        "line 2, column 2",
    ]
