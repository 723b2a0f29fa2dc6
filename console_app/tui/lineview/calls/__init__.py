"""Draw the panels of calls: one for each call, as a row or opened, and the parts that the calls of one answer share."""
