"""Check that links between pages of the site lead somewhere: `python docs/check_links.py site`."""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    """The links of a page, and the places in it to which one can link."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element links to, and its names."""
        for name, value in attrs:
            if name in {"id", "name"} and value:
                self.places.add(value)
            if (tag, name) in {("a", "href"), ("img", "src"), ("script", "src"), ("link", "href")}:
                self.links.append(value or "")


def broken(site: Path) -> list[str]:
    """List the links that lead nowhere.

    Those of the Rust reference are checked by rustdoc, those to the live page once it is built.
    """
    pages = {
        file.resolve(): Page(file)
        for file in sorted(site.rglob("*.html"))
        if "rust" not in file.relative_to(site).parts and "_static" not in file.parts
    }
    found = []
    live = (site / "live").resolve()
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            if live in target.parents and not live.exists():
                continue
            place = unquote(parts.fragment)
            if not target.exists():
                found.append(f"{file.relative_to(site.resolve())}: {link} is missing")
            elif place and target in pages and place not in pages[target].places:
                found.append(f"{file.relative_to(site.resolve())}: no {place} in {parts.path}")
    return found


if __name__ == "__main__":
    problems = broken(Path(sys.argv[1]))
    print("\n".join(problems) or "all links from page to page lead somewhere")
    sys.exit(bool(problems))
