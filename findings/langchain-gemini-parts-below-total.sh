#!/usr/bin/env bash
# Versions: npm @langchain/google-genai 2.3.2, @langchain/core 1.4.0.
# Expected: `usage_metadata` of an answer adds up (input + output = total), and thinking tokens, which are billed as
#   output, are counted there or in `output_token_details.reasoning`.
# Seen: for 100 prompt, 20 answer, 50 thinking and 30 tool tokens of Gemini it says 100 + 20 = 200. Thinking and tool
#   tokens are in no member of the message, streamed or not: only a total that does not add up shows that they exist.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > npm.log
npm install --silent --no-audit --no-fund @langchain/google-genai@2.3.2 @langchain/core@1.4.0
cat > ask.mjs <<'JS'
import { createServer } from 'node:http';
import { ChatGoogleGenerativeAI } from '@langchain/google-genai';

const usageMetadata = {
  ...{ promptTokenCount: 100, candidatesTokenCount: 20, thoughtsTokenCount: 50 },
  ...{ toolUsePromptTokenCount: 30, totalTokenCount: 200 },
};
const content = { role: 'model', parts: [{ text: 'ok' }] };
const answer = JSON.stringify({ candidates: [{ index: 0, content, finishReason: 'STOP' }], usageMetadata });
const server = createServer((request, response) => {
  request.resume().on('end', () => {
    const isStream = request.url.includes('streamGenerateContent');
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' });
    response.end(isStream ? `data: ${answer}\r\n\r\n` : answer);
  });
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const baseUrl = `http://127.0.0.1:${server.address().port}`;
const model = new ChatGoogleGenerativeAI({ apiKey: 'none', model: 'gemini-2.5-flash', baseUrl });
const show = ({ usage_metadata: usage, response_metadata }) => {
  const hasThinking = /[^0-9](50|70)[^0-9]/.test(JSON.stringify([usage, response_metadata]));
  console.log(usage.input_tokens, usage.output_tokens, usage.total_tokens, hasThinking ? 'thinking' : 'no thinking');
};
show(await model.invoke('hi'));
let streamed;
for await (const chunk of await model.stream('hi')) streamed = streamed === undefined ? chunk : streamed.concat(chunk);
show(streamed);
server.close();
JS
seen=$(node ask.mjs | paste -sd, -)
echo "seen: $seen"
[ "$seen" = "100 20 200 no thinking,100 20 200 no thinking" ]
