import { McpServer } from '@modelcontextprotocol/server';
import { NOTICE } from './answer.ts';
import type { McpSession } from './mcp-session.ts';
import { registerPrompts } from './prompts.ts';
import { registerTools } from './register-tools.ts';
import { registerResources } from './resources.ts';

const INSTRUCTIONS =
  'AgentLens watches AI agents and stops what its rules forbid. Begin with agentlens_guardrails, which without arguments ' +
  `answers the active rules and what they did. ${NOTICE} Changes that let agents do more ask the user first.`;

/** An MCP server that may do what the key of this session may, for one request or one connection. */
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
