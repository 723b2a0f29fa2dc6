"""Many items at once, each a whole turn: where they come from, who runs them, and what is kept of them."""
