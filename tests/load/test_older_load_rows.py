"""Old values of a load's rows that were last written before a column was added (`test_older_rows`)."""

from __future__ import annotations

import pytest
from support.loads import CUSTOMER, OPEN, Run, shop_plan
from support.older_rows import count_older

from simulator.releases.compare import parse_release

FLAGS = "CREATE TABLE shop.flags (id BIGINT PRIMARY KEY, state ENUM('a'), other ENUM('x','y'))"
STATEMENTS = """
[[ddl]]
every = {min = "200ms", max = "400ms"}
kinds = ["add-column", "truncate", "add-column", "drop-column", "add-index"]
[[ddl]]
every = "450ms"
kinds = ["add-column"]
table = "shop.flags"
[[ddl]]
at = "950ms"
sql = "ALTER TABLE shop.flags DROP COLUMN other"
[[ddl]]
at = "700ms"
sql = "ALTER TABLE shop.customer ADD COLUMN own INT NOT NULL DEFAULT 5"
"""


@pytest.mark.slow
@pytest.mark.parametrize(("release", "older"), [("v6.5.8", str), ("v8.5.3", int)])
@pytest.mark.parametrize("initial", ["inserted", "present"])
def test_a_row_of_a_load_is_older_until_it_changes(release: str, older: type, initial: str) -> None:
    """An UPDATE that changes nothing is not sent, and writes nothing: half of those of flags, of which each touches one
    column. One that changes a column that is dropped later writes the row."""
    text = shop_plan(STATEMENTS, 40, FLAGS, CUSTOMER, more=f'seed = 7\ninitial = "{initial}"')
    text = text.replace("mix =", "update-columns = 1\nmix =", 1)
    assert min(count_older(Run(text, OPEN, parse_release(release)).sent(0, 2_000), older)) > 50
