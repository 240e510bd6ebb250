"""Time of the playground's strip: ten repetitions at 224 pixels, in a browser.

Run: python benchmarks/playground.py [--rounds 15] [--output FILE]

Measured from the click on "New draw" until the tenth frame is shown.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import threading
from pathlib import Path

from measuring import machine, write_json
from playwright.sync_api import sync_playwright

from prorandconv import play

LIMIT = 0.5
"""seconds that the strip may take"""
CLICK_AND_WAIT = """() => new Promise((done) => {
    const start = performance.now();
    const last = document.querySelector("#pro").lastElementChild;
    document.querySelector("#new").click();
    const ready = () => last.className !== "old";
    const look = () => (ready() ? done(performance.now() - start) : setTimeout(look));
    look();
})"""


def strip_seconds(rounds: int) -> list[float]:
    """Seconds of each round, after three to warm up."""
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        sys.exit("needs Chromium (Debian: apt install chromium)")
    with play.server(0) as server, sync_playwright() as playwright:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        times = []
        for _ in range(3 + rounds):
            page.locator("#rand[aria-busy=false]").wait_for()
            times.append(page.evaluate(CLICK_AND_WAIT) / 1000)
        browser.close()
        server.shutdown()
    return times[3:]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    times = strip_seconds(arguments.rounds)
    median = statistics.median(times)
    print(f"strip at 224 pixels: median {median:.2f} s, {min(times):.2f} to {max(times):.2f} s")
    print(f"within {LIMIT} s: {sum(time <= LIMIT for time in times)} of {len(times)} rounds")
    if arguments.output:
        write_json(arguments.output, {"machine": machine(), "seconds": times, "median": median})


if __name__ == "__main__":
    main()
