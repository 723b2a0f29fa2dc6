"""The console: the only floor that knows Textual."""
