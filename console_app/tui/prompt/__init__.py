"""Take what you type: the prompt, its completion, its history, and the queue of messages that were sent early."""
