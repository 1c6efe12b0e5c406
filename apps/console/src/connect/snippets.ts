import { CONNECT_SNIPPETS, exporterVariables } from '../../../../libs/contracts/src/connect-snippets.ts';
import { buildNpmInstall, buildNpx, buildPipInstall } from '../../../../libs/contracts/src/packages.ts';

/** Ways to connect an agent: a package, which can block, or OpenTelemetry, which only observes. */
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
    note: 'Wraps your tools. Each call is checked first and skipped if it is blocked.',
    code: (address, key) => `${buildNpmInstall(['sdk'], address)}

import { AgentLens, defineTool, withRun, wrapTool } from '@agentlens/sdk';

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
    note: 'Guards the tools of LangChain, CrewAI, AutoGen, OpenAI Agents, Pydantic AI and others.',
    code: (address, key) => `${buildPipInstall(address)}
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
    id: 'coding-agent',
    name: 'Coding agent',
    blocks: true,
    note: 'Claude Code, Codex, Gemini CLI, Qwen Code, Copilot CLI, Kimi Code or OpenCode. Observes first; add --enforce to refuse.',
    code: (
      address,
    ) => `${buildNpx('cli', address)} login --url ${address}    # an admin key; setup makes the key of the guard
${buildNpx('cli', address)} guard setup
${buildNpx('cli', address)} guard claude-code`,
  },
  {
    id: 'curl',
    name: 'HTTP',
    blocks: true,
    note: 'Any language: send events, and ask before each call.',
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
    note: 'Works unchanged with another address and key.',
    code: (address, key) => `export HANDLEBAR_API_ENDPOINT=${address}
export HANDLEBAR_API_KEY=${key}`,
  },
];

/** For an instrumented agent: two variables, and a few lines if its framework needs them. */
export const OTLP_SNIPPETS: readonly Snippet[] = CONNECT_SNIPPETS.map(
  ({ id, framework, language, install, code, content }) => ({
    id,
    name: framework,
    blocks: false,
    note: content === 'on' ? 'Sends prompts, arguments and results.' : content,
    code: (address, key) =>
      [
        exporterVariables(address, key, 'my-agent'),
        install,
        `${language === 'python' ? '#' : '//'} Before the first call:`,
        code,
      ].join('\n\n'),
  }),
);
