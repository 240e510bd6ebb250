"""One run: what describes it, its directory, training and use of the trained network."""
