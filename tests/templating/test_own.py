"""A conversation of somebody's own, through the same jail as the samples."""

import pytest

from ggufhub.templating.render import LARGEST, render_conversation

GIVEN = {"messages": [{"role": "user", "content": "a\u202eb"}], "bos_token": "<s>"}


def test_the_template_sees_what_is_given_and_nothing_else() -> None:
    text = "{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}"
    outcome = render_conversation(text + "{{ tools is defined }}", GIVEN)
    assert (outcome.output, outcome.failure) == ("<s>user: a\u202ebFalse", None)


@pytest.mark.parametrize(
    ("text", "failure", "says"),
    [
        ("{% if %}", "syntax", "line 1"),
        ("{{ raise_exception('no system role') }}", "raised", "no system role"),
        ("{{ a.b.c }}", "undefined", "'a' is undefined"),
        ("{{ ''.__class__.__mro__ }}", "refused", "unsafe"),
        ("{{ 1 / 0 }}", "error", "ZeroDivisionError"),
        ("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
         "limit", "seconds"),
        ("{{ 'a' * 400000 }}", "limit", "output"),
        ("x" * (LARGEST + 1), "limit", "characters"),
    ],
    ids=["syntax", "raised", "undefined", "refused", "error", "endless", "long", "large"],
)  # fmt: skip
def test_every_end_is_a_fact(text: str, failure: str, says: str) -> None:
    outcome = render_conversation(text, GIVEN)
    assert outcome.failure == failure
    assert says in outcome.message
    assert outcome.output == ""
