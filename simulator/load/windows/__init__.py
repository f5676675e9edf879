"""Windows: the rows between two watermarks, encoded and sent by the tasks."""
