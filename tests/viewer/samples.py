"""Files the page tests look at."""

from tests.builders import Gguf, ValueType

Q4_K, Q6_K, Q8_0, F32 = 12, 14, 8, 0

TEMPLATE = "{{ bos_token }}\n{% for message in messages %}\n{# one turn #}\n{% endfor %}\n"

HOSTILE = "a\u202eb\x1b[31m<script>alert(1)</script>\"'><img src=x onerror=alert(1)>\u200b&amp;"
"""Markup, a terminal escape, a bidirectional override and a zero-width space."""

HOSTILE_KEYS = (
    "../../rules/",
    "a/b//c",
    "..",
    "line\nfeed",
    "per%2Fcent",
    "ques?tion#mark",
    HOSTILE,
)


def chat_model(blocks: int = 4) -> Gguf:
    """Blocks of mixed types, a byte-level vocabulary, a template and a variant of it."""
    file = (
        Gguf()
        .key("general.architecture", "llama")
        .key("general.name", "Chat sample")
        .key("general.license", "apache-2.0")
        .key("llama.context_length", 4096)
        .key("tokenizer.ggml.model", "gpt2")
        .array("tokenizer.ggml.tokens", ValueType.STRING, list(tokens(300)))
        .array("tokenizer.ggml.token_type", ValueType.INT32, [3, 3] + [1] * 298)
        .key("tokenizer.ggml.bos_token_id", 0)
        .key("tokenizer.ggml.eos_token_id", 1)
        .key("tokenizer.ggml.padding_token_id", 4_000_000)
        .key("tokenizer.chat_template", TEMPLATE)
        .key("tokenizer.chat_template.tool_use", "{{ tools }}")
        .key("sample.story", "Once upon a time. " * 100)
        .array("sample.few", ValueType.UINT32, list(range(12)))
        .tensor("token_embd.weight", (256, 300), Q8_0)
    )
    for block in range(blocks):
        kind = Q6_K if block == 1 else Q4_K
        file.tensor(f"blk.{block}.attn_norm.weight", (256,), F32)
        file.tensor(f"blk.{block}.attn_v.weight", (256, 32), kind)
        file.tensor(f"blk.{block}.ffn_up.weight", (256, 64), Q4_K)
    return file.tensor("output_norm.weight", (256,), F32)


def tokens(count: int) -> list[str]:
    """``<s>``, ``</s>``, a space, a line feed and a broken character as bytes, then words."""
    return [
        "<s>",
        "</s>",
        "\u0120hello",
        "\u010a",
        "\u00e2\u0124",
        *(f"w{n}" for n in range(5, count)),
    ]


def cut_model() -> bytes:
    """The download stopped 100 bytes before the end."""
    return chat_model().build()[:-100]


def hostile_model() -> Gguf:
    """Every string a file can choose, chosen badly."""
    file = (
        Gguf()
        .key("general.architecture", HOSTILE)
        .key("general.name", HOSTILE)
        .key("general.license", HOSTILE)
        .key("tokenizer.ggml.model", HOSTILE)
        .array("tokenizer.ggml.tokens", ValueType.STRING, [HOSTILE] * 100)
        .key("tokenizer.ggml.bos_token_id", 1)
        .key("tokenizer.chat_template", "{{ x }}" + HOSTILE)
        .key("tokenizer.chat_template." + HOSTILE, HOSTILE + "{% raw %}\n" * 3)
        .key("not.utf8", b"\xff\xfe<b>")
        .key("with.nul", b"a\0<b>")
        .key("long", HOSTILE * 50)
    )
    for name in HOSTILE_KEYS:
        file.array(name, ValueType.STRING, [HOSTILE, "x"])
    file.tensor("blk.0." + HOSTILE[:30], (256,), F32)
    return file.tensor("blk.0." + HOSTILE[:30], (250,), Q4_K).tensor("\n", (8,), 250)


def many_tensors(count: int) -> Gguf:
    """``count`` tensors without data: the table is what is tested."""
    file = Gguf().key("general.architecture", "llama")
    roles = ("attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm", "ffn_gate",
             "ffn_up", "ffn_down", "post_norm")  # fmt: skip
    for number in range(count):
        block, role = divmod(number, len(roles))
        file.tensor(f"blk.{block}.{roles[role]}.weight", (8,), F32)
    return file


def large_vocabulary(count: int) -> Gguf:
    """``count`` tokens with scores and types."""
    return (
        Gguf()
        .key("general.architecture", "llama")
        .key("tokenizer.ggml.model", "llama")
        .array("tokenizer.ggml.tokens", ValueType.STRING, [f"\u2581word{n}" for n in range(count)])
        .array("tokenizer.ggml.scores", ValueType.FLOAT32, [float(-n) for n in range(count)])
        .array("tokenizer.ggml.token_type", ValueType.INT32, [1] * count)
        .key("tokenizer.ggml.bos_token_id", count - 1)
    )


def vocabulary_with_template(source: str) -> Gguf:
    """A vocabulary and one chat template."""
    return large_vocabulary(20).key("tokenizer.chat_template", source)
