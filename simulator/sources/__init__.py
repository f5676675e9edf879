"""Where changes come from."""
