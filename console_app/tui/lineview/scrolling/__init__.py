"""The view as it scrolls: painting, the cursor, selection, and finding words."""
