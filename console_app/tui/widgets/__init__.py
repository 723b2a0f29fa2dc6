"""Small widgets, one a file; each posts past facts as messages and is told its state through attributes."""
