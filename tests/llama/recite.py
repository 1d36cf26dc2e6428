#!/usr/bin/env python3
"""Makes a model that recites: a GGUF of some hundred kilobytes that answers every prompt with one given text.

usage: recite.py OUT.gguf TEXT TEMPLATE [--special MARKER]... [--endless]
TEXT and TEMPLATE are files. A MARKER is one token of its own, as special tokens are. --endless: from the end to the beginning again.

How: a transformer whose attention and feed-forward weights are all zero sees nothing but its last token. The text is cut into pieces that
are all different; each piece is a token whose embedding is a row of a Hadamard matrix (so all are at right angles), and the output weights
of its successor are the same row. All other tokens share one row, whose successor is the first piece.
"""
import argparse
import pathlib
import re

import gguf
import numpy

BASE = ["<unk>", "<s>", "</s>", "<|im_start|>", "<|im_end|>"]
EOS = 4


def pieces(text, markers, taken):
    """The text in pieces, no two alike; markers whole where they come first."""
    out = []
    parts = re.split("(" + "|".join(map(re.escape, markers)) + ")", text) if markers else [text]
    for part in filter(None, parts):
        if part in markers and part not in taken:
            taken.add(part)
            out.append((part, True))
            continue
        first, at = len(out), 0
        while at < len(part):
            end = min(at + 2, len(part))
            while part[at:end] in taken and end < len(part):
                end += 1
            piece, at = part[at:end], end
            # The rest of a part may be there already, or be a lone newline, which also ends the prompt: longer then.
            while piece in taken or piece == "\n":
                if len(out) == first:
                    raise SystemExit(f"cannot cut the text: {piece!r} comes twice")
                before, _ = out.pop()
                taken.discard(before)
                piece = before + piece
            taken.add(piece)
            out.append((piece, False))
    return out


def hadamard(size):
    rows = numpy.ones((1, 1), numpy.float32)
    while len(rows) < size:
        rows = numpy.block([[rows, rows], [rows, -rows]])
    return rows


def write(path, text, template, markers=(), endless=False):
    kinds = gguf.TokenType
    tokens = BASE + [f"<0x{byte:02X}>" for byte in range(256)]
    types = [kinds.UNKNOWN] + [kinds.CONTROL] * 4 + [kinds.BYTE] * 256
    chain = []
    for piece, marker in pieces(text, list(markers), set(BASE)):
        chain.append(len(tokens))
        tokens.append(piece.replace(" ", "\u2581"))
        types.append(kinds.USER_DEFINED if marker else kinds.NORMAL)
    rows = hadamard(max(len(chain) + 1, 64))
    width = len(rows)
    embedding = numpy.tile(rows[0], (len(tokens), 1)) / width**0.5
    output = numpy.zeros((len(tokens), width), numpy.float32)
    output[chain[0]] += rows[0]
    for number, token in enumerate(chain, 1):
        embedding[token] = rows[number] / width**0.5
        after = chain[number] if number < len(chain) else chain[0] if endless else EOS
        output[after] += rows[number]

    out = gguf.GGUFWriter(path, "llama")
    heads, inner, context = 2, 64, 32768
    out.add_name("recite")
    out.add_context_length(context)
    out.add_embedding_length(width)
    out.add_block_count(1)
    out.add_feed_forward_length(inner)
    out.add_head_count(heads)
    out.add_head_count_kv(heads)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_rope_dimension_count(width // heads)
    out.add_vocab_size(len(tokens))
    out.add_tokenizer_model("llama")
    out.add_token_list([token.encode() for token in tokens])
    out.add_token_scores([1.0 if kind == kinds.NORMAL else 0.0 for kind in types])
    out.add_token_types(types)
    out.add_bos_token_id(1)
    out.add_eos_token_id(EOS)
    out.add_unk_token_id(0)
    out.add_add_bos_token(True)
    out.add_add_space_prefix(False)
    out.add_chat_template(template)
    half = lambda array: array.astype(numpy.float16)
    zero = lambda *shape: numpy.zeros(shape, numpy.float16)
    one = numpy.ones(width, numpy.float32)
    out.add_tensor("token_embd.weight", half(embedding))
    out.add_tensor("output.weight", half(output))
    out.add_tensor("output_norm.weight", one)
    for name in ("attn_norm", "ffn_norm"):
        out.add_tensor(f"blk.0.{name}.weight", one)
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        out.add_tensor(f"blk.0.{name}.weight", zero(width, width))
    for name, shape in (("ffn_gate", (inner, width)), ("ffn_up", (inner, width)), ("ffn_down", (width, inner))):
        out.add_tensor(f"blk.0.{name}.weight", zero(*shape))
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("text", type=pathlib.Path)
    parser.add_argument("template", type=pathlib.Path)
    parser.add_argument("--special", action="append", default=[])
    parser.add_argument("--endless", action="store_true")
    given = parser.parse_args()
    write(given.out, given.text.read_text(), given.template.read_text(), given.special, given.endless)
