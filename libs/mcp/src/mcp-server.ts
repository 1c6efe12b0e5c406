import { McpServer } from '@modelcontextprotocol/server';
import { NOTICE } from './answer.ts';
import { registerPrompts, registerResources } from './prompts.ts';
import { registerTools } from './register-tools.ts';
import type { McpSession } from './session.ts';

const INSTRUCTIONS =
  'AgentLens watches AI agents and blocks what its rules forbid. Start with agentlens_guardrails, which without arguments ' +
  `returns the active rules and their results. ${NOTICE} Changes that let agents do more ask the user first.`;

/** Creates an MCP server with the rights of this session's key, for one request or connection. */
export function createMcpServer(session: McpSession): McpServer {
  const server = new McpServer(
    { name: 'agentlens', title: 'AgentLens', version: session.version, websiteUrl: session.consoleUrl },
    { instructions: INSTRUCTIONS },
  );
  registerTools(server, session);
  registerPrompts(server, session);
  registerResources(server, session);
  return server;
}
