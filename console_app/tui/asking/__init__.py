"""Ask you: the board of calls that wait, the rules that decide in your place, the boards of questions, and the forms
that are made from a JSON Schema."""
