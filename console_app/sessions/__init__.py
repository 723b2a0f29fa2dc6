"""Sessions on disk: every event stored before it is shown, in one SQLite file."""
