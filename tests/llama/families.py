"""Five families as they speak: a chat template of our own with the family's marks, and answers in the family's form."""

HERMES = """{%- if tools %}<|im_start|>system
Tools:
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
A call is <tool_call>
{"name": NAME, "arguments": OBJECT}
</tool_call><|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{%- if message.content %}
{{ message.content }}
{%- endif %}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""

TAGGED = """{%- if tools %}<|im_start|>system
Tools:
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
A call is <tool_call>
<function=NAME>
<parameter=KEY>
VALUE
</parameter>
</function>
</tool_call><|im_end|>
{% endif %}
{%- for message in messages %}<|im_start|>{{ message.role }}
{%- if message.content %}
{{ message.content }}
{%- endif %}
{%- for call in message.tool_calls or [] %}
<tool_call>
<function={{ call.function.name }}>
{%- for key, value in call.function.arguments | items %}
<parameter={{ key }}>
{{ value if value is string else value | tojson }}
</parameter>
{%- endfor %}
</function>
</tool_call>
{%- endfor %}<|im_end|>
{% endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""

LAX = """{%- if tools %}<|turn>system
{%- for tool in tools %}
<|tool>declaration:{{ tool.function.name }}{{ tool.function.parameters | tojson }}<tool|>
{%- endfor %}<turn|>
{% endif %}
{%- for message in messages %}<|turn>{{ 'model' if message.role == 'assistant' else message.role }}
{%- if message.content %}
{{ message.content }}
{%- endif %}
{%- for call in message.tool_calls or [] %}<|tool_call>call:{{ call.function.name }}{
{%- for key, value in call.function.arguments | items %}{{ key }}:<|"|>{{ value }}<|"|>{{ ',' if not loop.last }}{% endfor -%}
}<tool_call|>
{%- endfor %}<turn|>
{% endfor %}
{%- if add_generation_prompt %}<|turn>model
{% endif %}"""

NAMED = """{{- bos_token }}
{%- if tools %}[AVAILABLE_TOOLS]{{ tools | tojson }}[/AVAILABLE_TOOLS]{% endif %}
{%- for message in messages %}
{%- if message.role == 'assistant' %}{{ message.content or '' }}
{%- for call in message.tool_calls or [] %}[TOOL_CALLS]{{ call.function.name }}[ARGS]{{ call.function.arguments | tojson }}{% endfor %}</s>
{%- elif message.role == 'tool' %}[TOOL_RESULTS]{{ message.content }}[/TOOL_RESULTS]
{%- elif message.role == 'system' %}[SYSTEM_PROMPT]{{ message.content }}[/SYSTEM_PROMPT]
{%- else %}[INST]{{ message.content }}[/INST]
{%- endif %}
{%- endfor %}"""

PARAMETERS = """{%- if tools %}<|start_header_id|>system<|end_header_id|>

Environment: ipython
A call is {"name": NAME, "parameters": OBJECT}, or <|python_tag|>CODE.
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}<|eot_id|>{% endif %}
{%- for message in messages %}<|start_header_id|>{{ 'ipython' if message.role == 'tool' else message.role }}<|end_header_id|>

{% if message.tool_calls %}
{%- for call in message.tool_calls %}{"name": "{{ call.function.name }}", "parameters": {{ call.function.arguments | tojson }}}{% endfor %}
{%- else %}{{ message.content }}{% endif %}<|eot_id|>
{%- endfor %}
{%- if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>

{% endif %}"""

# (name that the server gives the model, adapter, template, special tokens, a call of get_weather with Oslo as the family writes it)
FAMILIES = [
    (
        "qwen3-8b",
        "hermes",
        HERMES,
        ["<tool_call>", "</tool_call>", "<think>", "</think>"],
        '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call>',
    ),
    (
        "qwen3-coder-30b",
        "qwen3-coder",
        TAGGED,
        ["<tool_call>", "</tool_call>"],
        "<tool_call>\n<function=get_weather>\n<parameter=city>\nOslo\n</parameter>\n</function>\n</tool_call>",
    ),
    (
        "gemma-4-12b-it",
        "gemma4",
        LAX,
        ["<|tool_call>", "<tool_call|>", '<|"|>', "<|turn>", "<turn|>"],
        '<|tool_call>call:get_weather{city:<|"|>Oslo<|"|>}<tool_call|>',
    ),
    (
        "devstral-24b",
        "mistral",
        NAMED,
        ["[TOOL_CALLS]", "[ARGS]"],
        '[TOOL_CALLS]get_weather[ARGS]{"city": "Oslo"}',
    ),
    (
        "llama-3.1-8b",
        "llama3",
        PARAMETERS,
        ["<|python_tag|>"],
        '{"name": "get_weather", "parameters": {"city": "Oslo"}}',
    ),
]
