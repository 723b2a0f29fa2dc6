"""The panels of calls: one a call, as a row or opened, and what those of one answer share."""
