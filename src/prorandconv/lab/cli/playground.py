"""The command that opens the playground."""

from __future__ import annotations

from dataclasses import dataclass

from rich.console import Console


@dataclass(frozen=True)
class Playground:
    """Open the playground in the browser: one picture, every setting, computed in the page."""

    port: int = 8642
    """of 127.0.0.1; 0 takes any free one"""
    open: bool = True
    """open the browser; --no-open prints the address only"""

    def run(self, out: Console) -> int:
        """Serve until interrupted."""
        import webbrowser

        from ...play import server

        with server(self.port) as playground:
            address = f"http://127.0.0.1:{playground.server_port}/"
            out.print(f"{address} (Ctrl+C ends it)", highlight=False)
            if self.open:
                webbrowser.open(address)
            try:
                playground.serve_forever()
            except KeyboardInterrupt:
                out.print("ended", highlight=False)
        return 0
