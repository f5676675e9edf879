"""A session: its clock, its system variables and its transactions."""
