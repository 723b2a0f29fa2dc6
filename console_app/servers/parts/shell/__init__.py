"""The parts of the shell server: commands from start to end, their output, and the sandbox around them."""
