"""Studies: grids of runs that end in tables."""
