"""Writes a model that llama.cpp runs: a few random weights and a vocabulary of single characters and bytes.

`python tiny_model.py FILE`, by the Python that has `gguf`. It knows nothing; a grammar makes calls of what it writes.
"""

from __future__ import annotations

import sys

import numpy as np
from gguf import GGUFWriter, TokenType

SIZE = 64
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content or '' }}"
    "{% for call in message.tool_calls or [] %}{{ call.function.name }} {{ call.function.arguments }}\n{% endfor %}"
    "<|im_end|>\n{% endfor %}<|im_start|>assistant\n"
)
TOKENS = [
    ("<unk>", TokenType.UNKNOWN),
    ("<s>", TokenType.CONTROL),
    ("</s>", TokenType.CONTROL),
    *((f"<0x{byte:02X}>", TokenType.BYTE) for byte in range(256)),
    ("<|im_start|>", TokenType.CONTROL),
    ("<|im_end|>", TokenType.CONTROL),
    ("\u2581", TokenType.NORMAL),  # SentencePiece's space
    *((chr(code), TokenType.NORMAL) for code in range(33, 127)),
]


def describe(writer: GGUFWriter) -> None:
    """The model's shape and its vocabulary."""
    writer.add_context_length(8192)
    writer.add_embedding_length(SIZE)
    writer.add_block_count(1)
    writer.add_feed_forward_length(2 * SIZE)
    writer.add_head_count(4)
    writer.add_head_count_kv(4)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(SIZE // 4)
    writer.add_vocab_size(len(TOKENS))
    writer.add_tokenizer_model("llama")
    writer.add_token_list([token for token, _ in TOKENS])
    writer.add_token_types([kind for _, kind in TOKENS])
    writer.add_token_scores([0.0] * len(TOKENS))
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(TEMPLATE)


def fill(writer: GGUFWriter) -> None:
    """Its weights, the same each time."""
    random = np.random.default_rng(7)
    shapes = {"token_embd": (len(TOKENS), SIZE), "output": (len(TOKENS), SIZE)}
    shapes |= {f"blk.0.attn_{part}": (SIZE, SIZE) for part in ("q", "k", "v", "output")}
    shapes |= {f"blk.0.ffn_{part}": (2 * SIZE, SIZE) for part in ("gate", "up")}
    shapes["blk.0.ffn_down"] = (SIZE, 2 * SIZE)
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", random.normal(0, 0.1, shape).astype(np.float32))
    for name in ("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(SIZE, np.float32))


def main() -> None:
    """Writes the file that the command line names."""
    writer = GGUFWriter(sys.argv[1], "llama")
    describe(writer)
    fill(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
