"""A table as text: terminal, Markdown, CSV and LaTeX."""
