import { type McpServer, type ReadResourceResult, ResourceTemplate } from '@modelcontextprotocol/server';
import { answerOf } from './answer.ts';
import type { FoundData } from './found-data.ts';
import type { McpSession } from './mcp-session.ts';
import { TOOLS } from './tools/index.ts';

const TEMPLATES = [
  {
    name: 'rule',
    uri: 'agentlens://rules/{id}',
    tool: 'guardrails',
    action: 'status',
    field: 'ruleId',
    title: 'A rule and its status',
  },
  { name: 'run', uri: 'agentlens://runs/{id}', tool: 'runs', action: 'get', field: 'runId', title: 'A run' },
] as const;

/** A rule and a run by their ids, with what the tools say of them. */
export function registerResources(server: McpServer, session: McpSession): void {
  for (const { name, uri, title, tool, action, field } of TEMPLATES) {
    const read = TOOLS.find((one) => one.name === tool)?.actions[action];
    const template = new ResourceTemplate(uri, { list: undefined });
    server.registerResource(name, template, { title, mimeType: 'application/json' }, async (address, { id }) => {
      const found = await read?.run(session, { [field]: decodeURIComponent(String(id)) });
      if (found === undefined) throw new Error(`no action ${tool}.${action}`);
      return contentsOf(address.href, found, session);
    });
  }
}

async function contentsOf(uri: string, found: FoundData, { consoleUrl }: McpSession): Promise<ReadResourceResult> {
  const { structuredContent } = await answerOf(found, { action: 'get', full: false, consoleUrl });
  return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(structuredContent) }] };
}
