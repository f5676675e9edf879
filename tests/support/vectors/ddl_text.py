"""Vectors of the text that TiCDC sends for a statement."""

from __future__ import annotations

from support.vectors import keys as vector_keys
from simulator.ticdc.ddl.sent_text import sent_text
from support.vectors.files import Vector
from support.vectors.keys import Kind

OTHER_CHARSET = "utf8"
"""The charset of jobs in `ddl_text` whose `other_fields` are set (tiflow v8.5.3 cdc/owner/ddl_sink_test.go)."""


def check_ddl_text(vector: Vector) -> None:
    """A vector of `ddl_text`: statement → text."""
    data = vector.data
    charset = OTHER_CHARSET if data["other_fields"] else ""
    assert sent_text(data["sql"], vector.release, charset) == data["query"]


def check_fact_ddl_text(vector: Vector) -> None:
    """A vector of `facts.ddl_text`: text of a job → text sent, by release."""
    data = vector.data
    assert vector.release.name == data["release"]
    assert sent_text(data["job_query"], vector.release, data["job_charset"] or "") == data["query_sent"]


KINDS = {
    "ddl_text": Kind(check_ddl_text, vector_keys.of("sql query other_fields")),
    "facts.ddl_text": Kind(check_fact_ddl_text, vector_keys.of("job_query job_charset query_sent")),
}
