"""The sink that writes files: csv or canal-json, schema files, the checkpoint."""
