"""Differences between two releases, as the messages that show them."""
