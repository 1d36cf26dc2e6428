//! What any family may write around calls that it does not make: thoughts under names that the adapter does not know, examples,
//! results that it repeats, and turns that it plays on its own after the end of its answer.

/// The tags that most models think in.
pub(super) const THINK: [&str; 2] = ["<think>", "</think>"];

/// Tags around thoughts, examples and results. What is inside stays text. A marked call in there counts like an unmarked one:
/// where nothing but calls follows it.
pub(super) const ASIDES: [[&str; 2]; 13] = [
    THINK,
    ["<THINK>", "</THINK>"],
    ["<thinking>", "</thinking>"],
    ["<thought>", "</thought>"],
    ["<thoughts>", "</thoughts>"],
    ["<reasoning>", "</reasoning>"],
    ["<reflection>", "</reflection>"],
    ["<scratchpad>", "</scratchpad>"],
    ["<plan>", "</plan>"],
    ["<example>", "</example>"],
    ["<tool_response>", "</tool_response>"],
    ["<tool_result>", "</tool_result>"],
    ["<!--", "-->"],
];

/// Where, at the beginning of a line, a turn begins that is not the model's. What follows is no answer of its.
pub(super) const TURNS: [&str; 7] = [
    "<|im_start|>user",
    "<|im_start|>tool",
    "<|im_start|>system",
    "<|start_header_id|>user",
    "<|start_header_id|>ipython",
    "<start_of_turn>user",
    "[INST]",
];

/// The same right after the end of the model's own turn.
pub(super) const ENDED_TURNS: [&str; 7] = [
    "<|im_end|><|im_start|>user",
    "<|eot_id|><|start_header_id|>user",
    "<|eot_id|><|start_header_id|>ipython",
    "<|eom_id|><|start_header_id|>ipython",
    "<end_of_turn><start_of_turn>user",
    "</s>[INST]",
    "</s> [INST]",
];

/// What follows it in a transcript is for the user.
pub(super) const FINAL: [&str; 2] = ["Final Answer:", "**Final Answer:**"];
