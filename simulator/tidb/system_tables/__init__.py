"""The tables of information_schema: their columns, and the rows that definitions and the server give them."""
