"""Result directories as tables, plots and a page."""
