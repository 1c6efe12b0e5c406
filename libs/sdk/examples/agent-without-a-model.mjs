// An agent whose model is a script: it needs no model key, only the platform.
//
//   npm start                                             (in another terminal)
//   node libs/sdk/examples/agent-without-a-model.mjs
//
// AGENTLENS_URL (default http://127.0.0.1:3400) and AGENTLENS_API_KEY (default: the key that `npm start` stores) select
// the platform and the identity. Without a platform it continues and says so: it fails open.
import { existsSync, readFileSync } from 'node:fs';
import { AgentLens, defineTool, isAgentStopped, isBlockedResult, toolInfo, withRun, wrapTool } from '@agentlens/sdk';

const baseUrl = process.env.AGENTLENS_URL ?? 'http://127.0.0.1:3400';
const keyFile = process.env.AGENTLENS_KEY_FILE ?? '.agentlens/api-key';
const apiKey = process.env.AGENTLENS_API_KEY ?? (existsSync(keyFile) ? readFileSync(keyFile, 'utf8').trim() : 'none');

const search = defineTool({
  name: 'search_files',
  description: 'Finds files by name',
  tags: ['read'],
  execute: ({ query }) => [`/data/${query}.txt`],
});
const remove = defineTool({
  name: 'delete_file',
  description: 'Deletes a file',
  tags: ['destructive'],
  execute: ({ path }) => `deleted ${path} (not really)`,
});

/** The model's output at each step. */
const script = [
  { text: 'I look for old reports.', tool: search, args: { query: 'report-2019' } },
  { text: 'I delete what I found.', tool: remove, args: { path: '/data/report-2019.txt' } },
  { text: 'Done.' },
];

const client = await AgentLens.init({
  apiKey,
  baseUrl,
  agent: { slug: 'example-agent', name: 'Agent without a model' },
  tools: [search, remove].map(toolInfo),
  logger: { warn: (message) => console.warn(message) },
});
const run = await client.startRun({
  actor: { externalId: 'example-user', metadata: { plan: 'free' } },
  model: { name: 'scripted', provider: 'none' },
});
console.log(`run ${run.id}`);

try {
  await withRun(run, work);
  await run.end('success');
} catch (error) {
  if (!isAgentStopped(error)) throw error;
  console.log(`stopped: ${error.message}`);
  await run.end('interrupted');
}
await client.shutdown();
console.log(`its story: ${baseUrl}/api/runs/${run.id}/timeline`);

async function work() {
  const history = [{ role: 'user', content: 'Tidy up the old reports.' }];
  for (const step of script) {
    await run.beforeLlm(history);
    const content = [{ type: 'text', text: step.text }];
    await run.afterLlm({
      content,
      model: { name: 'scripted', provider: 'none' },
      usage: { inputTokens: 20, outputTokens: 8 },
      costUsd: 0,
    });
    history.push({ role: 'assistant', content });
    console.log(`agent: ${step.text}`);
    if (step.tool === undefined) return;
    const result = await wrapTool(step.tool)(step.args);
    console.log(isBlockedResult(result) ? `       blocked: ${result.reason}` : `       ${JSON.stringify(result)}`);
    history.push({ role: 'tool', content: JSON.stringify(result) });
    if (isBlockedResult(result) && result.code === 'AGENTLENS_RUN_ENDED') return;
  }
}
