"""The playground: a static page that shows the operator at work, in the browser alone."""

from .serve import FOLDER, server

__all__ = ["FOLDER", "server"]
