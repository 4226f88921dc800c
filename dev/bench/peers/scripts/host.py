"""Asks an agent once with the Python SDK and prints what it measured as JSON: python host.py AGENT"""

import asyncio
import json
import re
import sys
import time

from claude_agent_sdk import (
    AssistantMessage,
    ClaudeAgentOptions,
    ResultMessage,
    StreamEvent,
    ToolResultBlock,
    UserMessage,
    query,
)


async def measure(agent):
    measured = dict.fromkeys(
        ["load", "text", "first_ns", "assistant_ns", "result_ns", "end_ns", "peak_bytes"], 0
    )
    start = time.perf_counter_ns()
    options = ClaudeAgentOptions(cli_path=agent)
    async for message in query(prompt="Say hello.", options=options):
        if measured["first_ns"] == 0:
            measured["first_ns"] = time.perf_counter_ns() - start
        if isinstance(message, StreamEvent):
            measured["load"] += 1
            delta = message.event.get("delta", {})
            if delta.get("type") == "text_delta":
                measured["text"] += len(delta["text"])
        elif isinstance(message, UserMessage):
            measured["load"] += 1
            for block in message.content:
                if isinstance(block, ToolResultBlock):
                    measured["text"] += len(block.content)
        elif isinstance(message, AssistantMessage):
            if measured["assistant_ns"] == 0:
                measured["assistant_ns"] = time.perf_counter_ns() - start
        elif isinstance(message, ResultMessage):
            measured["result_ns"] = time.perf_counter_ns() - start
    measured["end_ns"] = time.perf_counter_ns() - start
    measured["peak_bytes"] = peak()
    return measured


def peak():
    """How many bytes of this process were in memory at most, or 0 where the system has no such file."""
    try:
        with open("/proc/self/status") as status:
            return int(re.search(r"VmHWM:\s*(\d+)", status.read())[1]) * 1024
    except OSError:
        return 0


print(json.dumps(asyncio.run(measure(sys.argv[1]))))
