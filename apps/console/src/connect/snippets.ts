import { CONNECT_SNIPPETS, exporterVariables } from '../../../../libs/contracts/src/connect-snippets.ts';

/** How an agent is connected: by a package that can block, or by OpenTelemetry, which only observes. */
export interface Snippet {
  readonly id: string;
  readonly name: string;
  readonly note: string;
  readonly blocks: boolean;
  readonly code: (address: string, key: string) => string;
}

export const SNIPPETS: readonly Snippet[] = [
  {
    id: 'typescript',
    name: 'TypeScript',
    blocks: true,
    note: 'Wraps your tools: each call is asked about first, and not made where it is refused.',
    code: (address, key) => `import { AgentLens, defineTool, withRun, wrapTool } from '@agentlens/sdk';

const lens = await AgentLens.init({ apiKey: '${key}', baseUrl: '${address}', agent: { slug: 'my-agent' } });
const search = wrapTool(defineTool({ name: 'search', execute: ({ query }: { query: string }) => find(query) }));

const run = await lens.startRun({});
await withRun(run, () => search({ query: 'tidal power' }));
await run.end();`,
  },
  {
    id: 'python',
    name: 'Python',
    blocks: true,
    note: 'Guards the tools of LangChain, CrewAI, AutoGen, OpenAI Agents, Pydantic AI and others by itself.',
    code: (address, key) => `pip install agentlens-guard
export AGENTLENS_URL=${address}
export AGENTLENS_API_KEY=${key}

import agentlens

agentlens.init(agent_id="my-agent")

@agentlens.guarded_tool
def search(query: str) -> str:
    return find(query)

with agentlens.run():
    search("tidal power")`,
  },
  {
    id: 'curl',
    name: 'HTTP',
    blocks: true,
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
    blocks: true,
    note: 'Works unchanged: only its address and key are others.',
    code: (address, key) => `export HANDLEBAR_API_ENDPOINT=${address}
export HANDLEBAR_API_KEY=${key}`,
  },
];

/** An agent that is instrumented already: two variables, and a few lines where its framework needs them. */
export const OTLP_SNIPPETS: readonly Snippet[] = CONNECT_SNIPPETS.map(
  ({ id, framework, language, install, code, content }) => ({
    id,
    name: framework,
    blocks: false,
    note: content === 'on' ? 'Prompts, arguments and results are told.' : content,
    code: (address, key) =>
      [
        exporterVariables(address, key, 'my-agent'),
        install,
        `${language === 'python' ? '#' : '//'} Before the first call:`,
        code,
      ].join('\n\n'),
  }),
);
