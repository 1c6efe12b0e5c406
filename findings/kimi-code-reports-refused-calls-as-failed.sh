#!/usr/bin/env bash
# Versions: npm @moonshot-ai/kimi-code 2.1.0.
# Expected: a call that a PreToolUse hook refuses did not run, so no hook hears of its result; and the hooks of a sub-agent's
#   call say which sub-agent makes it.
# Seen: the refused call is given to PostToolUseFailure hooks as one that failed, with the reason of the refusal as its
#   error, so a count of failed calls counts refusals. Calls of a sub-agent have the same members as those of the session.
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init -y > npm.log
npm install --silent --no-audit --no-fund --ignore-scripts @moonshot-ai/kimi-code@2.1.0
mkdir -p home/.kimi-code project
cat > hook.sh <<'HOOK'
#!/bin/sh
in=$(cat)
printf '%s\n' "$in" >> "$1"
case "$in" in *'"hook_event_name":"PreToolUse"'*refused.txt*) echo 'not this one' >&2; exit 2 ;; esac
HOOK
chmod +x hook.sh
cat > run.mjs <<'RUN'
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
const call = (name, args) => ({ name, arguments: JSON.stringify(args) });
const session = [
  call('Bash', { command: 'echo a > refused.txt' }),
  call('Agent', { description: 'd', prompt: 'Do your part.', subagent_type: 'coder' }),
];
// A model that makes these calls, one in each reply, and then says that it is done.
const server = createServer(async (request, response) => {
  let text = '';
  for await (const part of request) text += part;
  const { messages } = JSON.parse(text);
  const turn = messages.filter(({ role, tool_calls: calls }) => role === 'assistant' && calls?.length > 0).length;
  const isSubAgent = messages.some(({ role, content }) => role === 'user' && JSON.stringify(content).includes('Do your part.'));
  const next = (isSubAgent ? [call('Bash', { command: 'echo a > sub.txt' })] : session)[turn];
  const delta = next === undefined
    ? { role: 'assistant', content: 'done' }
    : { role: 'assistant', tool_calls: [{ index: 0, id: `call_${isSubAgent}_${turn}`, type: 'function', function: next }] };
  const chunk = (part, reason) => `data: ${JSON.stringify({
    id: 'chat', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o',
    choices: [{ index: 0, delta: part, finish_reason: reason }],
  })}\n\n`;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  response.end(`${chunk(delta, null)}${chunk({}, next === undefined ? 'stop' : 'tool_calls')}data: [DONE]\n\n`);
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
const events = ['PreToolUse', 'PostToolUse', 'PostToolUseFailure'];
writeFileSync('home/.kimi-code/config.toml', `default_model = "scripted"
telemetry = false
[providers.scripted]
type = "openai"
base_url = "http://127.0.0.1:${server.address().port}"
api_key = "scripted"
[models.scripted]
provider = "scripted"
model = "gpt-4o"
max_context_size = 200000
${events.map((event) => `[[hooks]]\nevent = "${event}"\ncommand = "${process.cwd()}/hook.sh ${process.cwd()}/hooks.jsonl"\n`).join('')}`);
const env = { PATH: process.env.PATH, HOME: `${process.cwd()}/home`, CI: 'true', TERM: 'dumb', NO_PROXY: '127.0.0.1' };
const kimi = spawn('../node_modules/.bin/kimi', ['-p', 'Follow the instructions.'], { cwd: 'project', env, stdio: 'ignore' });
await new Promise((resolve) => kimi.once('close', resolve));
server.close();
const hooks = readFileSync('hooks.jsonl', 'utf8').trim().split('\n').map((line) => JSON.parse(line));
const failed = hooks.find((hook) => hook.hook_event_name === 'PostToolUseFailure');
const before = hooks.filter((hook) => hook.hook_event_name === 'PreToolUse');
const members = (part) => Object.keys(before.find((hook) => JSON.stringify(hook.tool_input).includes(part)) ?? {}).sort().join();
console.log(`seen: failed ${failed?.tool_input.command} because "${failed?.error.message}", members ${
  members('sub.txt') === members('refused.txt') ? 'equal' : 'different'}, sessions ${new Set(hooks.map((hook) => hook.session_id)).size}`);
RUN
seen=$(node run.mjs)
echo "$seen"
[ "$seen" = 'seen: failed echo a > refused.txt because "not this one", members equal, sessions 1' ]
