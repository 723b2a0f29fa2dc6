"""The page about dialects says all that the table does."""

from console_app.textcalls import FAMILIES
from tests.docs.dialects import page
from tests.textcalls.answers import CORPUS


def test_every_family_is_on_the_page() -> None:
    for name in FAMILIES:
        assert f"\n### {name}\n" in page()


def test_the_formats_of_the_corpus_are_dialects_or_variants_of_one() -> None:
    names = set(FAMILIES)
    variants = {
        "hermes_inline", "granite31_tagged_array", "llama3_typed_lines", "gemma_tool_code_default_api",
        "mistral_json_ids", "mistral_v13_callid", "mistral_noargs_marker", "glm47", "harmony_role_to",
        "smol_action_multi", "none",
    }  # fmt: skip
    assert {case["format"] for case in CORPUS} <= names | variants
