"""The list of stored sessions."""
