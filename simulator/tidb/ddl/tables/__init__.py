"""CREATE, DROP, RENAME TABLE and the like; table options."""
