import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import type { PlatformUnderTest } from './platform-under-test.ts';

export type Era = '2025' | '2026';
export type Way = 'http' | 'stdio';

interface Connection {
  readonly platform: PlatformUnderTest;
  readonly key: string;
  readonly era: Era;
  readonly way: Way;
  /** Answers a request for confirmation as the user would; without it the client cannot ask. */
  readonly user?: (question: string) => boolean;
  /** Sends the requests over HTTP. Default: the global one. */
  readonly fetch?: typeof fetch;
}

export interface ToolAnswer {
  readonly isError: boolean;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: specs read any JSON
  readonly data: any;
}

const INFO = { name: 'e2e', version: '1.0.0' };
const CLI = fileURLToPath(new URL('../../../../apps/cli/src/main.ts', import.meta.url));

/** A real MCP client, connected to the platform. */
export class ConnectedClient {
  readonly sdk: Client;
  readonly #connection: Connection;

  private constructor(connection: Connection) {
    this.#connection = connection;
    const { era, user } = connection;
    const mode = era === '2026' ? { pin: '2026-07-28' } : ('legacy' as const);
    const capabilities = user === undefined ? {} : { elicitation: { form: {} } };
    this.sdk = new Client(INFO, { versionNegotiation: { mode }, capabilities });
    if (user === undefined) return;
    this.sdk.setRequestHandler('elicitation/create', async ({ params }) => ({
      action: 'accept',
      content: { confirm: user(params.message) },
    }));
  }

  static async connect(connection: Connection): Promise<ConnectedClient> {
    const client = new ConnectedClient(connection);
    await client.sdk.connect(client.#transport());
    return client;
  }

  async call(tool: string, args: Record<string, unknown> = {}): Promise<ToolAnswer> {
    const { content, isError, structuredContent } = await this.sdk.callTool({
      name: `agentlens_${tool}`,
      arguments: args,
    });
    const text = content.map((block) => (block.type === 'text' ? block.text : '')).join('');
    return { isError: isError === true, text, data: structuredContent };
  }

  close(): Promise<void> {
    return this.sdk.close();
  }

  #transport() {
    const { platform, key, way, fetch } = this.#connection;
    const url = platform.addressFor('POST', '/mcp');
    if (way === 'http') {
      const requestInit = { headers: { authorization: `Bearer ${key}` } };
      return new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit, ...(fetch && { fetch }) });
    }
    return new StdioClientTransport({
      command: process.execPath,
      args: ['--conditions=@agentlens/source', '--disable-warning=ExperimentalWarning', CLI, 'mcp'],
      env: { PATH: process.env.PATH ?? '', AGENTLENS_URL: url, AGENTLENS_API_KEY: key },
    });
  }
}
