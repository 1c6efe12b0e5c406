export { type Confirmations, MAX_ANSWER_MS } from './confirmations.ts';
export { createMcpServer } from './mcp-server.ts';
export type { McpSession } from './session.ts';
