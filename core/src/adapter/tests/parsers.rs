//! The canonical example of every parser that a server registers: one line for each, in our own words.

use super::{library, read_with};
use crate::{
    event::{Tool, ToolChoice, Tools},
    fix::{End, fix},
};

const J: &str = r#"{"goal": "Turku", "stops": 5}"#;

/// The names of the parser, with the server's before them; a model that the server reads with it; the answer, in which `@J` stands
/// for the arguments in JSON.
const PARSERS: &[(&str, &str, &str)] = &[
    ("vllm apertus, llama.cpp Apertus", "apertus-8b-instruct", "<|tools_prefix|>[{\"route\": @J}]<|tools_suffix|>"),
    ("llama.cpp Apriel 1.5", "apriel-1.5-15b-thinker", "<tool_calls>[{\"name\": \"route\", \"arguments\": @J}]</tool_calls>"),
    ("vllm beam", "beam-8b", "<tool_call>\n{\"name\": \"route\", \"arguments\": @J}\n</tool_call>"),
    (
        "vllm cohere_command3, llama.cpp Command R7B",
        "command-a-03-2025",
        "<|START_ACTION|>[{\"tool_call_id\": \"0\", \"tool_name\": \"route\", \"parameters\": @J}]<|END_ACTION|>",
    ),
    (
        "vllm cohere_command, sglang cohere_command4, llama.cpp Cohere 2 MoE, ollama cohere",
        "command-a-plus",
        "<|START_ACTION|>[\n {\"tool_call_id\": \"0\", \"tool_name\": \"route\", \"parameters\": @J}\n]<|END_ACTION|>",
    ),
    ("vllm cwm", "cwm", "<tool: function>\nroute @J\n</tool>"),
    ("ollama cogito", "cogito-v1", "<tool_call>{\"name\": \"route\", \"arguments\": @J}</tool_call>"),
    (
        "vllm deepseek_v3, sglang deepseekv3, llama.cpp DeepSeek R1",
        "deepseek-v3-0324",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>route\n```json\n@J\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    (
        "vllm deepseek_v31, sglang deepseekv31, llama.cpp DeepSeek V3.1, ollama deepseek3",
        "deepseek-v3.1",
        "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>route<｜tool▁sep｜>@J<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    ),
    (
        "vllm deepseek_v32, deepseek_v4, sglang deepseekv32",
        "deepseek-v3.2",
        "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"route\">\n<｜DSML｜parameter name=\"goal\" string=\"true\">Turku</｜DSML｜parameter>\n<｜DSML｜parameter name=\"stops\" string=\"false\">5</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
    ),
    (
        "vllm deepseek_v41, sglang deepseekv41",
        "deepseek-v4.1",
        "<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"route\">\n<｜DSML｜ parameter name=\"goal\" string=\"true\">Turku</｜DSML｜ parameter>\n<｜DSML｜ parameter name=\"stops\" string=\"false\">5</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>",
    ),
    ("vllm dots", "dots.llm2", "<tool_call>\n{\"name\": \"route\", \"arguments\": @J}\n</tool_call>"),
    ("vllm ernie45", "ernie-4.5-21b-a3b-thinking", "<tool_call>\n{\"name\": \"route\", \"arguments\": @J}\n</tool_call>"),
    (
        "vllm functiongemma, ollama functiongemma",
        "functiongemma:270m",
        "<start_function_call>call:route{goal:<escape>Turku<escape>,stops:5}<end_function_call>",
    ),
    ("llama.cpp Functionary v3.1", "functionary-small-v3.1", "<function=route>@J</function>"),
    ("llama.cpp Functionary v3.2", "functionary-medium-v3.2", ">>>route\n@J"),
    (
        "vllm gemma4, sglang gemma4, ollama gemma4",
        "gemma-4-27b-it",
        "<|tool_call>call:route{goal:<|\"|>Turku<|\"|>,stops:5}<tool_call|>",
    ),
    ("vllm gigachat3, sglang gigachat3", "gigachat3-10b", "function call<|role_sep|>\n{\"name\": \"route\", \"arguments\": @J}"),
    (
        "vllm glm45, sglang glm45, llama.cpp GLM 4.5",
        "glm-4.6",
        "<tool_call>route\n<arg_key>goal</arg_key>\n<arg_value>Turku</arg_value>\n<arg_key>stops</arg_key>\n<arg_value>5</arg_value>\n</tool_call>",
    ),
    (
        "vllm glm47, ling3, poolside_v1, sglang glm47, ollama glm-4.7",
        "glm-4.7",
        "<tool_call>route<arg_key>goal</arg_key><arg_value>Turku</arg_value><arg_key>stops</arg_key><arg_value>5</arg_value></tool_call>",
    ),
    (
        "vllm openai, sglang gpt-oss, llama.cpp GPT-OSS, ollama harmony",
        "gpt-oss:20b",
        "<|start|>assistant<|channel|>commentary to=functions.route <|constrain|>json<|message|>@J<|call|>",
    ),
    ("vllm granite, llama.cpp Granite", "granite3.3:8b", "<|tool_call|>[{\"name\": \"route\", \"arguments\": @J}]"),
    ("vllm granite-20b-fc", "granite-20b-functioncalling", "<function_call> {\"name\": \"route\", \"arguments\": @J}"),
    ("vllm granite4", "granite4:tiny-h", "<tool_call>\n{\"name\": \"route\", \"arguments\": @J}\n</tool_call>"),
    (
        "vllm hermes, sglang qwen25, llama.cpp Hermes 2 Pro",
        "qwen3:8b",
        "<tool_call>\n{\"name\": \"route\", \"arguments\": @J}\n</tool_call>",
    ),
    ("vllm hunyuan_a13b", "hunyuan-a13b-instruct", "<tool_calls>[{\"name\": \"route\", \"arguments\": @J}]</tool_calls>"),
    (
        "vllm hy_v3",
        "hy3",
        "<tool_calls><tool_call>route<tool_sep><arg_key>goal</arg_key><arg_value>Turku</arg_value><arg_key>stops</arg_key><arg_value>5</arg_value></tool_call></tool_calls>",
    ),
    (
        "vllm hy_v4",
        "hy4-preview",
        "<tool_calls:6124c78e><tool_call:6124c78e>route<arg_key:6124c78e>goal</arg_key:6124c78e><arg_value:6124c78e>Turku</arg_value:6124c78e><arg_key:6124c78e>stops</arg_key:6124c78e><arg_value:6124c78e>5</arg_value:6124c78e></tool_call:6124c78e></tool_calls:6124c78e>",
    ),
    (
        "vllm inkling, sglang inkling",
        "inkling",
        "<|message_model|>route<|content_invoke_tool_json|>{\"name\": \"route\", \"args\": @J}<|end_message|>",
    ),
    (
        "vllm internlm, sglang interns1",
        "internlm2.5-7b-chat",
        "<|action_start|><|plugin|>\n{\"name\": \"route\", \"parameters\": @J}<|action_end|>",
    ),
    (
        "vllm iquest_coder_v2",
        "iquest-coder-v2",
        "<iquestcoder_tool_call>route<arg_key>goal</arg_key><arg_value>Turku</arg_value><arg_key>stops</arg_key><arg_value>5</arg_value></iquestcoder_tool_call>",
    ),
    ("vllm jamba", "jamba-1.6-mini", "<tool_calls>[\n    {\"name\": \"route\", \"arguments\": @J}\n]</tool_calls>"),
    (
        "vllm k2_horizon",
        "k2-horizon",
        "<ifm|tool_calls><ifm|tool_call>route\n<ifm|arg_key>goal</ifm|arg_key><ifm|arg_value>Turku</ifm|arg_value><ifm|arg_key>stops</ifm|arg_key><ifm|arg_value>5</ifm|arg_value></ifm|tool_call></ifm|tool_calls>",
    ),
    (
        "vllm kimi_k2, sglang kimi_k2, llama.cpp Kimi K2",
        "kimi-k2-thinking",
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.route:0<|tool_call_argument_begin|>@J<|tool_call_end|><|tool_calls_section_end|>",
    ),
    (
        "vllm kimi_k3",
        "kimi-k3",
        "<|open|>tools<|sep|><|open|>call tool=\"route\" index=\"1\"<|sep|><|open|>argument key=\"goal\" type=\"string\"<|sep|>Turku<|close|>argument<|sep|><|open|>argument key=\"stops\" type=\"number\"<|sep|>5<|close|>argument<|sep|><|close|>call<|sep|><|close|>tools<|sep|>",
    ),
    (
        "vllm lfm2, sglang lfm2, llama.cpp LFM2, ollama lfm2",
        "lfm2:8b",
        "<|tool_call_start|>[route(goal=\"Turku\", stops=5)]<|tool_call_end|>",
    ),
    (
        "vllm llama3_json, llama4_json, sglang llama3, llama.cpp Llama 3.x",
        "llama3.1:8b",
        "<|python_tag|>{\"name\": \"route\", \"parameters\": @J}",
    ),
    ("vllm llama4_pythonic, pythonic, sglang pythonic", "llama4:scout", "[route(goal=\"Turku\", stops=5)]"),
    ("vllm longcat", "longcat-flash-chat", "<longcat_tool_call>\n{\"name\": \"route\", \"arguments\": @J}\n</longcat_tool_call>"),
    (
        "vllm mimo, sglang mimo",
        "mimo-v2-flash",
        "<tool_call>\n<function=route>\n<parameter=goal>Turku</parameter>\n<parameter=stops>5</parameter>\n</function>\n</tool_call>",
    ),
    (
        "vllm minicpm5",
        "minicpm5-1b",
        "<function name=\"route\"><param name=\"goal\">Turku</param><param name=\"stops\">5</param></function>",
    ),
    (
        "vllm minimax_m2, sglang minimax-m2, llama.cpp MiniMax-M2",
        "minimax-m2",
        "<minimax:tool_call>\n<invoke name=\"route\">\n<parameter name=\"goal\">Turku</parameter>\n<parameter name=\"stops\">5</parameter>\n</invoke>\n</minimax:tool_call>",
    ),
    (
        "vllm minimax_m3",
        "minimax-m3",
        "]<]minimax[>[<tool_call>\n]<]minimax[>[<invoke name=\"route\">]<]minimax[>[<goal>Turku]<]minimax[>[</goal>]<]minimax[>[<stops>5]<]minimax[>[</stops>]<]minimax[>[</invoke>\n]<]minimax[>[</tool_call>",
    ),
    ("vllm mistral, sglang mistral, llama.cpp Magistral, ollama ministral", "ministral-3:14b", "[TOOL_CALLS]route[ARGS]@J"),
    (
        "vllm mistral (v3), llama.cpp Mistral Nemo",
        "mistral-nemo:12b",
        "[TOOL_CALLS][{\"name\": \"route\", \"arguments\": @J, \"id\": \"a1b2c3d4e\"}]",
    ),
    (
        "vllm muse, muse_glimmer, musespark1x",
        "muse-spark",
        " to=route<|message|><atem:function_calls>\n<atem:invoke name=\"route\">\n<atem:parameter name=\"goal\">Turku</atem:parameter>\n<atem:parameter name=\"stops\">5</atem:parameter>\n</atem:invoke>\n</atem:function_calls><|eom|>",
    ),
    ("llama.cpp Nemotron v2", "nemotron-nano-9b-v2", "<TOOLCALL>[{\"name\": \"route\", \"arguments\": @J}]</TOOLCALL>"),
    ("vllm olmo3, ollama olmo3", "olmo-3:7b", "<function_calls>\nroute(goal=\"Turku\", stops=5)\n</function_calls>"),
    ("vllm pangu", "openpangu-embedded-7b", "[unused11][{\"name\": \"route\", \"arguments\": @J}][unused12]"),
    ("vllm phi4_mini_json", "phi4-mini", "functools[{\"name\": \"route\", \"arguments\": @J}]"),
    (
        "vllm qwen3_coder, qwen3_xml, step3p5, sglang qwen3_coder, llama.cpp Qwen3-Coder, ollama qwen3-coder, nemotron-3-nano",
        "qwen3-coder:30b",
        "<tool_call>\n<function=route>\n<parameter=goal>\nTurku\n</parameter>\n<parameter=stops>\n5\n</parameter>\n</function>\n</tool_call>",
    ),
    (
        "vllm plamo3",
        "plamo-3-nict-31b",
        "<|plamo:begin_tool_requests:plamo|><|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>route<|plamo:end_tool_name:plamo|><|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>@J<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|><|plamo:end_tool_requests:plamo|>",
    ),
    ("vllm rwkv", "rwkv-7-world", "**Tool Call:**\n```json\n{\"name\": \"route\", \"arguments\": @J}\n```"),
    (
        "vllm seed_oss, llama.cpp Seed-OSS",
        "seed-oss-36b-instruct",
        "<seed:tool_call>\n<function=route>\n<parameter=goal>Turku</parameter>\n<parameter=stops>5</parameter>\n</function>\n</seed:tool_call>",
    ),
    ("sglang multi_format", "ifm-k2", "<tool_call>assistant to=functions.route json\n@J\n</tool_call>"),
    (
        "llama.cpp Solar Open",
        "solar-open-100b",
        "<|tool_calls|><|tool_call:begin|>abcdef1234<|tool_call:name|>route<|tool_call:args|>@J<|tool_call:end|><|calls|>",
    ),
    (
        "vllm solar_open2",
        "solar-open2-100b",
        "<|tool_call:start|>route\n<|tool_arg:start|>goal<|tool_arg:value|>Turku<|tool_arg:end|>\n<|tool_arg:start|>stops<|tool_arg:value|>5<|tool_arg:end|>\n<|tool_call:end|>",
    ),
    (
        "vllm step3, sglang step3",
        "step3",
        "<｜tool_calls_begin｜><｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name=\"route\"><steptml:parameter name=\"goal\">Turku</steptml:parameter><steptml:parameter name=\"stops\">5</steptml:parameter></steptml:invoke><｜tool_call_end｜><｜tool_calls_end｜>",
    ),
    ("vllm step_audio_2", "step-audio-2-mini", "<tool_call>function\nroute\n@J</tool_call>"),
    ("vllm xlam", "xlam-2-8b-fc-r", "[{\"name\": \"route\", \"arguments\": @J}]"),
    ("llama.cpp FireFunction v2", "firefunction-v2", " functools[{\"name\": \"route\", \"arguments\": @J}]"),
    ("llama.cpp generic", "some-model", "{\"tool_call\": {\"name\": \"route\", \"arguments\": @J}}"),
];

fn tools() -> Tools {
    let schema = r#"{"type":"object","properties":{"goal":{"type":"string"},"stops":{"type":"integer"}},"required":["goal"]}"#;
    Tools::new([Tool::new("route", "Finds a route.", schema)], ToolChoice::Auto)
}

#[test]
fn every_registered_parser_has_its_example() {
    let mut wrong = Vec::new();
    for (parsers, model, answer) in PARSERS {
        let adapter = &library().find(model, None).adapter.name;
        let seen = read_with(tools(), adapter, false, &answer.replace("@J", J));
        let read = |arguments: &str| fix(arguments, None, &[], End::Closed).arguments?.parse::<serde_json::Value>().ok();
        let calls: Vec<_> =
            seen.all_calls().filter(|call| call.whole).map(|call| (call.name.clone(), read(&call.arguments))).collect();
        if calls != [("route".to_owned(), J.parse().ok())] || !seen.text().trim().is_empty() {
            wrong.push(format!("{parsers}, {model} ({adapter}): {seen:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// `source: spec core, section 4`: two members with arguments are one key with two values. The fixer decides, which asks.
#[test]
fn two_members_with_arguments_are_both_handed_on() {
    let other = r#"{"goal": "Oulu"}"#;
    let answer = format!("<tool_call>{{\"name\": \"route\", \"arguments\": {J}, \"arguments\": {other}}}</tool_call>");
    let seen = read_with(tools(), "hermes", false, &answer);
    let calls: Vec<_> = seen.all_calls().map(|call| call.arguments.clone()).collect();
    assert_eq!(calls, [format!("{{\"arguments\":{J},\"arguments\":{other}}}")]);
}
