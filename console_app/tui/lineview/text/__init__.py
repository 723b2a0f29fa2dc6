"""Text as cells of a terminal: measured, joined, and read from what programs print."""
