"""What the models of this suite recite, and Ollama's chat templates for them (in the language of Go), written for these tests."""

# A family that takes tools, in Hermes' form. Ollama reads calls by the text that follows `.ToolCalls`: `<tool_call>`.
HERMES = """{{- if .Tools }}<|im_start|>system
Tools:
{{- range .Tools }}
{{ .Function }}
{{- end }}
A call is <tool_call>
{"name": NAME, "arguments": OBJECT}
</tool_call><|im_end|>
{{ end }}
{{- range .Messages }}<|im_start|>{{ .Role }}
{{ .Content }}
{{- if .ToolCalls }}
{{- range .ToolCalls }}<tool_call>
{"name": "{{ .Function.Name }}", "arguments": {{ .Function.Arguments }}}
</tool_call>
{{- end }}
{{- end }}<|im_end|>
{{ end }}<|im_start|>assistant
"""

# The same without tools, with thinking.
THINKING = """{{- range .Messages }}<|im_start|>{{ .Role }}
{{- if .Thinking }}<think>{{ .Thinking }}</think>
{{- end }}
{{ .Content }}<|im_end|>
{{ end }}<|im_start|>assistant
"""

# As Gemma 3's: two roles, no tools, the system text in the user's turn.
GEMMA = """{{- range $at, $_ := .Messages }}
{{- if eq .Role "assistant" }}<start_of_turn>model
{{ .Content }}<end_of_turn>
{{ else }}<start_of_turn>user
{{ .Content }}<end_of_turn>
{{ end }}
{{- end }}<start_of_turn>model
"""

# Qwen2.5-Coder's marks.
QWEN = """{{- if .Messages }}<|im_start|>system
{{ if .System }}{{ .System }}{{ else }}You are a helpful assistant.{{ end }}
{{- if .Tools }}

# Tools

These functions can be called to help with the question. Their signatures are within <tools></tools>:
<tools>
{{- range .Tools }}
{"type": "function", "function": {{ .Function }}}
{{- end }}
</tools>

For each call return a JSON object with the name of the function and its arguments within <tool_call></tool_call>:
<tool_call>
{"name": <function-name>, "arguments": <args-json-object>}
</tool_call>
{{- end }}<|im_end|>
{{ range .Messages }}
{{- if eq .Role "user" }}<|im_start|>user
{{ .Content }}<|im_end|>
{{ else if eq .Role "assistant" }}<|im_start|>assistant
{{ if .Content }}{{ .Content }}
{{- else if .ToolCalls }}<tool_call>
{{ range .ToolCalls }}{"name": "{{ .Function.Name }}", "arguments": {{ .Function.Arguments }}}
{{ end }}</tool_call>
{{- end }}<|im_end|>
{{ else if eq .Role "tool" }}<|im_start|>user
<tool_response>
{{ .Content }}
</tool_response><|im_end|>
{{ end }}
{{- end }}<|im_start|>assistant
{{ end }}"""

CHATML = """{{- range .Messages }}<|im_start|>{{ .Role }}
{{ .Content }}<|im_end|>
{{ end }}<|im_start|>assistant
"""

CALL = '{"name": "get_weather", "arguments": {"city": "Oslo"}}'
STORY = "One fine morning the old fox went down to the river, where nobody had been fishing since June."

# name -> (what it recites, template, further lines of the Modelfile, whether it begins again at the end)
RECITED = {
    "marked": (f"<tool_call>\n{CALL}\n</tool_call>", HERMES, "", False),
    "fenced": (f"```json\n{CALL}\n```", HERMES, "", False),
    "plain": (STORY, HERMES, "", False),
    "gemma": (f"```json\n{CALL}\n```", GEMMA, "", False),
    # A parser of Ollama's own, which fails at a call that is no JSON.
    "strict": ('<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}\n</tool_call>', HERMES, "PARSER qwen3", False),
    "thinking": ("<think>Oslo is in Norway.</think>It rains there.", THINKING, "", False),
    "small": (STORY, HERMES, "PARAMETER num_ctx 1024", False),
    "wide": (STORY, HERMES, "PARAMETER num_ctx 16384", False),
    "endless": ("Abcdefghijklmnopqrstuvwxyz. ", HERMES, "", True),
}
