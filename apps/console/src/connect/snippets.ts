/** How an agent is connected, by framework. `KEY` and `URL` are filled in. */
interface Snippet {
  readonly id: string;
  readonly name: string;
  readonly note: string;
  readonly code: (address: string, key: string) => string;
}

export const SNIPPETS: readonly Snippet[] = [
  {
    id: 'typescript',
    name: 'TypeScript',
    note: 'Wraps your tools: each call is asked about first, and not made where it is refused.',
    code: (address, key) => `import { AgentLens, defineTool, withRun, wrapTool } from '@agentlens/sdk';

const lens = await AgentLens.init({ apiKey: '${key}', baseUrl: '${address}', agent: { slug: 'my-agent' } });
const search = wrapTool(defineTool({ name: 'search', execute: ({ query }: { query: string }) => find(query) }));

const run = await lens.startRun({});
await withRun(run, () => search({ query: 'tidal power' }));
await run.end();`,
  },
  {
    id: 'curl',
    name: 'HTTP',
    note: 'Any language: send what happened, and ask before a call.',
    code: (
      address,
      key,
    ) => `curl -sS ${address}/api/events -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '{
  "events": [{"agentId": "my-agent", "sessionId": "run-1", "eventType": "tool_call",
              "payload": {"callId": "c1", "toolName": "search", "arguments": {"query": "tidal power"}}}]}'

curl -sS ${address}/v1/runs/run-1/evaluate -H 'Authorization: Bearer ${key}' -H 'Content-Type: application/json' -d '{
  "phase": "tool.before", "agentId": "my-agent", "tool": {"name": "search"}, "args": {"query": "tidal power"}}'`,
  },
  {
    id: 'handlebar',
    name: 'Handlebar SDK',
    note: 'Works unchanged: only its address and key are others.',
    code: (address, key) => `export HANDLEBAR_API_ENDPOINT=${address}
export HANDLEBAR_API_KEY=${key}`,
  },
];
