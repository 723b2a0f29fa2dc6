"""The console as lines, in this process."""
