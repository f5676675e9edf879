"""Old values with only-output-updated-columns: `p` lists the columns that an UPDATE changed.

One law: what is compared is the images, what is written is the release's affair (tiflow v8.5.3:
pkg/sink/codec/open/open_protocol_message.go; ticdc v8.5.4: pkg/sink/codec/open/codec.go
writeColumnFieldValueIfUpdated).
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from simulator.codecs.images import Image
from simulator.codecs.members import Member, member_pieces, same
from simulator.codecs.open_forms import nothing
from simulator.codecs.text import join, without_first_byte
from simulator.releases import Release
from simulator.schema import types

_EMPTY = pa.scalar(b"", pa.binary())


def updated_pieces(
        current: Sequence[Member], former: Sequence[Member], old: Image, new: Image, release: Release,
) -> list[bytes | pa.Array]:
    """`,"p":{…}`: `former` are the members that `p` writes, `current` the same columns as they are elsewhere."""
    columns = zip((one for one in current if one.form is not nothing), former, strict=True)
    listed = [one for pair in columns if (one := _listed(*pair, old, new, release)) is not None]
    changed = without_first_byte(join(*listed)) if listed else pa.repeat(_EMPTY, old.rows)
    if release.open_old_always:
        return [b',"p":{', changed, b"}"]
    return [pc.if_else(pc.equal(changed, _EMPTY), _EMPTY, join(b',"p":{', changed, b"}"))]


def _listed(current: Member, former: Member, old: Image, new: Image, release: Release) -> pa.Array:
    """The member, with a comma before it, in the rows that changed it; empty text in the others."""
    before, after = old.cells(current.position), new.cells(current.position)
    unlisted = same(current, old, new)
    if not release.open_old_bits and types.family(current.type) == "bit":
        unlisted = pc.or_(unlisted, pc.and_(before.is_valid(), after.is_valid()))
    named = pc.if_else(unlisted, _EMPTY, join(b",", *member_pieces(former, old)))
    if not release.open_old_nameless or after.null_count == 0:
        return named
    lost = pc.and_(before.is_valid(), after.is_null())
    return pc.if_else(lost, join(b",", *member_pieces(current, old, bare=True)), named)
