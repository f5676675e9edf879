"""Vectors of the table-filter language."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.vectors import keys as vector_keys
from simulator.errors import ChangefeedError
from simulator.ticdc.filters import Replication, replication, table_filter
from support.vectors.codecs import Json
from support.vectors.files import Vector
from support.vectors.keys import Kind


def check_table_filter(vector: Vector) -> None:
    """A vector of `facts.table_filter`."""
    data = vector.data
    if "error" in data:
        with pytest.raises(ChangefeedError) as caught:
            table_filter(data["rules"])
        assert data["error"] in caught.value.text
        assert caught.value.code == (data.get("error_code") or data.get("ticdc_error_code") or caught.value.code)
    elif data["level"] == "library":
        made = table_filter(data["rules"], data["case_sensitive"])
        whole = data.get("kind") == "schema"
        matched = made.match_schema(data["schema"]) if whole else made.match(data["schema"], data["table"])
        assert matched == data["match"]
    else:
        made_ = replication(data["rules"], data["case_sensitive"], data.get("ignore_txn_start_ts", ()), vector.release)
        assert TICDC_KINDS[data.get("kind", "table")](made_, data, vector) == data["match"]


TICDC_KINDS: dict[str, Callable[[Replication, Json, Vector], bool]] = {
    "table": lambda made, data, _: made.table(data["schema"], data["table"]),
    "schema": lambda made, data, _: made.schema(data["schema"]),
    "dml": lambda made, data, _: made.table(data["schema"], data["table"], data["start_ts"]),
    "ddl_discard": lambda made, data, vector: made.ddl(
        data["type_code"], data["schema"], data["table"], vector.release, data["start_ts"]),
}
KINDS = {"facts.table_filter": Kind(check_table_filter, vector_keys.of(
    "rules case_sensitive level kind schema table type_code start_ts ignore_txn_start_ts match error "
    "ticdc_error_code error_code"))}
