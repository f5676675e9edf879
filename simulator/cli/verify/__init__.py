"""`verify` for people and for programs."""
