"""One conversation as a user has it, for every front end. No Textual here."""
