"""The main screen: the conversation, the prompt and all that stands around them."""
