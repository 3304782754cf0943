"""The page that describes the API, and the examples it shows."""

import json
import re
import shlex
from typing import Any

import pytest
from django.test import Client
from jsonschema import Draft202012Validator
from rest_framework.test import APIClient

from ggufhub.api.reference import reference

SCHEMA = "/api/v1/openapi.json"


@pytest.fixture
def schema(api: APIClient, db: None) -> dict[str, Any]:
    described: dict[str, Any] = json.loads(api.get(SCHEMA).content)
    return described


def test_every_operation_is_on_the_page(schema: dict[str, Any]) -> None:
    page = Client().get("/api/v1/docs").content.decode()
    operations = [one for methods in schema["paths"].values() for one in methods.values()]
    assert {one["operationId"] for one in operations} == set(
        re.findall(r'class="operation"><summary>.*</summary>\s*<p id="(\w+)"', page)
    )
    names = set(schema["components"]["schemas"])
    assert set(re.findall(r'href="#shape-(\w+)"', page)) <= names
    assert set(re.findall(r'id="shape-(\w+)"', page)) == names
    assert "<p><code>total</code> counts the hits of a search" in page
    assert "`" not in page.partition("<main")[2]


def test_the_page_keeps_to_the_strict_policy(db: None) -> None:
    answer = Client().get("/api/v1/docs")
    page = answer.content.decode()
    assert "script-src 'self'" in answer["Content-Security-Policy"]
    assert not re.search(r"<script(?! src=)|style=|\son\w+=|<style", page)
    assert not re.search(r'(?:src|href)="https?:', page)


def test_no_body_may_be_left_out(schema: dict[str, Any]) -> None:
    bodies = [
        (operation["operationId"], operation["requestBody"]["required"])
        for methods in schema["paths"].values()
        for operation in methods.values()
        if "requestBody" in operation
    ]
    assert len(bodies) == 6
    assert all(required for _, required in bodies), bodies


def test_command_lines_can_be_split_by_a_shell() -> None:
    for _, operations in reference("https://hub.example").groups:
        for one in operations:
            words = shlex.split(one.curl)
            assert words[0] == "curl" and words[-1] == f"https://hub.example{one.path}"


def test_examples_are_what_the_schema_says(schema: dict[str, Any]) -> None:
    checked = 0
    for methods in schema["paths"].values():
        for operation in methods.values():
            for part in (operation.get("requestBody", {}), *operation["responses"].values()):
                for content in part.get("content", {}).values():
                    for example in content.get("examples", {}).values():
                        _check(schema, content["schema"], example["value"])
                        checked += 1
    assert checked == 14


def _check(schema: dict[str, Any], shape: dict[str, Any], value: Any) -> None:
    """OpenAPI 3.0 says ``nullable`` where JSON Schema says a type more."""
    text = json.dumps({**shape, "components": schema["components"]})
    Draft202012Validator(_nullable(json.loads(text))).validate(value)


def _nullable(node: Any) -> Any:
    if isinstance(node, list):
        return [_nullable(one) for one in node]
    if not isinstance(node, dict):
        return node
    plain = {name: _nullable(one) for name, one in node.items() if name != "nullable"}
    return {"anyOf": [plain, {"type": "null"}]} if node.get("nullable") is True else plain
