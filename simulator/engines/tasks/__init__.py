"""What a task of a run does, on either engine: events in order become messages, and go to its sink."""
