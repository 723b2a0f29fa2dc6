"""What servers ask you: the queue of their questions, the board that shows one, and a page for each kind."""
