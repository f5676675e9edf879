"""Which options of `verify` go together."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.consumer.verify.options import Asked, check
from simulator.errors import UserError

TOPIC = "kafka://127.0.0.1:9092/bank"


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (Asked(), "nothing to verify: give SOURCE"),
        (Asked(truth=Path("t")), "nothing to verify: give SOURCE"),
        (Asked("out", truth=Path("t"), after="a"), "--truth and --after both say which rows are expected: choose one"),
        (
            Asked("out", against="mine"),
            "--against DIR is held against what should be there: give --truth DIR or --after",
        ),
        (Asked(truth=Path("t"), against="mine", follow=True), "--follow is about a stream: give SOURCE"),
        (Asked(truth=Path("t"), against="mine", before="b"), "--before is about a stream: give SOURCE"),
        (Asked("out", jdbc_driver=Path("x.jar")), "--jdbc-driver is for --against jdbc:"),
        (Asked("out", until=5), "--until says what --follow waits for: give --follow, too"),
        (Asked("out", follow=True, until=5), "out is a directory: only kafka://host:port/topic can be followed"),
        (Asked(TOPIC, follow=True), "--follow waits for the final watermark, and nothing says which"),
    ],
)
def test_what_does_not_go_together_is_refused_before_anything_is_read(asked: Asked, why: str) -> None:
    """In one line that says what would be accepted."""
    with pytest.raises(UserError) as refused:
        check(asked)

    assert str(refused.value).startswith(why)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "asked",
    [
        Asked("out"),
        Asked(TOPIC, follow=True, until=5),
        Asked(TOPIC, follow=True, truth=Path("t")),
        Asked(truth=Path("t"), against="mine"),
        Asked("out", truth=Path("t"), before="b", against="mine"),
        Asked(after="a", against="jdbc:x", jdbc_driver=Path("x.jar")),
    ],
)
def test_what_goes_together_does(asked: Asked) -> None:
    """A truth says what a stream alone does not."""
    check(asked)
