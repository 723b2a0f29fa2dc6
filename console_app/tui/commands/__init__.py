"""Slash commands as objects in a registry: the prompt, the palette and the help screen all read the same one."""
