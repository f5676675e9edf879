"""`load`: the command, and what a person sees of a run while it works and at its end."""
