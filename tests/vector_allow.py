"""Vectors of the allow-list: which action types each release replicates, and what the published docs say of them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from simulator.ddl.actions import ACTIONS, CODES
from simulator.ddl.allow import allowed
from simulator.releases import RELEASES, Release
from vector_codecs import Json
from vector_files import Vector, releases_of


def check_allow(vector: Vector) -> None:
    """A vector of `facts.allow_list`, in every release that it holds for."""
    data = vector.data
    if "action" in data:
        assert CODES[data["action"]] == data["type_code"]
    if "action_string" in data:
        assert ACTIONS[data["type_code"]].text == data["action_string"]
    if data["replicated"] is None:
        return
    codes = data.get("type_codes") or [data["type_code"]]
    found = {release.name for release in _about(data) for code in codes if allowed(code, release) != data["replicated"]}
    assert found == set()


def _about(data: Json) -> Iterable[Release]:
    """The docs' table, and what is said to differ from it, is about the releases of its time."""
    if "seed_ddl" not in data and "difference" not in data:
        return releases_of(data)
    named = re.findall(r"v\d+\.\d+\.\d+", data["source"])
    return [
        releases[tag]
        for architecture, releases in RELEASES.items() if data["architecture"] in ("both", architecture)
        for tag in named or ["v8.5.7"]]
