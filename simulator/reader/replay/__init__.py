"""Point 7 of the contract: replaying the stream on the rows before it gives the rows after it.

Every row change becomes one or two image pairs (`frame`, `image_pairs`): the old and the new image of one row. The rows
of a snapshot before or after the stream are image pairs, too (`states`). They are sorted by row and time
(`neighbours`, or `reader.on_spark`). Then the new image of each pair must fit the old image of the next one (`row_rules`). This one pass
checks old images, replays the changes and compares the result (`neighbours`). On Spark hashes of the images pass by the
same rules first (`digests`). `table_timeline` knows which table had which name when, and `outcome` describes the differences.
"""

from __future__ import annotations
