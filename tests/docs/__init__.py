"""The documentation held to the program: pages made from code, links, code blocks, and the built site."""
