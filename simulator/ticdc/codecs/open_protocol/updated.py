"""Old values with only-output-updated-columns: `p` lists the columns that an UPDATE changed.

One law: what is compared is the images, what is written is the release's affair (tiflow v8.5.3:
pkg/sink/codec/open/open_protocol_message.go; ticdc v8.5.4: pkg/sink/codec/open/codec.go
writeColumnFieldValueIfUpdated).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from simulator.columns.row_image import Image
from simulator.releases import Release
from simulator.ticdc.codecs.members import Listed, Mask, Member, differs, listed_members
from simulator.ticdc.codecs.open_protocol.forms import nothing
from simulator.ticdc.codecs.text import join
from simulator.tidb.model import types

_EMPTY = pa.scalar(b"", pa.binary())


def updated_pieces(
        current: Sequence[Member], former: Sequence[Member], old: Image, new: Image, release: Release,
) -> list[bytes | pa.Array]:
    """`,"p":{…}`: `former` are the members that `p` writes, `current` the same columns as they are elsewhere."""
    columns = zip((one for one in current if one.form is not nothing), former, strict=True)
    changed = listed_members((one for pair in columns for one in _listed(*pair, old, new, release)), old)
    if release.open_old_always:
        return [b',"p":{', changed, b"}"]
    return [pc.if_else(pc.equal(changed, _EMPTY), _EMPTY, join(b',"p":{', changed, b"}"))]


def _listed(current: Member, former: Member, old: Image, new: Image, release: Release) -> Iterator[Listed]:
    """The member in the rows that changed it: without its name where it became NULL, in releases that lose that."""
    before, after = old.cells(current.position), new.cells(current.position)
    changed = differs(current, old, new)
    if not release.open_old_bits and types.family(current.type) == "bit":
        changed = changed & (valid(before) != valid(after))
    if release.open_old_nameless and after.null_count:
        lost = valid(before) & ~valid(after)
        yield Listed(current, lost, bare=True)
        changed = changed & ~lost
    yield Listed(former, changed)


def valid(cells: pa.Array) -> Mask:
    found: Mask = cells.is_valid().to_numpy(zero_copy_only=False)
    return found
