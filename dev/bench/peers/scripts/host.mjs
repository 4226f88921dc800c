// Asks an agent once with the TypeScript SDK and prints what it measured as JSON: node host.mjs [warm] AGENT
// A warm agent has been ready for a second when it is asked.

import { readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { query, startup } from "@anthropic-ai/claude-agent-sdk";

const prompt = "Say hello.";
const options = { pathToClaudeCodeExecutable: process.argv.at(-1) };
let ask = () => query({ prompt, options });
if (process.argv[2] === "warm") {
  const ready = await startup({ options });
  ask = () => ready.query(prompt);
  await setTimeout(1000);
}
const measured = { load: 0, text: 0, first_ns: 0, assistant_ns: 0, result_ns: 0, end_ns: 0, peak_bytes: 0 };

const start = process.hrtime.bigint();
const elapsed = () => Number(process.hrtime.bigint() - start);

for await (const message of ask()) {
  if (measured.first_ns === 0) measured.first_ns = elapsed();
  switch (message.type) {
    case "stream_event":
      measured.load++;
      if (message.event.delta?.type === "text_delta") measured.text += message.event.delta.text.length;
      break;
    case "user":
      measured.load++;
      for (const block of message.message.content) {
        if (block.type === "tool_result") measured.text += block.content.length;
      }
      break;
    case "assistant":
      if (measured.assistant_ns === 0) measured.assistant_ns = elapsed();
      break;
    case "result":
      measured.result_ns = elapsed();
  }
}
measured.end_ns = elapsed();
measured.peak_bytes = peak();
console.log(JSON.stringify(measured));

// How many bytes of this process were in memory at most, or 0 where the system has no such file.
function peak() {
  try {
    return Number(/VmHWM:\s*(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]) * 1024;
  } catch {
    return 0;
  }
}
