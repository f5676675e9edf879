"""The command `verify` and its reports."""
