"""KND005: a projector beside its text model; row 75 of the log was a false alarm of a program."""

import pytest

from ggufhub.rules.kind import projector_set
from ggufhub.rules.model_samples import assemble, llama
from tests.core.reading import report, rules_hit


def pair(projector: bytes, **others: bytes) -> dict[str, bytes]:
    more = {f"{name}.gguf": data for name, data in others.items()}
    return {"mmproj-x.gguf": projector, "x.gguf": llama(), **more}


def reasons(files: dict[str, bytes]) -> dict[str, str]:
    return {e["rule"]: e["reason"] for e in report(files).document["not_evaluated"]}


def test_deepstack_layers_do_not_make_a_mismatch() -> None:
    keys = {"general.architecture": "clip", "clip.projector_type": "qwen3vl_merger"}
    tensors: dict = {"mm.2.bias": ((32,), 0)}
    for layer in range(3):
        tensors[f"v.deepstack.{layer}.fc2.weight"] = ((32, 32), 0)
    assert "KND005" not in rules_hit(report(pair(assemble(keys, tensors))))


def test_an_unknown_projector_is_not_judged() -> None:
    keys = {"general.architecture": "clip", "clip.projector_type": "novel"}
    projector = assemble(keys, {"mm.2.weight": ((32, 99), 0)})
    assert "KND005" not in rules_hit(report(pair(projector)))


@pytest.mark.parametrize("others", [{}, {"y": llama(), "z": llama()}])
def test_without_exactly_one_model_it_is_not_evaluated(others: dict[str, bytes]) -> None:
    files = projector_set(64)
    if not others:
        del files["sample.gguf"]
    files |= {f"{name}.gguf": data for name, data in others.items()}
    assert reasons(files)["KND005"].startswith("there is not exactly one text model")


def test_a_model_is_no_projector() -> None:
    assert reasons({"x.gguf": llama()})["KND005"] == "this is no projector"
