"""The command `load`, its line of progress, and its reports."""
