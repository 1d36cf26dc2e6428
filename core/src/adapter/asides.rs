//! Text around calls that the model only mentions, in any family: reasoning in tags that the adapter does not know, examples,
//! repeated results, and turns of other speakers after the end of the answer.

/// The reasoning tags of most models.
pub(super) const THINK: [&str; 2] = ["<think>", "</think>"];

/// Tags around reasoning and examples. Their content stays text. A marked call inside counts like an unmarked one: only if
/// nothing but calls follows.
pub(super) const ASIDES: [[&str; 2]; 15] = [
    THINK,
    ["<Think>", "</Think>"],
    ["[THINK]", "[/THINK]"],
    ["<analysis>", "</analysis>"],
    ["<scratch_pad>", "</scratch_pad>"],
    ["<THINK>", "</THINK>"],
    ["<thinking>", "</thinking>"],
    ["<thought>", "</thought>"],
    ["<thoughts>", "</thoughts>"],
    ["<reasoning>", "</reasoning>"],
    ["<reflection>", "</reflection>"],
    ["<scratchpad>", "</scratchpad>"],
    ["<plan>", "</plan>"],
    ["<example>", "</example>"],
    ["<!--", "-->"],
];

/// Tags around results. A result after a call is another speaker's turn, which the model invented.
pub(super) const RESULTS: [[&str; 2]; 8] = [
    ["<function_results>", "</function_results>"],
    ["<tool_response>", "</tool_response>"],
    ["<tool_result>", "</tool_result>"],
    ["<|tool_response>", "<tool_response|>"],
    ["[TOOL_RESULTS]", "[/TOOL_RESULTS]"],
    ["<|START_TOOL_RESULT|>", "<|END_TOOL_RESULT|>"],
    ["<\u{ff5c}tool\u{2581}outputs\u{2581}begin\u{ff5c}>", "<\u{ff5c}tool\u{2581}outputs\u{2581}end\u{ff5c}>"],
    ["<\u{ff5c}tool\u{2581}output\u{2581}begin\u{ff5c}>", "<\u{ff5c}tool\u{2581}output\u{2581}end\u{ff5c}>"],
];

/// Text that begins a result only right after a call. Elsewhere it is too general. Forms with `transcript` list `Observation:` as a
/// closing marker instead, and `scanner/held.rs` ends the answer there.
pub(super) const RESULTS_OF_CALLS: [&str; 31] = [
    "<response>", "<result>", "<output>", "<observation>", "<tool_output>", "<function_response>", "[Tool result:",
    "[Tool Result:", "[Result:", "Result:", "Results:", "**Result:**", "**Result**:", "Observation:", "**Observation:**",
    "Tool result:", "Tool Result:", "**Tool result:**", "**Tool Result:**", "Tool output:", "Tool Output:", "**Tool output:**",
    "**Tool Output:**", "Tool response:", "Tool Response:", "**Tool response:**", "**Tool Response:**", "Function response:",
    "Function Response:", "Function result:", "FUNCTION RESPONSE:",
];

/// Languages of a fence around a result.
pub(super) const RESULT_FENCES: [&str; 8] =
    ["tool_output", "tool_outputs", "tool_response", "tool_result", "tool_results", "output", "result", "results"];

/// Tokens that end a model's turn in some family. At the end of an answer they are not content, whatever the family, because
/// backends run models with templates of other families.
pub(super) const ENDS: [&str; 14] = [
    "<|im_end|>",
    "</s>",
    "<end_of_turn>",
    "<turn|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|eot|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<|end|>",
    "<|EOT|>",
    "<|END_OF_TURN_TOKEN|>",
    "[|endofturn|]",
    "<\u{ff5c}end\u{2581}of\u{2581}sentence\u{ff5c}>",
];

/// The rest of a result's tag after the tool's name, in the form of clients that ask for elements.
pub const CLIENT_RESULT: &str = "_result>";

/// Beginnings of a turn that is not the model's. They count only at the start of a line. What follows does not belong to the
/// answer.
pub(super) const TURNS: [&str; 21] = [
    "<|im_start|>user",
    "<|im_start|>tool",
    "<|im_start|>system",
    "<|im_user|>user",
    "<|im_system|>",
    "<|start_header_id|>user",
    "<|start_header_id|>ipython",
    "<|header_start|>user",
    "<|header_start|>ipython",
    "<start_of_turn>user",
    "<|turn>user",
    "<|turn>system",
    "]~b]user",
    "]~b]tool",
    "]~b]system",
    "<|start_of_role|>user",
    "<|start_of_role|>tool",
    "<|START_OF_TURN_TOKEN|><|USER_TOKEN|>",
    "<\u{ff5c}User\u{ff5c}>",
    "[|user|]",
    "[INST]",
];

/// Beginnings of such a turn that count anywhere: right after the end of the model's own turn, or with a line break or token that
/// only a prompt contains.
pub(super) const ENDED_TURNS: [&str; 31] = [
    "<|observation|>\n",
    "</s>[TOOL_RESULTS]",
    "<|im_end|><|im_start|>user",
    "<|im_end|><|im_user|>user",
    "<|im_end|><|im_system|>",
    "<|eot_id|><|start_header_id|>user",
    "<|eot_id|><|start_header_id|>ipython",
    "<|eom_id|><|start_header_id|>ipython",
    "<|eot|><|header_start|>user",
    "<|eot|><|header_start|>ipython",
    "<end_of_turn><start_of_turn>user",
    "<turn|><|turn>user",
    "<|end_of_text|><|start_of_role|>user",
    "<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|USER_TOKEN|>",
    "<|END_OF_TURN_TOKEN|><|START_OF_TURN_TOKEN|><|SYSTEM_TOKEN|>",
    "<\u{ff5c}end\u{2581}of\u{2581}sentence\u{ff5c}><\u{ff5c}User\u{ff5c}>",
    "[|endofturn|][|user|]",
    "<|start|>user<|message|>",
    "<|start|>system<|message|>",
    "<|start|>developer<|message|>",
    "<|user|>\n",
    "<|system|>\n",
    "<|end|><|user|>",
    "<|bom|><|user|>",
    "<|eos|><|startoftext|>",
    "<|assistant_end|><|user_start|>",
    "<|end_of_sentence|>User:",
    "<SPECIAL_11>User\n",
    "<seed:bos>user\n",
    "</s>[INST]",
    "</s> [INST]",
];

/// Labels of a transcript after which the text is for the user.
pub(super) const FINAL: [&str; 2] = ["Final Answer:", "**Final Answer:**"];
