"""Ask you what servers want to know: the queue of their questions, the board that shows one, and a page for each
kind."""
