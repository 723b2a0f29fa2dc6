"""Where you type: the prompt, its completion, its history, and the queue of what was sent early."""
