"""What `fanout batch` does."""
