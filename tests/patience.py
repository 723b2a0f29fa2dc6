"""How long a test waits for what must come. It only ends tests that fail: no machine is too slow to pass."""

PATIENCE = 100.0  # seconds; below the `timeout` of pyproject.toml, so that a test can say what it waited for
