"""What waits for your decision, and the rules that decide in your place."""
