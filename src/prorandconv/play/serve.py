"""Serves the playground's files to this machine."""

from __future__ import annotations

import functools
from http import HTTPStatus
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from ..errors import ProRandConvError

FOLDER = Path(__file__).parent
"""Where the page is: ``index.html`` and what it loads."""
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
}
"""What is served, and as what; the system's own table of types may lack or misname these."""


class _Handler(SimpleHTTPRequestHandler):
    """Hands out the page's files: no listings, and nothing else of the folder."""

    extensions_map = TYPES

    def send_head(self):  # type: ignore[no-untyped-def]
        """Refuse all that is no file of the page."""
        path = urlsplit(self.path).path
        if path != "/" and Path(path).suffix not in TYPES:
            self.send_error(HTTPStatus.NOT_FOUND)
            return None
        return super().send_head()

    def end_headers(self) -> None:
        """Let browsers ask again: the page changes with the package."""
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet: a line for each file helps nobody."""


def server(port: int) -> ThreadingHTTPServer:
    """A server of the playground on 127.0.0.1; ``serve_forever`` starts it.

    Args:
        port: where it listens; 0 takes any free port, see ``server_port``.

    Example:
        >>> with server(0) as playground:
        ...     playground.server_address[0]
        '127.0.0.1'
    """
    if not 0 <= port <= 65535:
        raise ProRandConvError.about("port", port, "a number from 0 to 65535, e.g. 8642")
    handler = functools.partial(_Handler, directory=str(FOLDER))
    try:
        return ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as error:
        raise ProRandConvError.about(
            "port", port, f"a port that can be opened ({error.strerror}); 0 takes any free one"
        ) from error
