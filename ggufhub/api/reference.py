"""The page of the API made from its OpenAPI description: operations and shapes as plain rows."""

import json
import re
import shlex
from dataclasses import dataclass
from functools import cache
from typing import Any

from drf_spectacular.generators import SchemaGenerator

_REF = "#/components/schemas/"
_CODE = re.compile(r"\s*\n+\s*")


@dataclass(frozen=True, slots=True)
class Type:
    """A type in words: ``text``, then the name of a shape described below (or '')."""

    text: str
    shape: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter or a field of a shape. ``place`` is query, path or header, else ''."""

    name: str
    type: Type
    required: bool
    text: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class Content:
    """A body that is sent or comes back: media type, shape and examples (title, text)."""

    media_type: str
    type: Type
    examples: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """One status with what it means and holds."""

    status: str
    text: str
    contents: tuple[Content, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """One method at one address, with a command line that calls it."""

    id: str
    method: str
    path: str
    text: str
    fields: tuple[Field, ...]
    bodies: tuple[Content, ...]
    answers: tuple[Answer, ...]
    problems: tuple[str, ...]
    curl: str


@dataclass(frozen=True, slots=True)
class Shape:
    """A named object: what bodies and answers hold."""

    name: str
    text: str
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Reference:
    """All of it: operations by their first word, and the shapes they speak of."""

    groups: tuple[tuple[str, tuple[Operation, ...]], ...]
    shapes: tuple[Shape, ...]


def reference(base: str) -> Reference:
    """The whole API, for a server at ``base`` (scheme and host)."""
    schema = _schema()
    groups: dict[str, list[Operation]] = {}
    for path, methods in schema["paths"].items():
        for method, described in methods.items():
            group = groups.setdefault(described["tags"][0], [])
            group.append(_operation(base, path, method, described))
    shapes = tuple(_shape(name, one) for name, one in schema["components"]["schemas"].items())
    return Reference(tuple((name, tuple(group)) for name, group in groups.items()), shapes)


@cache
def _schema() -> Any:
    """The description. It is made of the code alone, so it is the same for everyone."""
    # Through JSON: the generator leaves lazy texts and other types of its own in it.
    text = json.dumps(SchemaGenerator().get_schema(request=None, public=True), default=str)
    return json.loads(text)


def _operation(base: str, path: str, method: str, described: dict[str, Any]) -> Operation:
    bodies = _contents(described.get("requestBody", {}))
    answers, problems = [], []
    for status, answer in described["responses"].items():
        if int(status) >= 400:
            problems.append(status)
        else:
            answers.append(Answer(status, answer["description"], _contents(answer)))
    fields = tuple(_parameter(one) for one in described.get("parameters", ()))
    return Operation(
        id=described["operationId"],
        method=method.upper(),
        path=path,
        text=_flat(described.get("description", "")),
        fields=fields,
        bodies=bodies,
        answers=tuple(answers),
        problems=tuple(problems),
        curl=_curl(f"{base}{path}", method.upper(), fields, bodies),
    )


def _parameter(described: dict[str, Any]) -> Field:
    return Field(
        described["name"],
        _type(described["schema"]),
        described.get("required", False),
        _flat(described.get("description", "")),
        described["in"],
    )


def _contents(described: dict[str, Any]) -> tuple[Content, ...]:
    return tuple(
        Content(
            media_type,
            _type(content.get("schema", {})),
            tuple(
                (example.get("summary", name), json.dumps(example["value"], indent=2))
                for name, example in content.get("examples", {}).items()
            ),
        )
        for media_type, content in described.get("content", {}).items()
    )


def _shape(name: str, described: dict[str, Any]) -> Shape:
    required = described.get("required", ())
    fields = tuple(
        Field(field, _type(one), field in required, _flat(one.get("description", "")))
        for field, one in described.get("properties", {}).items()
    )
    return Shape(name, _flat(described.get("description", "")), fields)


def _flat(text: str) -> str:
    return _CODE.sub(" ", text).strip()


def _type(schema: dict[str, Any]) -> Type:
    """What a schema allows, in words."""
    if "$ref" in schema:
        return Type("", schema["$ref"].removeprefix(_REF))
    optional = " or null" if schema.get("nullable") else ""
    if "allOf" in schema:
        return Type(optional.removeprefix(" "), _type(schema["allOf"][0]).shape)
    if schema.get("type") == "array":
        inner = _type(schema.get("items", {}))
        return Type(f"list of {inner.text}".strip() + optional, inner.shape)
    if "enum" in schema:
        return Type(" | ".join(str(value) for value in schema["enum"] if value != "") + optional)
    kind = schema.get("format") or schema.get("type") or "any JSON"
    return Type(kind + _bounds(schema) + optional)


def _bounds(schema: dict[str, Any]) -> str:
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is None or most is None:
        return ""
    return f", {least:,} to {most:,}"


def _curl(url: str, method: str, fields: tuple[Field, ...], bodies: tuple[Content, ...]) -> str:
    """A command line that works once its placeholders are filled in."""
    parts = ["curl"]
    if method == "HEAD":
        parts.append("--head")
    elif method != "GET":
        parts += ["-X", method]
    parts += ["-H", '"Authorization: Bearer $GGUFHUB_TOKEN"']
    for field in fields:
        if field.place == "header" and field.required:
            value = "1.0.0" if field.name == "Tus-Resumable" else "0"
            parts += ["-H", shlex.quote(f"{field.name}: {value}")]
    if bodies:
        parts += _sent(bodies[0])
    return " ".join([*parts, shlex.quote(url)])


def _sent(body: Content) -> list[str]:
    header = ["-H", shlex.quote(f"Content-Type: {body.media_type}")]
    if not body.examples:
        return [*header, "--data-binary", "@FILE"]
    compact = json.dumps(json.loads(body.examples[0][1]))
    return [*header, "-d", shlex.quote(compact)]
