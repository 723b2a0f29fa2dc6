"""The engine: one turn at a time, its answer read, its calls run, its history kept valid. No terminal, no SDK."""
