"""Tables: their text, their types, and what the protocols ask of them."""
