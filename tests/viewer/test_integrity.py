"""Digests of files and tensors, and what is known of a signature."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from django.test import Client

from ggufhub.hub.models import Inspection
from ggufhub.integrity.manifests import parse_manifest
from ggufhub.report import build
from ggufhub.sources.file import FileSource
from tests.builders import Gguf, small_model
from tests.core.test_signatures import bundle, statement
from tests.rows import finished
from tests.viewer.page import Page
from viewer.evidence import standing

Get = Callable[[str], Page]
ReadWhole = Callable[..., Inspection]
MODEL = small_model().build()
SHA256 = hashlib.sha256(MODEL).hexdigest()


def test_a_header_knows_no_tensor_and_says_how_to_get_them(get: Get, chat: Inspection) -> None:
    page = get(f"/i/{chat.pk}/integrity/")
    assert "--depth full" in page.text
    assert "Each tensor" not in page.text


def test_a_file_without_a_digest_says_so(get: Get, db: None, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    large = Gguf(data=bytes(4 << 20)).key("general.architecture", "llama").tensor("a", (1 << 20,))
    path.write_bytes(large.build())  # small ones are read whole, and so hashed
    with FileSource(path) as source:
        row = finished(build.inspect(source)).inspection
    assert "none known" in get(f"/i/{row.pk}/integrity/").one("table", class_="digests").text


def test_equal_digests_are_one_row_that_agrees(get: Get, read_whole: ReadWhole) -> None:
    sums = f"{SHA256}  model.gguf\n".encode()
    page = get(f"/i/{read_whole(model_gguf=MODEL, SHA256SUMS=sums).pk}/integrity/")
    (row,) = [row for row in page.all("tr") if SHA256 in row.text]
    assert "in a manifest, computed from all bytes agree" in row.text


def test_a_digest_that_the_bytes_do_not_have_is_told(get: Get, read_whole: ReadWhole) -> None:
    sums = f"{'0' * 64}  model.gguf\n".encode()
    page = get(f"/i/{read_whole(model_gguf=MODEL, SHA256SUMS=sums).pk}/integrity/")
    (row,) = [row for row in page.all("tr") if "0" * 64 in row.text]
    assert "the bytes have another one" in row.text


def test_tensors_have_the_digests_that_llama_gguf_hash_prints(
    client: Client, get: Get, read_whole: ReadWhole
) -> None:
    asked = b"uuid      00000000-0000-5000-8000-000000000000  model.gguf\n"
    row = read_whole(model_gguf=MODEL, model_gguf_manifest=asked)
    page = get(f"/i/{row.pk}/integrity/")
    assert "UUID of the model" in page.text
    assert "ggufhub show ./model.gguf --hashes" in page.text
    answer = client.get(f"/i/{row.pk}/manifest")
    assert answer["Content-Type"].startswith("text/plain")
    manifest = parse_manifest(answer.content.decode(), "model.gguf.manifest")
    tensors = manifest.tensors_of("model.gguf")
    names = {name for name, _ in tensors}
    assert names == {"token_embd.weight", "output_norm.weight", ""}
    for value in tensors.values():
        assert value in page.text


def test_tensors_are_found_by_name(get: Get, read_whole: ReadWhole) -> None:
    row = read_whole(model_gguf=MODEL)
    page = get(f"/i/{row.pk}/integrity/?q=norm")
    assert "output_norm.weight" in page.text
    assert "token_embd.weight" not in page.text
    assert "No tensor matches." in get(f"/i/{row.pk}/integrity/?q=absent").text


def test_a_name_is_never_a_line_of_its_own(client: Client, read_whole: ReadWhole) -> None:
    name = "a\nsha256    " + "0" * 64 + "  other.gguf"
    model = Gguf(data=bytes(32)).key("general.architecture", "llama").tensor(name, (8,))
    answer = client.get(f"/i/{read_whole(model_gguf=model).pk}/manifest")
    assert len(answer.content.decode().splitlines()) == 1


def test_a_signature_is_told_in_words_and_nobody_is_claimed(
    get: Get, read_whole: ReadWhole
) -> None:
    signature = bundle(statement({"model.gguf": MODEL, "gone.json": b"{}"})).encode()
    row = read_whole(model_gguf=MODEL, model_sig=signature, other_bin=b"x")
    page = get(f"/i/{row.pk}/integrity/")
    card = page.one("section", aria_label="Signature").text
    assert "The signature itself was not checked: it is signed with a key" in card
    assert "not signed: 1" in card and "other.bin" in card
    assert "not there: 1" in card and "gone.json" in card
    (line,) = [row for row in page.all("tr") if SHA256 in row.text]
    assert "in a signature" in line.text and "agree" in line.text


def test_a_signature_that_makes_no_sense_is_told(get: Get, read_whole: ReadWhole) -> None:
    row = read_whole(model_gguf=MODEL, model_sig=b"{}")
    assert "It makes no sense" in get(f"/i/{row.pk}/integrity/").text


@pytest.mark.parametrize(
    ("said", "css", "words"),
    [
        ("verified: signed by a@example.org", "pass", "The signature is good"),
        ("not verified: no certificate", "", "The signature itself was not checked"),
        ("bad: it was changed", "fail", "The signature is bad"),
    ],
)
def test_what_a_checker_says(said: str, css: str, words: str) -> None:
    told = standing({"standing": said})
    assert (told.css, told.words, told.said) == (css, words, said.partition(": ")[2])


def test_an_inspection_without_a_report_has_no_manifest(client: Client, db: None) -> None:
    row = Inspection.objects.create(source_kind="url", locator="https://example.org/m", name="m")
    assert client.get(f"/i/{row.pk}/manifest")["Location"] == f"/i/{row.pk}/"
