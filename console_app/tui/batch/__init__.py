"""A batch in the terminal: what runs, a row an item with its calls as lanes, and one of them as a conversation."""
