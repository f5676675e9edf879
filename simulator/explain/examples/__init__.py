"""What two releases do differently, as the messages that show it."""
