"""Which options of `verify` may be combined."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulator.consumer.verify.options import VerifyOptions, check_options
from simulator.errors import UserError

TOPIC = "kafka://127.0.0.1:9092/bank"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (VerifyOptions(), "nothing to verify: give SOURCE"),
        (VerifyOptions(truth=Path("t")), "nothing to verify: give SOURCE"),
        (
            VerifyOptions("out", truth=Path("t"), after="a"),
            "--truth and --after both say which rows are expected: choose one",
        ),
        (
            VerifyOptions("out", against="mine"),
            "--against DIR is held against what should be there: give --truth DIR or --after",
        ),
        (VerifyOptions(truth=Path("t"), against="mine", follow=True), "--follow is about a stream: give SOURCE"),
        (VerifyOptions(truth=Path("t"), against="mine", before="b"), "--before is about a stream: give SOURCE"),
        (VerifyOptions("out", jdbc_driver=Path("x.jar")), "--jdbc-driver is for --against jdbc:"),
        (VerifyOptions("out", until=5), "--until says what --follow waits for: give --follow, too"),
        (
            VerifyOptions("out", follow=True, until=5),
            "out is a directory: only kafka://host:port/topic can be followed",
        ),
        (VerifyOptions(TOPIC, follow=True), "--follow waits for the final watermark, and nothing says which"),
    ],
)
def test_wrong_combinations_are_rejected_before_anything_is_read(options: VerifyOptions, why: str) -> None:
    """The error is one line that names the accepted options."""
    with pytest.raises(UserError) as refused:
        check_options(options)

    assert str(refused.value).startswith(why)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "options",
    [
        VerifyOptions("out"),
        VerifyOptions(TOPIC, follow=True, until=5),
        VerifyOptions(TOPIC, follow=True, truth=Path("t")),
        VerifyOptions(truth=Path("t"), against="mine"),
        VerifyOptions("out", truth=Path("t"), before="b", against="mine"),
        VerifyOptions(after="a", against="jdbc:x", jdbc_driver=Path("x.jar")),
    ],
)
def test_other_combinations_are_accepted(options: VerifyOptions) -> None:
    """A truth provides what a stream alone does not."""
    check_options(options)
