"""What servers offer beside tools, in the console: prompts as commands, resources to attach, to read and to watch."""
