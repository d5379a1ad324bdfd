"""Open every page of the site in a browser without a window, and print what its console says.

python docs/check_pages.py site       # needs Chromium, as Debian has it
"""

import functools
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SAID = re.compile(r':CONSOLE:\d+\] "(.*?)", source: (\S*)')
#: What the theme tells of itself, on any page.
FRIENDLY = re.compile(r"\[PST\]: |Got invalid theme mode")
#: Milliseconds of its own time that a page has for its scripts.
PATIENCE = 5000


class Quiet(SimpleHTTPRequestHandler):
    """Serves files without saying so, and notes those that are missing."""

    missing: ClassVar[set[str]] = set()

    def log_message(self, *_: object) -> None:
        """Say nothing."""

    def send_error(self, code: int, *args: object, **kwargs: object) -> None:
        """Note requests that failed; a page without an icon is no fault."""
        if not self.path.endswith("favicon.ico"):
            self.missing.add(f"{self.path} ({code}), asked for by {self.headers.get('Referer')}")
        super().send_error(code, *args, **kwargs)


def said(browser: str, address: str) -> list[str]:
    """List what the console of a page says."""
    with tempfile.TemporaryDirectory() as profile:
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr"]
        options += [f"--user-data-dir={profile}", f"--virtual-time-budget={PATIENCE}", "--dump-dom"]
        ran = subprocess.run(  # noqa: S603 (a browser, on pages made here)
            [browser, *options, address], capture_output=True, text=True, timeout=120, check=False
        )
    if "</html>" not in ran.stdout:
        return [f"{address}: it did not open"]
    return [
        f"{address}: {text}" for text, _ in SAID.findall(ran.stderr) if not FRIENDLY.match(text)
    ]


def main() -> None:
    """Open all pages but those of the Rust reference, which rustdoc makes and checks."""
    site = Path(sys.argv[1])
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        sys.exit(f"none of {', '.join(BROWSERS)} is installed")
    names = [page.relative_to(site) for page in sorted(site.rglob("*.html"))]
    names = [name for name in names if name.parts[0] not in {"rust", "_static"}]
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    root = f"http://127.0.0.1:{server.server_port}"
    with ThreadPoolExecutor(2) as pool:
        pages = pool.map(functools.partial(said, browser), [f"{root}/{name}" for name in names])
        faults = [fault for page in pages for fault in page]
    faults += sorted(Quiet.missing)
    print("\n".join(faults), end="\n" if faults else "")
    print(f"{len(names)} pages opened, {len(faults)} faults")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
