"""The lag of a consumer group, and the search for the highest rate that the group sustains."""
