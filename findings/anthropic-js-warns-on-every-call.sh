#!/usr/bin/env bash
# Versions: npm @anthropic-ai/sdk 1.14.0.
# Expected: the notice that a model is deprecated is printed once in a process, as Node prints its own deprecations.
# Seen: `messages.create` prints it with `console.warn` before every call. An agent that makes a thousand calls writes a
#   thousand equal warnings; the option `logLevel: 'off'` of the client does not change that.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > npm.log
npm install --silent --no-audit --no-fund @anthropic-ai/sdk@1.14.0
cat > ask.mjs <<'JS'
import { createServer } from 'node:http';
import Anthropic from '@anthropic-ai/sdk';

const answer = {
  ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-sonnet-4-5', stop_reason: 'end_turn' },
  ...{ stop_sequence: null, content: [{ type: 'text', text: 'ok' }], usage: { input_tokens: 1, output_tokens: 1 } },
};
const server = createServer((request, response) => {
  request.resume().on('end', () => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(answer));
  });
});
await new Promise((listening) => server.listen(0, '127.0.0.1', listening));
let warnings = 0;
console.warn = () => {
  warnings += 1;
};
const baseURL = `http://127.0.0.1:${server.address().port}`;
const client = new Anthropic({ apiKey: 'none', baseURL, logLevel: 'off' });
const messages = [{ role: 'user', content: 'hi' }];
for (let call = 0; call < 3; call += 1) {
  await client.messages.create({ model: 'claude-sonnet-4-5', max_tokens: 5, messages });
}
console.log(`${warnings} warnings for 3 calls`);
server.close();
JS
seen=$(node ask.mjs)
echo "seen: $seen"
[ "$seen" = "3 warnings for 3 calls" ]
