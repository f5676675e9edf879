"""What TiCDC writes to a storage beside rows, and where: schema files, the checkpoint, paths."""

from __future__ import annotations

from simulator.ticdc.storage.paths import (
    METADATA,
    SCHEMA_FILE,
    SCHEMA_JSON,
    StoredTable,
    checkpoint_text,
    data_directory,
    data_name,
    data_number,
    date_text,
    index_path,
)
from simulator.ticdc.storage.statements import schema_event_file, schema_events, stored_table
