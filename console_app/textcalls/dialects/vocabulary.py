"""The tokens around answers that are no part of them: of reasoning, of turns, of results; of all families."""

THINKING = {
    "<think>": "</think>",
    "<thinking>": "</thinking>",
    "<thought>": "</thought>",
    "<reasoning>": "</reasoning>",
    "<seed:think>": "</seed:think>",
    "<mm:think>": "</mm:think>",
    "<think:opensource>": "</think:opensource>",
    "<ifm|think>": "</ifm|think>",
    "<ifm|think_fast>": "</ifm|think_fast>",
    "<ifm|think_faster>": "</ifm|think_faster>",
    "<|open|>think<|sep|>": "<|close|>think<|sep|>",
    "<|think|>": "<|end|>",
    "[THINK]": "[/THINK]",
    "<|START_THINKING|>": "<|END_THINKING|>",
    "<|channel>thought": "<channel|>",
    "<|inner_prefix|>": "<|inner_suffix|>",
    "◁think▷": "◁/think▷",
    "<scratchpad>": "</scratchpad>",
    "<analysis>": "</analysis>",
    "<reflection>": "</reflection>",
}
"""How reasoning opens and closes."""

INNER = ("<|inner_prefix|>", "<|inner_suffix|>")
"""Reasoning in which calls may stand, between their own tokens."""

PLAIN_THINKING = frozenset({"<scratchpad>", "<analysis>", "<reflection>"})
"""Tags of reasoning that other text has too: they open it only at the start of a line, and where no tool has the
name.
"""

FINAL = "[BEGIN FINAL RESPONSE]"
"""Marks that end reasoning which nothing opened."""

FABRICATED = (
    "<tool_response>", "<tool_response ", "<tool_result>", "<tool_results>", "<|tool_response>",
    "<function_result>", "<function_results>", "<function_response>", "<tool_output>", "<|observation|>",
    "<|user|>", "<｜User｜>", "<|im_start|>user", "<|im_start|>tool", "<|im_start|>system", "<|start_header_id|>user",
    "<|start_header_id|>tool", "<|start_header_id|>ipython", "<start_of_turn>user", "[TOOL_RESULTS]",
    "<|START_TOOL_RESULT|>", "<｜tool▁outputs▁begin｜>", "<|tool_outputs_begin|>", "<|start|>user",
    "<|start|>tool", "<|start|>system", "<|start|>developer", "<|start|>functions.",
)  # fmt: skip
"""Marks that only an endpoint or a person writes: from there on a model makes up the rest of the conversation."""

SILENT = (
    "<|START_RESPONSE|>", "<|START_TEXT|>", "<|im_start|>assistant", "<|START_OF_TURN_TOKEN|>", "<|CHATBOT_TOKEN|>",
    "<|start_header_id|>assistant<|end_header_id|>", "<start_of_turn>model", "<|turn>model", "<|message_user|>",
    "<|message_model|><|content_text|>", "<|content_text|>", "<|open|>response<|sep|>", "<|close|>response<|sep|>",
    "<|close|>message<|sep|>", '<|open|>message role="assistant"<|sep|>', "<|begin|>assistant", "<|content|>",
    "[END FINAL RESPONSE]", "<|begin_assistant|>", "<SPECIAL_11>Assistant", "]~b]ai",
    "<｜Assistant｜>", "<seed:bos>assistant", "<｜hy_Assistant｜>", "<｜hy_Assistant:opensource｜>",
)  # fmt: skip
"""Tokens that mean nothing to a reader."""

CHAT_TOKENS = (
    "<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<|eot|>", "<|eom|>", "<|end_of_text|>", "<|endoftext|>",
    "<|end|>", "<|return|>", "</s>", "<eos>", "<end_of_turn>", "<turn|>", "<｜end▁of▁sentence｜>",
    "<|end▁of▁sentence|>", "<|END_OF_TURN_TOKEN|>", "<|END_RESPONSE|>", "<|END_TEXT|>", "<|assistant_end|>",
    "<|role_end|>", "[e~[", "<seed:eos>", "<|message_sep|>", "<SPECIAL_12>", "<end_of_sentence>", "<sep>",
    "</assistant>", "<|end_of_msg|>", "<|calls|>", "<|flush|>", "<|eos|>", "<｜hy_eos｜>", "<｜hy_eos:opensource｜>",
)  # fmt: skip
"""Tokens by which models end a turn; left over where an endpoint does not strip them."""

MAY_BE_TEXT = frozenset({"</s>", "<eos>", "<turn|>", "<sep>", "</assistant>", "<end_of_sentence>", "[e~["})
"""Those of them that are dropped only where the text ends, for people write them too."""
