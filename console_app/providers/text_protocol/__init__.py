"""Tools by text: wraps any provider, offers the tools in the prompt and reads the calls out of the answer."""
