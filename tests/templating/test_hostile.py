"""Hostile templates end as facts, within the limits, in another process."""

import os

import pytest

from ggufhub.templating import jail
from ggufhub.templating.conversations import USER
from ggufhub.templating.facts import TemplateFacts
from ggufhub.templating.render import LARGEST, analyse

COSTLY = {
    "loops": "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "powers": "{{ 2**(2**31) * 2**(2**31) }}",
    "repetition": "{{ 'a' * 1500000000 }}",
    "endless output": "{% for a in range(99999) %}{{ 'abcdefgh' * 99 }}{% endfor %}",
    "doubling": (
        "{% set n = namespace(x='a') %}{% for i in range(60) %}"
        "{% set n.x = n.x ~ n.x %}{% endfor %}{{ n.x }}"
    ),
    "format": "{{ '%900000000d' | format(1) }}",
    "recursion": "{% macro f(n) %}{{ f(n) }}{{ f(n) }}{% endmacro %}{{ f(1) }}",
    "depth": "{{ " + "(" * 3000 + "1" + ")" * 3000 + " }}",
    "tags": "{% if a %}" * 20_000,
}


def ended_badly(facts: TemplateFacts) -> bool:
    failed = any(render.failure == "limit" for render in facts.renders.values())
    return facts.stopped is not None or facts.broken is not None or failed


@pytest.mark.parametrize("name", COSTLY)
def test_costly_templates_end_as_a_fact(name: str) -> None:
    assert ended_badly(analyse("default", COSTLY[name], {}))


def test_what_was_learnt_before_the_end_is_kept() -> None:
    slow_with_tools = (
        "{{ messages[0].content }}{% if tools %}{% for a in range(99999) %}"
        "{% for b in range(99999) %}{% endfor %}{% endfor %}{% endif %}"
    )
    facts = analyse("default", slow_with_tools, {})
    assert facts.output("user") == USER
    assert facts.stopped is not None
    assert "tools" not in facts.renders


def test_too_long_is_not_even_tried() -> None:
    facts = analyse("default", "a" * (LARGEST + 1), {})
    assert facts.stopped is not None
    assert facts.renders == {}


@pytest.mark.parametrize(
    "template",
    [
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ cycler.__init__.__globals__.os.popen('id').read() }}",
        "{{ messages|attr('__class__') }}",
        "{{ '{0.__class__}'.format(messages) }}",
        "{{ lipsum.__globals__ }}",
    ],
)
def test_escapes_give_nothing(template: str) -> None:
    render = analyse("default", template, {}).renders["user"]
    assert render.failure in ("refused", "undefined") or "class" not in render.output


ESCAPES = {
    "open": "open('/etc/hostname').read()",
    "fork": "__import__('os').fork()",
    "execute": "__import__('os').execv('/bin/true', ['true'])",
    "kill": f"__import__('os').kill({os.getpid()}, 0)",
    "listing": "__import__('os').listdir('/')",
    "network": "__import__('_socket').socket()",
}


@pytest.mark.parametrize("name", ESCAPES)
def test_the_jail_holds_even_without_a_sandbox(name: str) -> None:
    """Code that has left the sandbox altogether still cannot do anything."""
    import subprocess
    import sys

    code = (
        "import _socket, os\n"
        "from ggufhub.templating import jail\n"
        "jail.shut()\n"
        f"try:\n    {ESCAPES[name]}\n"
        "except PermissionError:\n    os.write(1, b'refused')\n"
    )
    assert jail.available()
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.stdout == b"refused", done.stderr
