"""Reading C++ as far as the tables need it: statements, blocks, conditions and loops.

This is no parser of C++; it knows the few forms in which the reference writes its loaders, and
what it does not know stays a plain statement.
"""

import re
from dataclasses import dataclass, field

_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|("(?:[^"\\]|\\.)*")', re.DOTALL)
_LABEL = re.compile(r"(?:case\s+([\w:]+?)|default)\s*:(?!:)")
_HEAD = re.compile(r"(if|for|while|switch|catch)(?:\s+constexpr)?\s*\(")
_LAMBDA = re.compile(r"auto\s+(\w+)\s*=\s*\[[&=]\]\s*\(")
_CLOSING = {"(": ")", "{": "}", "[": "]"}


@dataclass(slots=True)
class Node:
    """One statement. ``kind`` is ``simple``, ``block``, ``if``, ``for``, ``while``, ``switch``,
    ``catch``, ``label`` or ``lambda``; ``text`` its head; ``parameters`` are those of a lambda.
    """

    kind: str
    text: str
    body: "list[Node]" = field(default_factory=list)
    otherwise: "list[Node]" = field(default_factory=list)
    parameters: list[str] = field(default_factory=list)


def without_comments(text: str) -> str:
    return _COMMENT.sub(lambda match: match[1] or " ", text)


def closing(text: str, start: int) -> int:
    """Position of the bracket that closes the one at ``start``. ``ValueError`` if none does."""
    stack: list[str] = []
    position = start
    while position < len(text):
        char = text[position]
        if char == '"':
            position = _text_end(text, position)
        elif char in _CLOSING:
            stack.append(_CLOSING[char])
        elif stack and char == stack[-1]:
            stack.pop()
            if not stack:
                return position
        position += 1
    raise ValueError(f"nothing closes {text[start : start + 60]!r}")


def arguments(text: str) -> list[str]:
    """The parts of a list between its commas, brackets kept whole."""
    parts, start, position = [], 0, 0
    while position < len(text):
        char = text[position]
        if char == '"':
            position = _text_end(text, position)
        elif char in _CLOSING:
            position = closing(text, position)
        elif char == ",":
            parts.append(text[start:position].strip())
            start = position + 1
        position += 1
    parts.append(text[start:].strip())
    return [part for part in parts if part]


def functions(text: str) -> dict[str, str]:
    """Bodies of the member functions defined in a file, by ``class::name``."""
    found = {}
    for match in re.finditer(r"^[\w:<>&* ]*?\b(\w+::\w+)\s*\(", text, re.MULTILINE):
        end = closing(text, match.end() - 1)
        opening = re.compile(r"\s*(?:const\s*)?\{").match(text, end + 1)
        if opening is not None:
            start = opening.end() - 1
            found[match[1]] = text[start + 1 : closing(text, start)]
    return found


def parameters(text: str, name: str) -> list[str]:
    """Names of the parameters of the member function ``class::name``."""
    match = re.search(rf"{re.escape(name)}\s*\(", text)
    if match is None:
        raise ValueError(f"{name} is not defined")
    inside = text[match.end() : closing(text, match.end() - 1)]
    return [re.findall(r"\w+", part)[-1] for part in arguments(inside)]


def statements(text: str) -> list[Node]:
    """The statements of a block."""
    return _Reader(text).all()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def all(self) -> list[Node]:
        found: list[Node] = []
        while self._skip():
            found.append(self.one())
        return found

    def _skip(self) -> bool:
        while self.at < len(self.text) and self.text[self.at] in " \t\n;":
            self.at += 1
        return self.at < len(self.text)

    def one(self) -> Node:
        self._skip()
        if self.text[self.at] == "{":
            return Node("block", "", statements(self._brackets()))
        if match := re.compile(r"(?:try|else)\b").match(self.text, self.at):
            self.at = match.end()
            return self.one()
        if match := _LABEL.match(self.text, self.at):
            self.at = match.end()
            return Node("label", match[1] or "default")
        if match := _HEAD.match(self.text, self.at):
            return self._headed(match)
        if match := _LAMBDA.match(self.text, self.at):
            return self._lambda(match)
        return self._simple()

    def _brackets(self) -> str:
        end = closing(self.text, self.at)
        inside = self.text[self.at + 1 : end]
        self.at = end + 1
        return inside

    def _headed(self, match: re.Match[str]) -> Node:
        self.at = match.end() - 1
        node = Node(match[1], " ".join(self._brackets().split()))
        node.body = self._branch()
        if node.kind == "if" and re.compile(r"\s*else\b").match(self.text, self.at):
            self.at = self.text.index("else", self.at) + 4
            node.otherwise = self._branch()
        return node

    def _branch(self) -> list[Node]:
        node = self.one()
        return node.body if node.kind == "block" else [node]

    def _lambda(self, match: re.Match[str]) -> Node:
        self.at = match.end() - 1
        names = [re.findall(r"\w+", part)[-1] for part in arguments(self._brackets())]
        self.at = self.text.index("{", self.at)
        return Node("lambda", match[1], statements(self._brackets()), parameters=names)

    def _simple(self) -> Node:
        start = self.at
        while self.at < len(self.text) and self.text[self.at] != ";":
            char = self.text[self.at]
            if char == '"':
                self.at = _text_end(self.text, self.at)
            elif char in _CLOSING:
                self.at = closing(self.text, self.at)
            self.at += 1
        return Node("simple", " ".join(self.text[start : self.at].split()))


def _text_end(text: str, start: int) -> int:
    """Position of the quote that ends the text starting at ``start``."""
    position = start + 1
    while text[position] != '"':
        position += 2 if text[position] == "\\" else 1
    return position
