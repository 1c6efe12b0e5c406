// A coding agent in the terminal, with seven tools and a hand-written loop.
//
//   node examples/coder-console.mjs --scripted          a scripted model, no key
//   ANTHROPIC_API_KEY=… node examples/coder-console.mjs  a real one
//   OPENAI_API_KEY=… node examples/coder-console.mjs
//
// It works in the current folder, asks before it writes or runs anything, and stores its sessions in .agent-sessions.
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import {
  AgentRuntime,
  AgentSession,
  FileSessionStore,
  isAgentError,
  Message,
  PermissionManager,
  PermissionRule,
  ToolRegistry,
  toolUsesOf,
} from '@agentlens/agent';
import { ConsoleRenderer } from '@agentlens/agent/console';
import { localHost } from '@agentlens/agent/host';
import { anthropic, openaiCompatible } from '@agentlens/agent/llm';
import { ScriptedModel } from '@agentlens/agent/testing';
import { bashTool, editTool, globTool, grepTool, readTool, todoTool, writeTool } from '@agentlens/agent/tools';

const { values } = parseArgs({
  options: { scripted: { type: 'boolean' }, model: { type: 'string' }, resume: { type: 'string' } },
});

const root = values.scripted ? await sandbox() : process.cwd();
const model = values.scripted ? scriptedModel() : realModel();
const tools = new ToolRegistry([bashTool(), readTool(), editTool(), writeTool(), globTool(), grepTool(), todoTool()]);
const permissions = new PermissionManager({
  tools,
  rules: [
    PermissionRule.allowCategory('read'),
    PermissionRule.allowBashPrefix(['git status', 'git diff', 'git log', 'ls']),
    PermissionRule.denyBashPrefix(['sudo', 'git push']),
    PermissionRule.askForTool('bash'),
    PermissionRule.askForTool('write'),
    PermissionRule.askForTool('edit'),
  ],
});

async function coder(internals) {
  const llm = internals.model(model);
  for (;;) {
    const input = await internals.receive();
    if (input.type === 'shutdown') return;
    if (input.type !== 'user-input') continue;
    internals.session.addMessage(Message.user(input.content));
    const executor = internals.tools(tools, permissions);
    try {
      for (;;) {
        const { content } = await llm.call(internals.session.getHistory(), {
          system: 'You are a careful programmer. Read before you write, and say what you did.',
          tools: tools.getDefinitions(),
          signal: internals.turnSignal,
        });
        internals.session.addMessage(Message.assistant(content));
        const calls = toolUsesOf(content);
        if (calls.length === 0) break;
        await executor.executeAll(calls);
      }
      internals.send({ type: 'done' });
    } catch (error) {
      if (!isAgentError(error) || internals.signal.aborted) throw error;
      internals.send({ type: 'error', error: { code: error.code, message: error.message } });
    }
  }
}

const runtime = new AgentRuntime({
  store: new FileSessionStore(join(root, '.agent-sessions')),
  host: localHost({ root, files: 'write', shell: true }),
});
const handle = values.resume
  ? await runtime.resume(values.resume, coder)
  : runtime.spawn(new AgentSession('coder'), coder);
console.log(`session ${handle.sessionId} in ${root}`);
await new ConsoleRenderer(handle).run();
await runtime.shutdownAll();

function realModel() {
  const { ANTHROPIC_API_KEY, OPENAI_API_KEY } = process.env;
  if (ANTHROPIC_API_KEY) return anthropic({ apiKey: ANTHROPIC_API_KEY, model: values.model ?? 'claude-sonnet-4-5' });
  if (OPENAI_API_KEY)
    return openaiCompatible({
      apiKey: OPENAI_API_KEY,
      baseUrl: 'https://api.openai.com/v1',
      model: values.model ?? 'gpt-5.1',
    });
  console.error('Set ANTHROPIC_API_KEY or OPENAI_API_KEY, or run it with --scripted.');
  process.exit(1);
}

/** Reads a file, asks about an edit, runs a harmless command, and reports. */
function scriptedModel() {
  return new ScriptedModel([
    {
      text: 'I look at it first.',
      toolCalls: [
        { name: 'read', input: { path: 'hello.js' } },
        { name: 'bash', input: { command: 'ls' } },
      ],
    },
    { toolCalls: [{ name: 'edit', input: { path: 'hello.js', oldText: 'helo', newText: 'hello' } }] },
    { toolCalls: [{ name: 'bash', input: { command: 'sudo rm -rf /' } }] },
    { text: 'Fixed the spelling in hello.js. I was not allowed to use sudo.' },
  ]);
}

async function sandbox() {
  const folder = await mkdtemp(join(tmpdir(), 'coder-'));
  await writeFile(join(folder, 'hello.js'), "console.log('helo');\n");
  return folder;
}
