"""The process that renders: started fresh, warmed up, jailed, then given one template.

Reads one JSON request from standard input, answers in JSON lines on standard output as facts
come in, so that what was learnt before a template blew the limits is kept.
"""

import json
import os
import sys
from datetime import date
from typing import Any

from jinja2 import nodes
from jinja2.exceptions import SecurityError, TemplateSyntaxError, UndefinedError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from ggufhub.templating import jail
from ggufhub.templating.conversations import variables
from ggufhub.templating.environment import RaisedByTemplate, build_environment
from ggufhub.templating.source import look
from ggufhub.templating.triggers import trigger_words, triggered_text

OUTPUT = 256 * 1024
"""Characters of one rendered conversation; the longest of 190 real templates gives 20,000."""


def main() -> None:
    environment = build_environment(date.fromisoformat(sys.argv[1]))
    _warm_up(environment)
    jail.shut()
    request = json.load(sys.stdin)
    _say(ready=True)
    tree = _parse(environment, request["text"])
    if tree is None:
        return
    _say(notes=look(environment, request["text"], tree))
    template = environment.from_string(request["text"])
    for name, given in request["conversations"].items():
        _say(render=_render(template, name, given))
    if request["triggers"]:
        words = trigger_words(tree)
        _say(triggered=triggered_text(template, words, request["special"]))


def _warm_up(environment: ImmutableSandboxedEnvironment) -> None:
    """Do once what imports modules and opens files lazily, while that is still possible."""
    text = (
        "{% for m in messages %}{{ m.role|upper ~ m['content']|trim|tojson }}{% endfor %}"
        "{{ strftime_now('%d %B %Y') }}"
    )
    tree = environment.parse(text)
    look(environment, text, tree)
    template = environment.from_string(text)
    _render(template, "user", variables("user", {}))
    for broken in (
        "{{ raise_exception('no') }}",
        "{{ a.b.c }}",
        "{{ 1 + 'a' }}",
        "{{ 'a'.__class__ }}",
    ):
        _render(environment.from_string(broken), "user", {})
    triggered_text(template, trigger_words(tree), {})
    b"\\u0041".decode("unicode_escape")


def _parse(environment: ImmutableSandboxedEnvironment, text: str) -> nodes.Template | None:
    try:
        tree = environment.parse(text)
        environment.compile(tree)
    except TemplateSyntaxError as error:
        _broken(error.lineno, error.message or "syntax error")
    except (RecursionError, MemoryError, ValueError, OverflowError) as error:
        _broken(1, f"too complex to compile ({type(error).__name__})")
    else:
        return environment.parse(text)  # compiling folds constants in the first tree
    return None


def _broken(line: int, message: str) -> None:
    _say(broken={"what": "syntax", "line": line, "text": message})


def _render(template: Any, name: str, given: dict[str, Any]) -> dict[str, Any]:
    pieces, length = [], 0
    try:
        for piece in template.generate(**given):
            length += len(piece)
            if length > OUTPUT:
                return _failed(name, "limit", f"more than {OUTPUT:,} characters of output")
            pieces.append(piece)
    except RaisedByTemplate as error:
        return _failed(name, "raised", str(error))
    except UndefinedError as error:
        return _failed(name, "undefined", str(error))
    except SecurityError as error:
        return _failed(name, "refused", str(error))
    except (MemoryError, RecursionError) as error:
        return _failed(name, "limit", type(error).__name__)
    except Exception as error:  # whatever a template does ends here, as a fact about it
        return _failed(name, "error", f"{type(error).__name__}: {error}")
    return {"conversation": name, "output": "".join(pieces)}


def _failed(name: str, failure: str, message: str) -> dict[str, Any]:
    return {"conversation": name, "failure": failure, "message": message[:500]}


def _say(**message: Any) -> None:
    line = json.dumps(message).encode() + b"\n"
    while line:
        line = line[os.write(1, line) :]


if __name__ == "__main__":
    main()
