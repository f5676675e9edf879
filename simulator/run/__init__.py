"""A run: from what a user asked for to the records that are sent."""
