//! Which adapter a model gets, and what becomes of reasoning; both over the built-in files.

use std::sync::Arc;

mod asides;
mod cells;
mod contents;
mod cuts;
mod damage;
mod ends;
mod families;
mod forms;
mod fragments;
mod limits;
mod lost;
mod neighbours;
mod parsers;
mod quoted;
mod slips;
mod tags;
mod together;
mod variables;

use super::{
    Scanner,
    scanner::{MayAsk, Options},
};
use crate::{
    event::{Channel, FinishReason, Tool, ToolChoice, Tools},
    seen::{Item, Seen, library, schemas},
};

/// (names as registries and people spell them, the file that knows how these models write).
const MODELS: &[(&str, &[&str])] = &[
    ("apertus", &["swiss-ai/Apertus-70B-Instruct-2509", "apertus:8b"]),
    ("apriel", &["ServiceNow-AI/Apriel-1.5-15b-Thinker", "unsloth/Apriel-1.6-15b-Thinker-GGUF"]),
    ("chatglm", &["THUDM/glm-4-9b-chat", "zai-org/GLM-4-32B-0414", "glm4:9b-chat-q4_0", "chatglm3-6b"]),
    (
        "cohere",
        &[
            "command-a:111b-03-2025-q4_K_M",
            "CohereLabs/c4ai-command-a-03-2025",
            "CohereForAI/c4ai-command-r7b-12-2024",
            "command-r7b:7b",
        ],
    ),
    ("command-r", &["command-r:35b-08-2024-q4_K_M", "CohereForAI/c4ai-command-r-plus-08-2024", "aya:8b"]),
    (
        "deepseek-dsml",
        &[
            "deepseek-ai/DeepSeek-V3.2-Speciale",
            "deepseek-v4-pro:cloud",
            "deepseek-ai/DeepSeek-V4.1",
            "deepseek-ai/DeepSeek-V3.2",
            "deepseek-v4-flash:cloud",
            "deepseek-v4.1",
            "deepseek.v3.2",
            "deepseek.v3.2 (bedrock)",
            "accounts/fireworks/models/deepseek-v3p2",
        ],
    ),
    ("deepseek-v3.1", &["deepseek-v3.1:671b-cloud", "deepseek-ai/DeepSeek-V3.2-Exp", "deepseek-ai/DeepSeek-V3.1-Terminus"]),
    (
        "deepseek-v3",
        &[
            "deepseek-v3:671b",
            "deepseek-ai/DeepSeek-V3-0324",
            "deepseek-r1:14b",
            "deepseek-ai/DeepSeek-R1-0528-Qwen3-8B",
            "unsloth/DeepSeek-R1-Distill-Llama-70B-GGUF:Q4_K_M",
            "deepseek-coder-v2:16b",
            "cogito:32b",
            "deepcogito/cogito-v2-preview-llama-70B",
        ],
    ),
    ("dots", &["rednote-hilab/dots.llm1.inst"]),
    ("functiongemma", &["functiongemma:270m-it-fp16", "google/functiongemma-270m-it"]),
    ("beam", &["beam-8b"]),
    ("functionary-v2", &["meetkai/functionary-small-v2.5", "functionary-7b-v2"]),
    ("functionary-v3.2", &["meetkai/functionary-medium-v3.2", "functionary-small-v3.2-GGUF"]),
    ("gpt-oss", &["gpt-oss:20b", "openai/gpt-oss-120b", "lmstudio-community/gpt-oss-20b-MLX-8bit"]),
    ("muse", &["muse-glimmer-8b", "meta/Muse-Spark"]),
    ("gemma4", &["gemma4:e4b", "google/gemma-4-31B-it", "unsloth/gemma-4-26B-A4B-it-GGUF:Q4_K_M"]),
    ("gigachat3.5", &["ai-sage/GigaChat3.5-Ultra", "ai-sage/GigaChat3.5-Lightning"]),
    (
        "glm",
        &[
            "glm-4.5-air",
            "zai-org/GLM-4.6-FP8",
            "glm-4.7-flash:q8_0",
            "glm-5.1:cloud",
            "inclusionAI/Ling-3.0-mini",
            "poolside/Laguna-S-2.1",
            "zai-org/GLM-4.5-Air",
            "glm-4.6:latest",
            "glm-4.7-flash:q4_K_M",
            "zai-org/GLM-5",
            "inclusionAI/Ring-2.5-1T",
            "inclusionAI/Ling-3.0-flash",
            "iflytek/Spark2.5",
            "IQuest-Q1-32B",
            "IQuestLab/IQuest-Coder-V2-40B-Instruct",
            "accounts/fireworks/models/glm-4p6",
            "zai.glm-4.7",
        ],
    ),
    ("hunyuan3", &["tencent/Hy3", "tencent/Hy4-preview", "tencent/Hy3-preview", "tencent/Hunyuan-V4"]),
    ("k2-horizon", &["LLM360/K2-Think", "LLM360/K2-Think-V2", "LLM360/K2-Horizon"]),
    ("kimi-k3", &["moonshotai/Kimi-K3", "kimi-k3:cloud"]),
    ("lfm2", &["LiquidAI/LFM2-8B-A1B-GGUF", "lfm2.5-thinking:1.2b"]),
    ("llama4", &["llama4:maverick", "meta-llama/Llama-4-Scout-17B-16E-Instruct"]),
    ("mimo", &["XiaomiMiMo/MiMo-V2-Flash", "XiaomiMiMo/MiMo-VL-7B-SFT", "mimo-v2-pro"]),
    ("minicpm3", &["openbmb/MiniCPM3-4B"]),
    ("minicpm5", &["openbmb/MiniCPM5-1B-GGUF", "openbmb/MiniCPM5-8B"]),
    ("minimax-m1", &["MiniMaxAI/MiniMax-M1-40k", "MiniMax-Text-01"]),
    ("minimax-m2", &["minimax-m2.5:cloud", "MiniMaxAI/MiniMax-M2.1", "minimax-m2:cloud", "MiniMaxAI/MiniMax-M2.5"]),
    ("minimax-m3", &["MiniMaxAI/MiniMax-M3"]),
    ("olmo3", &["olmo-3:32b-think", "allenai/Olmo-3.1-32B-Instruct"]),
    (
        "qwen3-coder",
        &[
            "qwen3-coder:480b-cloud",
            "unsloth/Qwen3-Coder-30B-A3B-Instruct-1M-GGUF",
            "qwen3.5:27b",
            "Qwen/Qwen3.6-35B-A3B",
            "nemotron-3-nano:30b",
            "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-BF16",
            "stepfun-ai/Step-3.5-Flash",
            "openbmb/MiniCPM-V-4.5",
            "Qwen/Qwen3-Coder-Next",
            "qwen3.5:27b-q8_0",
            "unsloth/Qwen3.6-35B-A3B-GGUF:Q4_K_M",
            "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B",
            "stepfun-ai/Step-3.5-Flash-FP8",
            "ibm-granite/granite-4.2-h-small",
            "openbmb/MiniCPM-V-4_5",
            "Nanbeige/Nanbeige4.1-3B",
            "nvidia.nemotron-nano-3-30b",
            "Qwen/Qwen4-Exp",
        ],
    ),
    ("sarashina", &["sbintuitions/sarashina2.2-3b-instruct-v0.1"]),
    ("seed-oss", &["ByteDance-Seed/Seed-OSS-36B-Instruct", "ByteDance-Seed/Seed-OSS-36B-Base"]),
    ("smollm3", &["HuggingFaceTB/SmolLM3-3B"]),
    ("step3", &["stepfun-ai/step3", "stepfun-ai/step3-fp8"]),
    ("toolace", &["Team-ACE/ToolACE-2-Llama-3.1-8B", "watt-ai/watt-tool-8B"]),
    ("ernie4.5", &["baidu/ERNIE-4.5-21B-A3B-Thinking", "ernie-x1-turbo-32k"]),
    ("exaone", &["LGAI-EXAONE/EXAONE-4.0-1.2B", "exaone3.5:7.8b", "exaone-deep:32b"]),
    ("functionary-v3.1", &["meetkai/functionary-small-v3.1", "functionary-medium-v3.1.Q4_0.gguf"]),
    (
        "gemma3",
        &[
            "gemma3:4b-it-qat", "google/gemma-3-27b-it", "models/gemma-3n-e2b-it", "gemma2:27b", "gemma:2b", "codegemma:7b-code",
            "medgemma-4b-it", "google.gemma-3-27b-it",
        ],
    ),
    ("generic", &["some-model-of-mine", "gpt-4o", "IQuestLab/IQuest-Coder-V1-40B-Instruct"]),
    ("pangu", &["openPangu-Embedded-7B", "FreedomIntelligence/openPangu-Embedded-1B"]),
    ("rwkv", &["BlinkDL/rwkv-7-world"]),
    ("cwm", &["facebook/cwm", "cwm-sft"]),
    ("solar-open2", &["upstage/Solar-Open2-100B"]),
    ("step-audio", &["stepfun-ai/Step-Audio-2-mini"]),
    ("gigachat3", &["ai-sage/GigaChat3-702B-A36B-preview", "GigaChat3.1-10B-A1.8B"]),
    (
        "granite",
        &[
            "granite3.3:2b",
            "ibm-granite/granite-3.1-8b-instruct",
            "granite4:tiny-h",
            "granite4.1:3b",
            "ibm-granite/granite-20b-functioncalling",
        ],
    ),
    (
        "hermes",
        &[
            "hermes3:70b",
            "NousResearch/Hermes-3-Llama-3.1-405B",
            "NousResearch/Hermes-2-Pro-Mistral-7B",
            "adrienbrault/nous-hermes2pro:Q5_K_M",
            "Qwen/Qwen2.5-72B-Instruct-AWQ",
            "qwen2:7b",
            "qwen3:30b-a3b-thinking-2507-q4_K_M",
            "Qwen/Qwen3-VL-30B-A3B-Instruct",
            "lmstudio-community/Qwen3-4B-MLX-4bit",
            "qwq",
            "QVQ-72B-Preview",
            "speakleash/Bielik-4.5B-v3.0-Instruct",
            "tiiuae/Falcon-H1-7B-Instruct",
        ],
    ),
    ("hunyuan-a13b", &["tencent/Hunyuan-A13B-Instruct-GPTQ-Int4", "hunyuan-a13b"]),
    ("inkling", &["thinkingmachines/Inkling"]),
    ("internlm", &["internlm/internlm3-8b-instruct", "internlm2:7b", "internlm/Intern-S1-mini"]),
    ("jamba", &["ai21labs/AI21-Jamba-Large-1.7", "jamba-1.6-mini"]),
    ("kimi-k2", &["kimi-k2:1t-cloud", "moonshotai/Kimi-K2-Thinking", "moonshotai/Kimi-K2.5", "kimi-k2-0905-preview"]),
    (
        "llama3",
        &[
            "llama3.1:70b-instruct-q4_K_M",
            "llama3.2:1b",
            "Llama-3.3-70B-Instruct-Q5_K_M.gguf",
            "meta-llama/Meta-Llama-3.1-8B-Instruct",
            "accounts/fireworks/models/llama-v3p1-8b-instruct",
            "bartowski/Llama-3.2-3B-Instruct-GGUF@q8_0",
            "llama3-groq-tool-use:8b",
        ],
    ),
    ("longcat", &["meituan-longcat/LongCat-Flash-Thinking"]),
    (
        "mistral",
        &[
            "mistralai/Mistral-Small-3.2-24B-Instruct-2506",
            "mistral-small3.2:24b",
            "Mistral-Large-3-675B-Instruct-2512",
            "ministral-3:14b",
            "devstral-small-2:24b",
            "mistralai/Devstral-Small-2507",
            "magistral:24b-small-2506-q8_0",
        ],
    ),
    (
        "mistral-v3",
        &[
            "mistral:7b-instruct-v0.3",
            "mistral-nemo:12b",
            "mistral-large-2411",
            "mixtral:8x22b",
            "mistralai/Ministral-8B-Instruct-2410",
            "mistralai/Pixtral-12B-2409",
            "codestral:22b",
        ],
    ),
    ("nemotron", &["nvidia/NVIDIA-Nemotron-Nano-12B-v2", "nvidia/Llama-3_3-Nemotron-Super-49B-v1_5", "nemotron:70b"]),
    ("no-tools", &["openchat:7b-v3.5", "vicuna:13b", "falcon3:10b", "starcoder2:15b", "zephyr:7b", "tinyllama", "wizardlm2:7b"]),
    ("phi", &["phi3:14b", "microsoft/Phi-3.5-mini-instruct", "phi4:14b-q4_K_M", "microsoft/Phi-4-reasoning-plus"]),
    (
        "phi4-mini",
        &["phi4-mini:3.8b-fp16", "microsoft/Phi-4-mini-instruct", "fireworks-ai/llama-3-firefunction-v2", "firefunction-v2:70b"],
    ),
    ("plamo3", &["pfnet/plamo-3-nict-31b-base"]),
    (
        "qwen2.5-coder",
        &[
            "qwen2.5-coder:1.5b",
            "Qwen/Qwen2.5-Coder-32B-Instruct",
            "hf.co/bartowski/Qwen2.5-Coder-7B-Instruct-GGUF:Q4_K_M",
            "codeqwen:7b",
        ],
    ),
    ("reka", &["RekaAI/reka-flash-3.1", "reka-edge-2603"]),
    ("solar-open", &["upstage/Solar-Open-100B", "upstage/solar-pro2"]),
    ("trinity", &["arcee-ai/Trinity-Mini", "trinity-large-preview"]),
    ("xlam", &["Salesforce/Llama-xLAM-2-70b-fc-r", "Salesforce/xLAM-2-3b-fc-r-gguf"]),
];

#[test]
fn every_spelling_of_a_model_gets_the_file_that_knows_it() {
    let library = library();
    let mut wrong = Vec::new();
    for (expected, names) in MODELS {
        for name in *names {
            let found = library.find(name, None);
            if found.adapter.name != *expected {
                wrong.push(format!("{name}: expected {expected}, got {} ({})", found.adapter.name, found.why));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_chat_template_counts_before_the_name() {
    let library = library();
    let cases = [
        ("[INST] {{ .Prompt }} [TOOL_CALLS] [AVAILABLE_TOOLS]", "mistral-v3"),
        ("[SYSTEM_PROMPT]{{ s }}[TOOL_CALLS]{{ name }}[ARGS]", "mistral"),
        ("{{ '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>' + name + '<｜tool▁sep｜>' }}", "deepseek-v3.1"),
        ("'<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>' + name + '\n```json\n'", "deepseek-v3"),
        ("<|im_middle|><|tool_calls_section_begin|>", "kimi-k2"),
        ("'<TOOLCALL>[' ~ calls ~ ']</TOOLCALL>'", "nemotron"),
        ("functools[{{ call }}]", "phi4-mini"),
        ("nothing that anybody knows", "llama3"),
    ];
    for (template, expected) in cases {
        assert_eq!(library.find("llama3.1:8b", Some(template)).adapter.name, expected, "{template}");
    }
}

#[test]
fn a_name_counts_before_a_template_whose_markers_the_family_shares() {
    let library = library();
    let hermes = "<tools>{{ tools }}</tools> answer in <tool_call></tool_call>";
    let tagged = "<tool_call><function={{ f }}><parameter={{ k }}>";
    for (model, template, expected) in [
        ("arcee-ai/Trinity-Large-Thinking", hermes, "trinity"),
        ("qwen2.5-coder:7b", hermes, "qwen2.5-coder"),
        ("XiaomiMiMo/MiMo-V2-Flash", tagged, "mimo"),
        ("Salesforce/xLAM-2-8b-fc-r", hermes, "xlam"),
        ("gemma3:12b", hermes, "hermes"),
        ("somebody/unheard-of-7b", hermes, "hermes"),
    ] {
        let found = library.find(model, Some(template));
        assert_eq!(found.adapter.name, expected, "{model}: {}", found.why);
    }
}

/// Reads the text whole and in single characters; both must be the same.
fn read(adapter: &str, reasoning_open: bool, text: &str) -> Seen {
    let lamp = Tool::new("lamp", "Switches the lamp.", r#"{"type":"object","properties":{"on":{"type":"boolean"}}}"#);
    read_with(Tools::new([lamp], ToolChoice::Auto), adapter, reasoning_open, text)
}

/// The same with other tools.
fn read_with(tools: Tools, adapter: &str, reasoning_open: bool, text: &str) -> Seen {
    let (adapter, tools, schemas) = (Arc::clone(library().get(adapter).unwrap()), Arc::new(tools), schemas());
    let scanner = || {
        let options = Options { reasoning_open, ..Options::default() };
        Scanner::new(Arc::clone(&adapter), Arc::clone(&tools), Arc::clone(&schemas), options)
    };
    let (mut whole, mut single) = (Seen::default(), Seen::default());
    let mut reader = scanner();
    reader.push(Channel::Content, text, &mut whole);
    reader.finish(FinishReason::Stop, &mut whole);
    let mut reader = scanner();
    for character in text.chars() {
        reader.push(Channel::Content, character.encode_utf8(&mut [0; 4]), &mut single);
    }
    reader.finish(FinishReason::Stop, &mut single);
    assert_eq!(whole, single, "cut into characters: {text:?}");
    whole
}

/// Reads with the tools `note` and `idle`, and this one.
fn read_beside(tool: Tool, adapter: &str, text: &str) -> Seen {
    let note =
        r#"{"type":"object","properties":{"path":{"type":"string"},"words":{"type":"string"}},"required":["path","words"]}"#;
    let idle = r#"{"type":"object","properties":{}}"#;
    let tools = [Tool::new("note", "Writes a note.", note), tool, Tool::new("idle", "Waits.", idle)];
    read_with(Tools::new(tools, ToolChoice::Auto), adapter, false, text)
}

/// The calls as they were written, each whether it ended.
fn written(seen: &Seen) -> Vec<(String, bool)> {
    seen.all_calls().map(|call| (call.to_string(), call.whole)).collect()
}

/// The one call of an answer that is nothing else.
fn only_call(seen: &Seen) -> Option<(String, bool)> {
    if let [Item::Call(call)] = seen.items.as_slice() { Some((call.to_string(), call.whole)) } else { None }
}

/// An answer that is text alone.
fn text(text: &str) -> Seen {
    Seen { items: vec![Item::Text(text.to_owned())], ..Seen::default() }
}

const HERMES_CALL: &str = "<tool_call>\n{\"name\": \"lamp\", \"arguments\": {\"on\": true}}\n</tool_call>";
const KIMI_CALL: &str = "<|tool_call_begin|>functions.lamp:0<|tool_call_argument_begin|>{\"on\": true}<|tool_call_end|>";

#[test]
fn reasoning_is_separated_however_it_begins_and_ends() {
    // (what, begins inside of reasoning, text, reasoning, content)
    let cases = [
        ("opened and closed", false, "<think>\nIt is dark.\n</think>\n\nShall I?", "It is dark.", "Shall I?"),
        ("known to be open", true, "It is dark.\n</think>\n\nShall I?", "It is dark.", "Shall I?"),
        ("known to be open, and opened again", true, "<think>\nIt is dark.</think>Shall I?", "It is dark.", "Shall I?"),
        (
            "not known to be open: what has left stays, the marker goes",
            false,
            "It is dark.\n</think>\n\nShall I?",
            "",
            "It is dark.\n\n\nShall I?",
        ),
        ("a closing marker alone at the start", false, "</think>\n\nShall I?", "", "Shall I?"),
        ("closed twice", true, "It is dark.</think>\n</think>\nShall I?", "It is dark.", "Shall I?"),
        ("empty", false, "<think>\n\n</think>\n\nShall I?", "", "Shall I?"),
        ("opened, never closed", false, "<think>\nIt is dark.", "It is dark.", ""),
        ("believed to be open, never closed: it was the answer", true, "Shall I?", "Shall I?", "Shall I?"),
        ("twice", false, "<think>a</think>One.\n<think>b</think>Two.", "a\nb", "One.\nTwo."),
        ("after a sentence", false, "One. <think>b</think>Two.", "b", "One. Two."),
        ("adjacent", false, "<think>a</think><think>b</think>One.", "a\nb", "One."),
        ("the tag in a sentence", false, "The <think> tag opens it.", "", "The <think> tag opens it."),
        (
            "the tag in code",
            false,
            "Write `<think>` first.\n```\n<think>\n```\n",
            "",
            "Write `<think>` first.\n```\n<think>\n```\n",
        ),
    ];
    for (what, open, text, reasoning, content) in cases {
        let seen = read("hermes", open, text);
        assert_eq!(
            (seen.reasoning().trim(), seen.text().as_str(), seen.all_calls().count()),
            (reasoning, content, 0),
            "{what}: {text:?}"
        );
    }
}

#[test]
fn an_answer_taken_for_reasoning_is_read_again() {
    let unmarked = "{\"name\": \"lamp\", \"arguments\": {\"on\": true}}";
    let fenced = format!("I switch it on.\n\n```json\n{unmarked}\n```");
    for (text, calls) in [(unmarked, 1), (fenced.as_str(), 1)] {
        assert_eq!(read("hermes", true, text).all_calls().count(), calls, "{text}");
        let closed = format!("{text}</think>No.");
        assert_eq!(read("hermes", true, &closed).all_calls().count(), 0, "{closed}");
    }
    // A draft: text follows it.
    assert_eq!(read("hermes", true, &format!("Perhaps {HERMES_CALL}, or not.")).all_calls().count(), 0);
}

#[test]
fn a_call_inside_of_reasoning_follows_the_family() {
    let call = [("lamp {\"on\": true}".to_owned(), true)];
    let none = [];
    let minimax_call = HERMES_CALL.replace("tool_call>", "tool_calls>");
    // (what, adapter, text, calls, reasoning, content)
    type Case<'a> = (&'a str, &'a str, String, &'a [(String, bool)], String, &'a str);
    let cases: Vec<Case<'_>> = vec![
        ("the reasoning never ends", "hermes", format!("<think>Dark. {HERMES_CALL}"), &call, "Dark.".to_owned(), ""),
        (
            "the reasoning ends: a draft",
            "hermes",
            format!("<think>{HERMES_CALL}</think>No."),
            &none,
            HERMES_CALL.to_owned(),
            "No.",
        ),
        (
            "a call behind it: only that one",
            "hermes",
            format!("<think>{HERMES_CALL}</think>{HERMES_CALL}"),
            &call,
            HERMES_CALL.to_owned(),
            "",
        ),
        ("ignore", "hunyuan-a13b", format!("<think>{minimax_call}"), &none, minimax_call.clone(), ""),
        (
            "special tokens, the reasoning never ends",
            "kimi-k2",
            format!("<think>Dark.{KIMI_CALL}\n"),
            &call,
            "Dark.".to_owned(),
            "",
        ),
        (
            "special tokens, the reasoning goes on: a draft",
            "kimi-k2",
            format!("<think>Dark.{KIMI_CALL} rest"),
            &none,
            format!("Dark.{KIMI_CALL} rest"),
            "",
        ),
        (
            "much text and a mention follow, then the reasoning ends",
            "hermes",
            format!("<think>{HERMES_CALL} {}<tool_call> or not.</think>No.", "or ".repeat(200)),
            &none,
            format!("{HERMES_CALL} {}<tool_call> or not.", "or ".repeat(200)),
            "No.",
        ),
        (
            "in a block quote, after text on the line of the opening tag",
            "hermes",
            format!("Dark.<think>\n> {HERMES_CALL}"),
            &none,
            format!("> {HERMES_CALL}"),
            "Dark.",
        ),
        (
            "in a string of prose",
            "kimi-k2",
            "<think>The functions. lamp is for light.</think>Hi.".to_owned(),
            &none,
            "The functions. lamp is for light.".to_owned(),
            "Hi.",
        ),
        (
            "parse",
            "trinity",
            format!("<think>Dark. {HERMES_CALL} Bright.</think>Done."),
            &call,
            "Dark. Bright.".to_owned(),
            "Done.",
        ),
        (
            "parse, after the mention of a tag",
            "apertus",
            format!("The <think> tag.<|inner_prefix|>Dark.{HERMES_CALL}"),
            &call,
            "Dark.".to_owned(),
            "The <think> tag.",
        ),
    ];
    for (what, adapter, text, calls, reasoning, content) in cases {
        let seen = read(adapter, false, &text);
        assert_eq!(
            (written(&seen).as_slice(), seen.reasoning().trim(), seen.text().trim()),
            (calls, reasoning.as_str(), content),
            "{what}"
        );
    }
}

#[test]
fn the_backends_reasoning_field_is_read_like_reasoning_that_never_closes() {
    let lamp = || Tools::new([Tool::new("lamp", "", "{}")], ToolChoice::Auto);
    for (before, after, calls) in [("Dark.\n", "", 1), ("It is dark. ", "", 1), ("Dark.\n", "\nOr rather not.", 0)] {
        let thought = format!("{before}{HERMES_CALL}{after}");
        let tagged = read_with(lamp(), "hermes", false, &format!("<think>{thought}"));
        let adapter = Arc::clone(library().get("hermes").unwrap());
        let mut scanner = Scanner::new(adapter, Arc::new(lamp()), schemas(), Options::default());
        let mut field = Seen::default();
        scanner.push(Channel::Reasoning, &thought, &mut field);
        scanner.finish(FinishReason::Stop, &mut field);
        assert_eq!([&tagged, &field].map(|seen| written(seen).len()), [calls, calls], "{thought}");
    }
}

#[test]
fn an_answer_in_a_wrapper_is_unwrapped_once() {
    let cases = [
        ("<response>Noon.</response>", "Noon."),
        ("<think>x</think>\n<response>\nNoon.\n</response>\n", "Noon.\n\n"),
        ("<response>The tag </response> closes it.</response>", "The tag </response> closes it."),
        ("Noon. <response> is a tag, </response> too.", "Noon. <response> is a tag, </response> too."),
    ];
    for (text, expected) in cases {
        assert_eq!(read("granite", false, text).text(), expected, "{text:?}");
    }
}

#[test]
fn a_long_candidate_is_decided_alike_however_it_is_cut() {
    // The name comes after more text than is held for an unknown name.
    let long = format!("{{\"arguments\": {{\"note\": \"{}\"}}, \"name\": \"lamp\"}}", "x".repeat(20_000));
    assert_eq!(read("llama3", false, &long), text(&long));
    // It comes first: held however long it gets.
    let long = format!("{{\"name\": \"lamp\", \"arguments\": {{\"note\": \"{}\"}}}}", "x".repeat(20_000));
    assert_eq!(read("llama3", false, &long).all_calls().count(), 1);
}

#[test]
fn the_published_schema_knows_every_adapter_file() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("adapters");
    let schema: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(root.join("schema.json")).unwrap()).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let mut faults = Vec::new();
    for entry in std::fs::read_dir(&root).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let file: serde_json::Value = toml::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            faults.extend(validator.iter_errors(&file).map(|error| format!("{}: {error}", path.display())));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    // And it refuses what the program refuses.
    for wrong in [
        "model = [\"x\"]\nproof = \"doc\"",
        "proof = \"rumour\"",
        "proof = \"doc\"\n[[call]]\nopen = \"<a>\"",
        "proof = \"doc\"\nmodels = [\"\"]",
    ] {
        let file: serde_json::Value = toml::from_str(wrong).unwrap();
        assert!(!validator.is_valid(&file), "{wrong}");
    }
}

#[test]
fn the_published_schema_has_the_keys_of_the_program() {
    let schema: serde_json::Value = serde_json::from_str(include_str!("../../adapters/schema.json")).unwrap();
    let cases = [
        ("/properties", "zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz = 1"),
        (
            "/properties/reasoning/properties",
            "proof = \"doc\"\n[reasoning]\nzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz = 1",
        ),
        (
            "/properties/recipient/properties",
            "proof = \"doc\"\n[recipient]\nzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz = 1",
        ),
        (
            "/properties/recipient/properties/parameters/properties",
            "proof = \"doc\"\n[recipient]\nstart = \"a\"\nmessage = \"b\"\nto = \"c\"\ncontent = \"d\"\n[recipient.parameters]\nzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz = 1",
        ),
        ("/properties/answer/properties", "proof = \"doc\"\n[answer]\nzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz = 1"),
        ("/properties/prompt/properties", "proof = \"doc\"\n[prompt]\nzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz = 1"),
        ("/$defs/call/properties", "proof = \"doc\"\n[[call]]\nzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz = 1"),
    ];
    for (pointer, file) in cases {
        // The error that an unknown key gets lists those that are known.
        let message = super::Adapter::parse("x", file, &[]).unwrap_err().message;
        let (_, list) = message.split_once("there are:").unwrap();
        let mut known: Vec<&str> = list.split('`').skip(1).step_by(2).collect();
        let mut published: Vec<&str> = schema.pointer(pointer).unwrap().as_object().unwrap().keys().map(String::as_str).collect();
        known.sort_unstable();
        published.sort_unstable();
        assert_eq!(published, known, "{pointer}");
    }
}
