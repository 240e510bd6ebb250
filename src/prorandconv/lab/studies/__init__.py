"""The paper's tables and figures, declared as grids of runs."""
