"""Results become tables, plots and pages."""
