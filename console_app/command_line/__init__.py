"""The command line as data: what there is to type, and parser, help, completion and man page made of it."""
