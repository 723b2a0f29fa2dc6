"""Lines and panes around the conversation: status, activity, finding, the to-do list."""
