"""The parts that the bundled servers are made of; the modules beside this folder are the servers themselves."""
