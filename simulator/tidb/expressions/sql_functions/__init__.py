"""The functions of SQL, compiled for rows."""
