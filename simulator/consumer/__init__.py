"""The other side: a recorded stream, read back and checked."""
