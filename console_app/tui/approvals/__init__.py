"""Show the calls that wait for your decision, and the rules that decide in your place."""
