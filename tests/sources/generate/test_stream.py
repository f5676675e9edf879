"""A stream of changes, wherever one looks into it."""

from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.sources.generate.stream import Stream
from support.streams import replayed, rows_before, streams

places = st.integers(0, 400)
far = st.one_of(st.just(0), st.integers(0, 10**12))


def window_of(stream: Stream, far: int, first: int, length: int) -> tuple[int, int]:
    """Transactions around the end of the fill, or far behind it."""
    begin = max(0, stream.fill_transactions - 20) + first + far
    return begin, begin + length


@given(streams, far, places, places, st.data())
@settings(max_examples=40, deadline=None)
def test_the_state_at_any_moment_and_a_window_give_the_state_behind_it(stream, far, first, length, data):
    first, end = window_of(stream, far, first, length)
    since = [data.draw(st.sampled_from([0, max(0, first - 30), first]), "since") for _ in stream.model.tables]

    changes = stream.window(first, end, since)

    assert replayed(rows_before(stream, first, since), changes) == rows_before(stream, end, since, 100)
