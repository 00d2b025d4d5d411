"""plan → execute → store."""
