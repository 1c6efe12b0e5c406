export { createMcpServer } from './mcp-server.ts';
export type { McpSession } from './session.ts';
