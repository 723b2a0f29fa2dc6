"""The forms in which models write calls as text: which one a model is known or asked to write, and what it has read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from console_app.domain import ConfigError
from console_app.domain import schema as json_schema
from console_app.records import dataclass

if TYPE_CHECKING:
    from console_app.textcalls import ReadingLevel

DEFAULT = "hermes_json"
CODE = "qwen3_coder_xml"  # values as they are: code needs no JSON escapes, which small models get wrong
XML = "roo_xml"
_CODE_PARAMETERS = frozenset({"code", "new_string", "old_string", "new_text", "old_text", "patch", "diff", "script"})


FORMS: Mapping[str, str] = {
    "apertus": "Apertus",
    "command_a_action": "command-r7b",
    "command_r": "command-r-plus",
    "deepseek_v3": "DeepSeek-R1, DeepSeek-R1-Distill-Qwen",
    "deepseek_v31": "DeepSeek-V3.1",
    "deepseek_v32_dsml": "DeepSeek-V3.2",
    "deepseek_v4_dsml": "DeepSeek-V4",
    "functionary_v31": "functionary-medium-v3.1",
    "functionary_v32": "functionary-medium-v3.2",
    "gemma4": "gemma-4",
    "gigachat3": "GigaChat3, GigaChat3.1",
    "glm45": "GLM 4.6, GLM 4.7, Laguna, ling-3.0, Spark2.5",
    "harmony": "gpt-oss",
    "hermes_json": "Bielik, granite-4.0, granite-4.1, Hermes-2-Pro, Hermes-3, MiMo-VL, Qwen2.5, Qwen3, QwQ, Reka-Edge",
    "hunyuan_v3": "Hy3",
    "jamba_hunyuan_array": "Apriel 1.5, Apriel 1.6",
    "kimi_k2": "Kimi K2",
    "kimi_k3_xtml": "Kimi K3",
    "lfm2": "LFM2.5",
    "llama3_json": "Llama-3.1, Llama-3.2, Llama-3.3",
    "minicpm5_param": "MiniCPM5",
    "minimax_m1": "MiniMax-M1",
    "minimax_m2": "MiniMax-M2",
    "minimax_m3": "MiniMax-M3",
    "mistral_json": "Mistral-Nemo",
    "mistral_v11": "Devstral-Small, Ministral-3, Mistral-Small 3.2",
    "muse": "muse-glimmer",
    "nemotron_toolcall": "Nemotron-Nano-v2",
    "qwen3_coder_xml": "Nemotron-3-Nano, Qwen3-Coder, Qwen3.5, Step-3.5",
    "seed_oss": "Seed-OSS",
    "solar_open": "Solar-Open",
}
"""The models whose chat templates write a form, by the beginnings of their names; a test makes it of the templates."""
_WORD = re.compile(r"[a-z]+|\d+(?:\.\d+)*")


def form_of_model(model: str) -> str | None:
    """Return the form that a model's own template writes, by the longest name that its name begins with."""
    words = _words(model.rpartition("/")[2])
    found = [(len(begin), form) for form, begins in _BEGINS.items() for begin in begins if words[: len(begin)] == begin]
    return max(found)[1] if found else None


def _words(name: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(name.lower()))


_BEGINS = {form: [_words(name) for name in names.split(", ")] for form, names in FORMS.items()}


def usual_dialect(model: str, schemas: Iterable[Mapping[str, Any]], protocol: str = "text") -> str:
    """Return the dialect to ask a model for of which only its name and its tools' parameters are known."""
    if protocol == "xml":
        return XML
    codes = any(not _CODE_PARAMETERS.isdisjoint(json_schema.properties(schema)) for schema in schemas)
    return CODE if codes or "coder" in model.lower() else DEFAULT


@dataclass(frozen=True, slots=True)
class ReadingRule:
    """How one answer is read: `level` says which calls count. The form that the model was `asked` to write and the one
    that it is `known` to write, which is read ahead, run by the usual rules; a call in any other asks. `thinks`: the
    prompt may have opened reasoning, in which nothing is read ahead. `advice` tells the model how a call has to be
    written. `as_is`: the text is shown just as it came, with level "none".
    """

    level: ReadingLevel = "all"
    asked: str | None = None
    known: str | None = None
    who: str = "the model"
    advice: str = ""
    as_is: bool = False
    thinks: bool = True


def level_of(protocol: str, known: str | None) -> ReadingLevel:
    """Return what a protocol reads of the text of a model that is `known` to write a form: where a marker opens its
    calls, an unmarked one in prose is none."""
    if protocol != "auto":
        return "none" if protocol == "native" else "all"
    if known is None:
        return "marked"
    from console_app.textcalls import FAMILIES

    return "marked" if known in FAMILIES and FAMILIES[known].marked else "all"


def checked_dialect(name: str | None) -> str | None:
    """Return the name of a dialect that was configured. Raises ConfigError for one that there isn't."""
    if name is None:
        return None
    from difflib import get_close_matches  # only needed to word an error

    from console_app.textcalls import FAMILIES

    names = list(FAMILIES)
    if name in names:
        return name
    near = get_close_matches(name, names, 1, 0.5)
    raise ConfigError(
        f"no dialect is called {name[:60]}", f"Did you mean {near[0]}?" if near else f"There are: {', '.join(names)}."
    )
