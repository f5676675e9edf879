"""What a statement says, as trees: nothing is looked up or decided here."""
