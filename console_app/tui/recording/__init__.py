"""A session as a moving picture: played in a console that nobody sees, its screens kept with their times."""
