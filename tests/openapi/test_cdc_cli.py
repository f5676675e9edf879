"""What PingCAP's `cdc cli` asks, recorded with the binary of v8.1.0, whose cli is that of v8.5.3."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.openapi import Api, serving

HERE = Path(__file__).parent
RECORDED = json.loads((HERE / "cdc_cli.json").read_text("utf-8"))
"""Commands one after the other: what each asked and was answered, what it said, and how it ended."""

PAGE = (HERE.parent.parent / "docs" / "changefeeds.md").read_text("utf-8")
OTHER = ("create_time", "pid", "address", "version", "creator_version")
"""What differs in each run, and between releases."""


def upstream(api: Api) -> None:
    api.run(
        "CREATE DATABASE shop",
        "CREATE TABLE shop.item (id INT PRIMARY KEY, name VARCHAR(9))",
        "CREATE TABLE shop.log (line TEXT)",
        "INSERT INTO shop.item VALUES (1, 'a')",
    )


def same(answer: Any) -> Any:
    """The answer without what differs in each run."""
    if isinstance(answer, dict):
        return {name: None if name in OTHER else same(value) for name, value in answer.items()}
    return list(map(same, answer)) if isinstance(answer, list) else answer


def test_what_it_asked_is_answered_as_when_it_was_recorded() -> None:
    with serving("v8.1.0") as api:
        upstream(api)
        for command in RECORDED:
            for asked in command["asked"]:
                answer = api.ask(asked["method"], asked["path"], asked["body"])
                where = command["command"], asked["path"]
                assert (where, answer.status) == (where, asked["status"])
                assert (where, same(answer.json)) == (where, same(asked["answer"]))


@pytest.mark.parametrize("release", ["v7.5.7", "v8.5.3"])
def test_other_releases_take_and_refuse_the_same(release: str) -> None:
    with serving(release) as api:
        upstream(api)
        for command in RECORDED:
            for asked in command["asked"]:
                answer = api.ask(asked["method"], asked["path"], asked["body"])
                assert (command["command"], answer.status) == (command["command"], asked["status"]), answer.text


def test_it_failed_where_it_was_refused_and_said_why() -> None:
    """And it said no secret."""
    for command in RECORDED:
        errors = [asked["answer"]["error_msg"] for asked in command["asked"] if asked["status"] != 200]
        assert "hidden" not in command["said"]
        if command["exit"]:
            assert all(error in command["said"] for error in errors)
        else:
            assert "Error" not in command["said"]


def test_the_lines_of_the_page_were_recorded() -> None:
    lines = re.findall(r"^cdc cli (.*) --server=http://127\.0\.0\.1:8300$", PAGE, re.MULTILINE)
    recorded = {command["command"] for command in RECORDED}

    assert len(lines) > 8
    assert [line for line in lines if f"cdc cli {line.replace(chr(34), '')}" not in recorded] == []
