"""The start of the screen: its first paint, a prompt before there is a conversation, and what is loaded behind it."""
