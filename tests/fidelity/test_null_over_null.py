"""What of MariaDB's NULL written over NULL is excused (support.null_over_null), and what is not: made-up stories."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from support.null_over_null import without_null_over_null
from support.story import differences, expected, happened

THEN, LATER, LAST = "2023-11-14 22:13:20", "2023-11-14 22:30:00", "2023-11-14 22:40:00"
STORY = """
CREATE DATABASE story;
CREATE TABLE story.t (id INT PRIMARY KEY, a INT {default}, {other} at DATETIME ON UPDATE CURRENT_TIMESTAMP);
SET TIMESTAMP = 1700000000;
INSERT INTO story.t (id, a, at) VALUES (1, NULL, '2023-11-14 22:13:20'), (2, 5, '2023-11-14 22:13:20');
SET TIMESTAMP = 1700001000;
UPDATE story.t SET a = a + 0;
{behind}
"""
VARCHAR = "b VARCHAR(5),"


def row(place: int, a: str | None, at: str, **others: str | None) -> dict[str, str | None]:
    return {"id": str(place), "a": a, **others, "at": at}


def update(statement: int, before: object, after: object) -> dict[str, object]:
    return {"txn": statement, "stmt": statement, "table": "story.t", "before": before, "after": after}


def found(
    directory: Path,
    changes: list[dict[str, object]],
    final: list[object],
    default: str = "DEFAULT 7",
    other: str = "",
    behind: str = "",
) -> list[str]:
    """What differs between the story and a log with those changes behind its INSERT."""
    story = directory / "made-up.sql"
    story.write_text(STORY.format(default=default, other=other, behind=behind), encoding="utf-8")
    names = ["id", "a", *(["b"] if other else []), "at"]
    extra: dict[str, Any] = {"b": None} if other else {}
    log = [
        {"ddl": "CREATE DATABASE story", "stmt": 0},
        {"ddl": story.read_text("utf-8").split(";")[1].strip(), "stmt": 1},
        {"schema": "story.t", "columns": [[name, ""] for name in names], "key": ["id"]},
        *(update(3, None, row(place, a, THEN, **extra)) for place, a in ((1, None), (2, "5"))),
        *changes,
        {"final": "story.t", "rows": final},
    ]
    with gzip.open(story.with_suffix(".jsonl.gz"), "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps(entry) + "\n" for entry in log)
    return differences(*without_null_over_null(expected(story), happened(story)))


RENEWED = update(5, row(1, None, THEN), row(1, None, LATER))


def test_an_update_of_null_over_null_and_what_it_leaves_are_excused(tmp_path: Path) -> None:
    assert [] == found(tmp_path, [RENEWED], [row(1, None, LATER), row(2, "5", THEN)])


def test_a_row_may_differ_until_its_moment_is_written_again(tmp_path: Path) -> None:
    behind = "SET TIMESTAMP = 1700001600; UPDATE story.t SET a = 1 WHERE id = 1;"
    again = update(7, row(1, None, LATER), row(1, "1", LAST))
    assert [] == found(tmp_path, [RENEWED, again], [row(1, "1", LAST), row(2, "5", THEN)], behind=behind)
    wrong = update(7, row(1, None, LATER), row(1, "1", LATER))
    assert found(tmp_path, [RENEWED, wrong], [row(1, "1", LAST), row(2, "5", THEN)], behind=behind)
    assert found(tmp_path, [RENEWED, again], [row(1, "1", LATER), row(2, "5", THEN)], behind=behind)


def test_the_other_cells_of_an_excused_row_are_compared(tmp_path: Path) -> None:
    assert found(tmp_path, [RENEWED], [row(1, "0", LATER), row(2, "5", THEN)])


@pytest.mark.parametrize(
    ("changes", "final", "how"),
    [
        pytest.param(
            [update(5, row(2, "5", THEN), row(2, "5", LATER))],
            [row(1, None, THEN), row(2, "5", LATER)],
            {},
            id="a row without NULL",
        ),
        pytest.param(
            [update(5, row(1, None, THEN), row(1, "1", LATER))],
            [row(1, "1", LATER), row(2, "5", THEN)],
            {},
            id="a row whose other cells change",
        ),
        pytest.param([RENEWED], [row(1, None, LATER), row(2, "5", THEN)], {"default": ""}, id="no default"),
        pytest.param([RENEWED], [row(1, None, LATER), row(2, "5", LATER)], {}, id="a row that was not updated"),
        pytest.param([], [row(1, None, LATER), row(2, "5", THEN)], {}, id="rows in the end without an update"),
        pytest.param(
            [update(5, row(1, None, THEN, b=None), row(1, None, LATER, b=None))],
            [row(1, None, LATER, b=None), row(2, "5", THEN, b=None)],
            {"other": VARCHAR},
            id="a table with VARCHAR",
        ),
    ],
)
def test_nothing_else_is_excused(
    tmp_path: Path, changes: list[dict[str, object]], final: list[object], how: dict[str, str]
) -> None:
    assert found(tmp_path, changes, final, **how)
