"""The console as lines, for a screen reader: what happens is said once, in order, and nothing is drawn. No Textual."""
