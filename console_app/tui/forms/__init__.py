"""Forms made from a JSON Schema: what may be filled in, the widgets for it, and what is kept of earlier answers."""
