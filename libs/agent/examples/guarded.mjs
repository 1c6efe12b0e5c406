// An agent with an AgentLens platform: recorded on its run's timeline, blocked before a tool runs, held for approval,
// and killed in the middle of a tool; then its session continues in a new process.
//
//   npm start                                                  (in another terminal)
//   node libs/agent/examples/guarded.mjs --rules               creates the two rules, then runs
//   node libs/agent/examples/guarded.mjs --resume <session>    continues a session
//
// AGENTLENS_URL (default http://127.0.0.1:3400) and AGENTLENS_API_KEY (default: the key that `npm start` stores) select
// the platform and the identity. Approve the payment and kill the run in the console, or with the API.
import { existsSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { Agent, AgentRuntime, FileSessionStore, PermissionRule, tool } from '@agentlens/agent';
import { ScriptedModel } from '@agentlens/agent/testing';
import { AgentLens } from '@agentlens/sdk';

const { values } = parseArgs({
  options: {
    rules: { type: 'boolean' },
    resume: { type: 'string' },
    sessions: { type: 'string', default: '.agent-sessions' },
  },
});
const baseUrl = process.env.AGENTLENS_URL ?? 'http://127.0.0.1:3400';
const keyFile = process.env.AGENTLENS_KEY_FILE ?? '.agentlens/api-key';
const apiKey = process.env.AGENTLENS_API_KEY ?? (existsSync(keyFile) ? readFileSync(keyFile, 'utf8').trim() : 'none');

if (values.rules) {
  await rule('Nothing is deleted', 'delete_*', 'block');
  await rule('Payments need a human', 'pay', 'require_approval');
}

const object = { type: 'object' };
const tools = [
  tool({
    name: 'search',
    description: 'Finds files.',
    category: 'read',
    input: object,
    execute: () => ['/data/report.txt'],
  }),
  tool({
    name: 'delete_file',
    description: 'Deletes a file.',
    category: 'write',
    input: object,
    execute: () => console.log('deleted a file (not really)'),
  }),
  tool({
    name: 'pay',
    description: 'Pays an invoice.',
    category: 'write',
    input: object,
    execute: () => console.log('paid (not really)'),
  }),
  tool({
    name: 'long_job',
    description: 'Takes until it is stopped.',
    category: 'execute',
    input: object,
    timeoutMs: 600_000,
    execute: (_input, { signal }) => {
      console.log('long_job runs: kill the run now');
      return new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    },
  }),
];
const first = [
  { text: 'I search first.', toolCalls: [{ name: 'search', input: { query: 'report' } }] },
  { toolCalls: [{ name: 'delete_file', input: { path: '/data/report.txt' } }] },
  { text: 'I was not allowed to delete it. I pay the invoice.', toolCalls: [{ name: 'pay', input: { eur: 5 } }] },
  { toolCalls: [{ name: 'long_job', input: {} }] },
  { text: 'All done.' },
];
const again = [
  (messages) => ({
    text: `I remember ${messages.filter(({ role }) => role === 'assistant').length} steps of this session. All done.`,
  }),
];

const client = await AgentLens.init({
  apiKey,
  baseUrl,
  agent: { slug: 'guarded-example', name: 'Guarded example' },
  tools: tools.map(({ name, description, category }) => ({ name, description, tags: [category] })),
  deadlineMs: 5_000,
  logger: { warn: (message) => console.warn(message) },
});
const agent = new Agent({
  id: 'guarded-example',
  taskPrompt: 'Tidy up and pay what is open.',
  tools,
  permissions: [PermissionRule.all('allow')],
  modelProviders: [new ScriptedModel(values.resume ? again : first)],
  runtime: new AgentRuntime({ store: new FileSessionStore(values.sessions), platform: client }),
});
agent.on('model-start', ({ runId, turn }) => console.log(`run ${runId} (turn ${turn})`));
agent.on('decision', ({ toolName, verdict, reason }) => console.log(`${toolName}: ${verdict} ${reason}`));

const result = await agent.run(values.resume ? { sessionId: values.resume, input: 'Go on.' } : {});
console.log(
  result.success ? `result: ${String(result.result)}` : `stopped: ${result.error.code} ${result.error.message}`,
);
console.log(`session ${result.sessionId}`);
await client.shutdown();

async function rule(name, value, actionType) {
  const response = await fetch(`${baseUrl}/api/guardrails`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      name,
      conditionType: 'tool_name',
      conditionConfig: { value },
      actionType,
      actionConfig: {},
    }),
  });
  console.log(`rule "${name}": ${response.status}`);
}
