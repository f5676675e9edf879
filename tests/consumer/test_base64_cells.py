"""Base64 of columns is decoded as strictly as by Python."""

from __future__ import annotations

import base64

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simulator.consumer.decode.convert_tokens import decode_base64

CELLS = st.lists(st.none() | st.binary(max_size=20), max_size=12)


@given(cells=CELLS, start=st.integers(0, 3))
def test_encoded_cells_are_decoded(cells: list[bytes | None], start: int) -> None:
    texts = [None if cell is None else base64.b64encode(cell).decode() for cell in cells]
    assert decode_base64(pa.array(texts, pa.string()).slice(start)).to_pylist() == cells[start:]


@given(text=st.text("AZaz09+/=-_ \né", max_size=9))
def test_a_text_is_rejected_if_python_rejects_it(text: str) -> None:
    cells = pa.array(["AAAA", text, "QQ=="])
    try:
        expected = base64.b64decode(text.encode(), validate=True)
    except ValueError:
        with pytest.raises(ValueError, match="bad base64"):
            decode_base64(cells)
    else:
        assert decode_base64(cells).to_pylist() == [b"\0\0\0", expected, b"A"]
