"""Checks a built book: every link inside it leads somewhere, and there is a search index. usage: book.py FOLDER"""

import pathlib
import re
import sys
from html.parser import HTMLParser

root = pathlib.Path(sys.argv[1]).resolve()
links, ids = [], {}


class Page(HTMLParser):
    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        ids[self.file].add(given.get("id"))
        links.extend((self.file, given[key]) for key in ("href", "src") if given.get(key))


# 404.html is served at any address: its links are those of the site.
for file in set(root.rglob("*.html")) - {root / "404.html"}:
    page = Page()
    page.file, ids[file] = file, set()
    page.feed(file.read_text())
wrong = []
for file, link in links:
    path, _, place = link.partition("#")
    if re.match(r"[a-z]+:", path):
        continue
    target = (file.parent / path).resolve() if path else file
    if not target.is_relative_to(root) or not target.exists() or (place and target in ids and place not in ids[target]):
        wrong.append(f"{file.name}: {link}")
assert len(ids) > 15 and not wrong, "\n".join(sorted(wrong))
assert list(root.glob("searchindex*.js")), "there is no search index"
