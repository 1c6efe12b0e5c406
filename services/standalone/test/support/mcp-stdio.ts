import { runStdio } from '@agentlens/mcp/stdio';

/** The MCP server as an MCP client starts it, without the command line around it. */
const { AGENTLENS_URL: url = '', AGENTLENS_API_KEY: key = '' } = process.env;
await runStdio({ url, key });
