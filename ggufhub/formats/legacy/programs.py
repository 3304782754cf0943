"""The programs whose files start with the magic of GGML, and how each writes them.

The magic says nothing about what follows. Sources of the layouts: the examples of ggml (commit
before ee07c17b: gpt-2, starcoder, gpt-j, gpt-neox, mpt, replit; today: sam), whisper.cpp
(whisper, parakeet, silero), bloomz.cpp, bert.cpp, rwkv.cpp, and for LLaMA
``convert_llama_ggml_to_gguf.py``.
"""

from collections.abc import Callable
from dataclasses import dataclass

from ggufhub.formats.legacy.parts import Parts
from ggufhub.formats.values import ValueType


@dataclass(frozen=True, slots=True)
class Program:
    """One layout. ``title`` completes "This is …"; ``reader`` is the program that loads it.

    ``read`` reads what comes before the tensors; every tensor's name starts with one of
    ``tensors``. ``bare`` layouts are recognised without any tensor: llama.cpp and whisper.cpp
    test with such files.
    """

    name: str
    title: str
    reader: str
    read: Callable[[Parts], None]
    tensors: tuple[str, ...]
    bare: bool = False


def _llama(parts: Parts, *, scored: bool = False) -> None:
    count = parts.word("n_vocab")
    parts.words("n_embd", "n_mult", "n_head", "n_layer", "n_rot", "ftype")
    parts.tokens(count, scored=scored)


def _scored_llama(parts: Parts) -> None:
    _llama(parts, scored=True)


def _gpt_2(parts: Parts) -> None:
    parts.words("n_vocab", "n_ctx", "n_embd", "n_head", "n_layer", "ftype")
    parts.tokens(parts.word("n_tokens"))


def _gpt_j(parts: Parts) -> None:
    parts.words("n_vocab", "n_ctx", "n_embd", "n_head", "n_layer", "n_rot", "ftype")
    parts.tokens(parts.word("n_tokens"))


def _gpt_neox(parts: Parts) -> None:
    count = parts.word("n_vocab")
    parts.words("n_ctx", "n_embd", "n_head", "n_layer", "n_rot", "par_res", "ftype")
    parts.tokens(count)


def _mpt(parts: Parts) -> None:
    parts.words("d_model", "max_seq_len", "n_heads", "n_layers")
    count = parts.word("n_vocab")
    parts.word("alibi_bias_max", ValueType.FLOAT32)
    parts.word("clip_qkv", ValueType.FLOAT32)
    parts.word("ftype")
    parts.tokens(count)


def _replit(parts: Parts) -> None:
    parts.words("d_model", "max_seq_len", "n_heads", "n_layers")
    count = parts.word("n_vocab")
    parts.word("ftype")
    parts.tokens(count, scored=True)


def _bloom(parts: Parts) -> None:
    count = parts.word("n_vocab")
    parts.words("n_embd", "n_mult", "n_head", "n_layer", "ftype")
    parts.tokens(count)


def _bert(parts: Parts) -> None:
    count = parts.word("n_vocab")
    parts.words("n_max_tokens", "n_embd", "n_intermediate", "n_head", "n_layer", "ftype")
    parts.tokens(count)


def _whisper(parts: Parts) -> None:
    parts.words("n_vocab", "n_audio_ctx", "n_audio_state", "n_audio_head", "n_audio_layer")
    parts.words("n_text_ctx", "n_text_state", "n_text_head", "n_text_layer")
    mels = parts.word("n_mels")
    parts.word("ftype")
    parts.same("n_mel", mels)
    parts.numbers("mel_filters", ValueType.FLOAT32, mels * parts.word("n_fft"))
    parts.tokens(parts.word("n_tokens"))  # special tokens beyond them are made up when loading


def _parakeet(parts: Parts) -> None:
    parts.words("n_vocab", "n_audio_ctx", "n_audio_state", "n_audio_head", "n_audio_layer")
    mels = parts.word("n_mels")
    parts.words("ftype", "n_fft", "subsampling_factor", "n_subsampling_channels")
    parts.words("n_conv_kernel", "n_pred_dim", "n_pred_layers")
    durations = parts.word("n_tdt_durations")
    parts.word("n_max_tokens")
    parts.same("n_mel", mels)
    parts.numbers("mel_filters", ValueType.FLOAT32, mels * parts.word("n_fb"))
    parts.numbers("window", ValueType.FLOAT32, parts.word("n_window"))
    parts.numbers("tdt_durations", ValueType.UINT32, durations)
    parts.tokens(parts.word("n_tokens"))


def _silero(parts: Parts) -> None:
    parts.text("model_type")
    parts.words("version_major", "version_minor", "version_patch", "n_window", "n_context")
    layers = parts.word("n_encoder_layers")
    parts.numbers("encoder_layers", ValueType.UINT32, 3 * layers)  # in, out and kernel of each
    parts.words("lstm_input_size", "lstm_hidden_size", "final_conv_in", "final_conv_out")


def _sam(parts: Parts) -> None:
    parts.words("n_enc_state", "n_enc_layer", "n_enc_head", "n_enc_out_chans", "n_pt_embd")
    parts.word("ftype")


def _rwkv(parts: Parts) -> None:
    parts.words("n_vocab", "n_embed", "n_layer", "ftype")


def _ggla(parts: Parts) -> None:
    parts.word("r", ValueType.INT32)
    parts.word("alpha", ValueType.INT32)


_LLAMA_TENSORS = ("tok_embeddings.", "norm.", "output.", "layers.")

LLAMA = Program(
    "llama", "a LLaMA model", "llama.cpp before GGUF", _llama, _LLAMA_TENSORS, bare=True
)
SCORED_LLAMA = Program(
    "llama", "a LLaMA model", "llama.cpp before GGUF", _scored_llama, _LLAMA_TENSORS, bare=True
)
GGLA = Program("ggla", "a LoRA adapter", "llama.cpp before GGUF", _ggla, ("",))
RWKV = Program("rwkv", "an RWKV model", "rwkv.cpp", _rwkv, ("emb.", "blocks.", "ln_out.", "head."))

SHARING_MAGIC = (
    LLAMA,
    Program(
        "whisper", "a Whisper model", "whisper.cpp", _whisper, ("encoder.", "decoder."), bare=True
    ),
    Program("gpt2", "a GPT-2 or StarCoder model", "the gpt-2 example of ggml", _gpt_2, ("model/",)),
    Program(
        "gptj", "a GPT-J model", "the gpt-j example of ggml", _gpt_j, ("transformer.", "lm_head.")
    ),
    Program(
        "gptneox",
        "a GPT-NeoX model",
        "the gpt-neox example of ggml",
        _gpt_neox,
        ("gpt_neox.", "embed_out.", "lm_head."),
    ),
    Program("mpt", "an MPT model", "the mpt example of ggml", _mpt, ("transformer.",)),
    Program("replit", "a Replit model", "the replit example of ggml", _replit, ("transformer.",)),
    Program("bloom", "a Bloom model", "bloomz.cpp", _bloom, _LLAMA_TENSORS),
    Program("bert", "a BERT model", "bert.cpp", _bert, ("embeddings.", "encoder.", "pooler.")),
    Program(
        "parakeet",
        "a Parakeet model",
        "whisper.cpp",
        _parakeet,
        ("encoder.", "decoder.", "joint."),
        bare=True,
    ),
    Program(
        "silero",
        "a Silero model for voice activity detection",
        "whisper.cpp",
        _silero,
        ("_model.",),
    ),
    Program(
        "sam",
        "a Segment Anything model",
        "the sam example of ggml",
        _sam,
        ("image_encoder.", "prompt_encoder.", "mask_decoder."),
    ),
)
"""Layouts behind the magic ``lmgg``, LLaMA first: it is what a file without marks is taken for."""

BY_NAME = {program.name: program for program in (*SHARING_MAGIC, RWKV, GGLA)}
