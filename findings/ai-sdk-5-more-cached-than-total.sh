#!/usr/bin/env bash
# Versions: npm ai 5.0.277, @ai-sdk/anthropic 2.0.112.
# Expected: in the usage of `generateText`, the cached input is a part of the input, and the total covers what is billed.
# Seen: for a call of Claude with 10 new, 900 read and 90 written tokens, `inputTokens` is 10, `totalTokens` is 15 and
#   `cachedInputTokens` is 900. The 90 cache writes, the dearest tokens of the input, are in no count, streamed or not;
#   they are only in `providerMetadata.anthropic`.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > npm.log
npm install --silent --no-audit --no-fund ai@5.0.277 @ai-sdk/anthropic@2.0.112 zod@4.1.13
cat > ask.mjs <<'JS'
import { createServer } from 'node:http';
import { createAnthropic } from '@ai-sdk/anthropic';
import { generateText, streamText } from 'ai';

const usage = { input_tokens: 10, output_tokens: 5, cache_read_input_tokens: 900, cache_creation_input_tokens: 90 };
const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', stop_sequence: null };
const EVENTS = [
  { type: 'message_start', message: { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } } },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'ok' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 5 } },
  { type: 'message_stop' },
];
const server = createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  if (JSON.parse(body).stream === true) {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(EVENTS.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''));
  } else {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ ...message, content: [{ type: 'text', text: 'ok' }], stop_reason: 'end_turn', usage }));
  }
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
const anthropic = createAnthropic({ apiKey: 'none', baseURL: `http://127.0.0.1:${server.address().port}/v1` });
const model = anthropic('claude-sonnet-4-5');
const show = ({ inputTokens, totalTokens, cachedInputTokens, ...others }) =>
  console.log(inputTokens, totalTokens, cachedInputTokens, JSON.stringify(others).includes('90') ? 'writes' : 'no writes');
show((await generateText({ model, prompt: 'hi' })).usage);
const streamed = streamText({ model, prompt: 'hi' });
await streamed.consumeStream();
show(await streamed.usage);
server.close();
JS
seen=$(node ask.mjs | paste -sd, -)
echo "seen: $seen"
[ "$seen" = "10 15 900 no writes,10 15 900 no writes" ]
