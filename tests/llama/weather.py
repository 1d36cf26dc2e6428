"""The tool that the suites with reciting models offer, and the call that those models write."""

TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Tells the weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
CALL = [("get_weather", {"city": "Oslo"})]
