"""The shapes in which rows flow: the row image, the change frame, and what is made of whole Arrow columns of bytes."""
