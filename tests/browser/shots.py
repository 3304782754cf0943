"""Pictures of the pages for the documentation: ``python -m tests.browser.shots [DIRECTORY]``.

Starts the service as users do, inspects a sample made here, and takes a picture of each page. Look
at every one of them before it is committed.
"""

import socket
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from ggufhub.formats.tensor_types import tensor_bytes
from ggufhub.rules.model_samples import llama, llama_tensors
from tests.browser.conftest import CHROMIUM, ROOT, serve
from tests.builders import Gguf, ValueType
from tests.core.rangeserver import RangeServer
from tests.viewer.samples import tokens

Q4_K, Q6_K, Q8_0, F32 = 12, 14, 8, 0
WIDTH, FEED, BLOCKS, VOCABULARY = 2048, 8192, 22, 32_000
LARGEST_PICTURE = 300_000
QUANTS = {"F16": 1, "Q8_0": Q8_0, "Q5_0": 6, "Q4_0": 2}
"""Type ids of the quants in the picture of an audit."""
FILE_TYPES = {"F16": 1, "Q8_0": 7, "Q5_0": 8, "Q4_0": 2}

TEMPLATE = """{{ bos_token }}
{%- for message in messages %}
{%- if message['role'] == 'system' %}{{ raise_exception('No system role') }}{% endif %}
<|turn|>{{ message['role'] }}
{{ message['content'] | trim }}<|end|>
{%- endfor %}
{%- if add_generation_prompt %}
<|turn|>assistant
{% endif %}
"""


def portrait() -> tuple[bytes, int]:
    """The header of a chat model as publishers make them, and the size of its whole file."""
    file = (
        Gguf(data=b"")
        .key("general.architecture", "llama")
        .key("general.name", "Harbour 1B Chat")
        .key("general.license", "apache-2.0")
        .key("general.size_label", "1B")
        .key("general.file_type", 15)
        .key("general.quantization_version", 2)
        .key("llama.block_count", BLOCKS)
        .key("llama.context_length", 32_768)
        .key("llama.embedding_length", WIDTH)
        .key("llama.feed_forward_length", FEED)
        .key("llama.attention.head_count", 32)
        .key("llama.attention.head_count_kv", 4)
        .key("llama.attention.layer_norm_rms_epsilon", 1e-5)
        .key("tokenizer.ggml.model", "gpt2")
        .key("tokenizer.ggml.pre", "llama-bpe")
        .array("tokenizer.ggml.tokens", ValueType.STRING, list(tokens(VOCABULARY)))
        .array("tokenizer.ggml.token_type", ValueType.INT32, [3, 3] + [1] * (VOCABULARY - 2))
        .array("tokenizer.ggml.merges", ValueType.STRING, ["w 5", "w 6"])
        .key("tokenizer.ggml.bos_token_id", 0)
        .key("tokenizer.ggml.eos_token_id", 40_000)
        .key("tokenizer.chat_template", TEMPLATE)
    )
    size = sum(_tensor(file, *row) for row in _tensors())
    header = file.build()
    return header, len(header) + size


def _tensor(file: Gguf, name: str, shape: tuple[int, ...], kind: int) -> int:
    elements = 1
    for dimension in shape:
        elements *= dimension
    size = tensor_bytes(kind, elements, shape[0]) or 0
    file.tensor(name, shape, kind)
    return size + -size % file.alignment


def _tensors() -> Iterator[tuple[str, tuple[int, ...], int]]:
    yield "token_embd.weight", (WIDTH, VOCABULARY), Q8_0
    for block in range(BLOCKS):
        finer = Q6_K if block < 3 or block % 3 == 2 or block > BLOCKS - 4 else Q4_K
        for role, shape, kind in (
            ("attn_norm", (WIDTH,), F32),
            ("attn_q", (WIDTH, WIDTH), Q4_K),
            ("attn_k", (WIDTH, WIDTH // 8), Q4_K),
            ("attn_v", (WIDTH, WIDTH // 8), finer),
            ("attn_output", (WIDTH, WIDTH), Q4_K),
            ("ffn_norm", (WIDTH,), F32),
            ("ffn_gate", (WIDTH, FEED), Q4_K),
            ("ffn_up", (WIDTH, FEED), Q4_K),
            ("ffn_down", (FEED, WIDTH), finer),
        ):
            yield f"blk.{block}.{role}.weight", shape, kind
    yield "output_norm.weight", (WIDTH,), F32
    yield "output.weight", (WIDTH, VOCABULARY), Q6_K


def report(page: Page, directory: Path) -> str:
    """The address of the sample's report; of its file only the header is sent."""
    header, size = portrait()
    path = directory / "harbour-1b-chat-Q4_K_M.gguf"
    path.write_bytes(header)
    with path.open("r+b") as file:
        file.truncate(size - 4096)  # the download stopped early: there is something to say
    page.goto("/")
    page.get_by_label("Drop model files here").set_input_files(path)
    page.wait_for_selector(".tabs")
    return page.url


def take(browser: Browser, site: str, url: str, path: Path, **options: object) -> None:
    """One picture; the part below the window is left out."""
    given = {"viewport": {"width": 1280, "height": 860}, "color_scheme": "light", **options}
    context = browser.new_context(base_url=site, **given)
    page = context.new_page()
    page.goto(url)
    page.wait_for_load_state("networkidle")
    page.screenshot(path=path)
    context.close()
    size = path.stat().st_size
    print(f"{path.name:24} {size:>8,} bytes")
    assert size < LARGEST_PICTURE, "too large for a repository"


def conversation(page: Page, url: str) -> str:
    """The address of a rendered conversation."""
    page.goto(url + "template/")
    page.get_by_role("textbox", name="Message 2").fill("Which tide comes at noon?")
    page.get_by_role("button", name="Render").click()
    page.wait_for_selector("#rendered")
    return page.url


def audit(page: Page) -> str:
    """The address of an audit of four quants, one of which is cut off."""
    with RangeServer() as server:
        for name, kind in QUANTS.items():
            own = {
                tensor: (shape, kind if len(shape) > 1 else F32)
                for tensor, (shape, _) in llama_tensors().items()
            }
            data = llama({"general.name": "Harbour", "general.file_type": FILE_TYPES[name]}, own)
            server.files[f"harbour-{name}.gguf"] = data[:-64] if name == "Q5_0" else data
        page.goto("/audits/")
        page.get_by_label("Or a list of links").fill("\n".join(map(server.url, server.files)))
        page.get_by_role("button", name="Begin").click()
        page.wait_for_selector(".state[data-state=done]", timeout=60_000)
    return page.url


@contextmanager
def service(directory: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        bind = f"127.0.0.1:{probe.getsockname()[1]}"
    server = serve(bind, directory)
    try:
        yield f"http://{bind}"
    finally:
        server.terminate()
        server.wait(60)


def main(target: Path) -> None:
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        with service(Path(scratch) / "data") as site:
            page = browser.new_page(base_url=site)
            found = report(page, Path(scratch))
            talk = conversation(page, found)
            audited = audit(page)
            place = f"{found}layout/?at=0x1a7&length=12"
            phone = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2}
            for name, url, options in (
                ("home", "/", {}),
                ("report", found, {}),
                ("report-dark", found, {"color_scheme": "dark"}),
                ("report-phone", found, phone),
                ("tensors", found + "tensors/", {}),
                ("template", talk, {}),
                ("layout", place, {}),
                ("memory", found + "memory/?gib=2", {}),
                ("audit", audited, {}),
            ):
                take(browser, site, url, target / f"{name}.png", **options)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "images")
