"""A page taken apart, to ask of it what a reader, a keyboard or a policy would."""

from collections.abc import Iterator
from html.parser import HTMLParser

VOID = {"meta", "link", "input", "br", "img", "hr"}


class Element:
    """An element with its attributes, its children and the text in between."""

    def __init__(self, tag: str, attributes: dict[str, str], parent: "Element | None") -> None:
        self.tag = tag
        self.attributes = attributes
        self.parent = parent
        self.children: list[Element | str] = []

    @property
    def text(self) -> str:
        parts = [part if isinstance(part, str) else part.text for part in self.children]
        return "".join(parts)

    def __iter__(self) -> Iterator["Element"]:
        for child in self.children:
            if isinstance(child, Element):
                yield child
                yield from child


class Page(HTMLParser):
    """Parses strictly: a tag that is not closed in order fails the test."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.html = html
        self.root = self._open = Element("", {}, None)
        self.feed(html)
        self.close()
        assert self._open is self.root, f"<{self._open.tag}> is never closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"<{tag}> repeats an attribute"
        made = Element(tag, {name: value or "" for name, value in attrs}, self._open)
        self._open.children.append(made)
        if tag not in VOID:
            self._open = made

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.tag == tag, f"</{tag}> closes <{self._open.tag}>"
        assert self._open.parent is not None
        self._open = self._open.parent

    def handle_data(self, data: str) -> None:
        self._open.children.append(data)

    def all(self, tag: str = "", **attributes: str) -> list[Element]:
        """Elements with this tag and these attributes (``class_`` holds the class)."""
        wanted = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
        return [
            element
            for element in self.root
            if (not tag or element.tag == tag) and _matches(element.attributes, wanted)
        ]

    def one(self, tag: str = "", **attributes: str) -> Element:
        found = self.all(tag, **attributes)
        assert len(found) == 1, f"{len(found)} of <{tag} {attributes}>"
        return found[0]

    @property
    def text(self) -> str:
        return self.root.text

    @property
    def links(self) -> list[str]:
        return [a.attributes["href"] for a in self.all("a") if "href" in a.attributes]


def _matches(attributes: dict[str, str], wanted: dict[str, str]) -> bool:
    return all(
        value in attributes.get(name, "").split()
        if name == "class"
        else attributes.get(name) == value
        for name, value in wanted.items()
    )
