"""The nouns of the program: messages, tools, events and the ports to the outside. No input or output here."""
