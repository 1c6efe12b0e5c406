import { existsSync, mkdtempSync, readFileSync, rmSync, watch } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TestPlatform } from '@agentlens/sdk/testing';
import { Client as ClientV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioV2 } from '@modelcontextprotocol/client/stdio';
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as StdioV1 } from '@modelcontextprotocol/sdk/client/stdio.js';
import { served } from '../../conformance/src/http-test-server.ts';
import type { Platform } from '../../conformance/src/platform.ts';

export type Generation = 'v1' | 'v2';

export interface ToolResult {
  readonly isError?: boolean;
  readonly content: readonly { readonly text?: string }[];
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  readonly onprogress?: (progress: { progress: number; message?: string }) => void;
}

/** A real client of one generation of the protocol. */
export interface TestClient {
  call(name: string, args?: Record<string, unknown>, options?: CallOptions): Promise<ToolResult>;
  tools(): Promise<readonly string[]>;
  close(): Promise<void>;
}

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));
/** Beside what an import of the package finds: its sources, or what was packed of them. */
const ENTRY = import.meta.resolve('@agentlens/mcp-proxy');
const PROXY = fileURLToPath(new URL(ENTRY.endsWith('.ts') ? './main.ts' : './main.js', ENTRY));
const SERVER = here('./mcp-server.ts');
const NODE = ['--conditions=@agentlens/source', '--disable-warning=ExperimentalWarning'];

/** A client, the proxy and a server, each a process of its own, before the SDK's test server. */
export class McpWorld {
  readonly server = new TestPlatform();
  readonly #generation: Generation;
  readonly #folder = mkdtempSync(join(tmpdir(), 'agentlens-mcp-'));
  readonly #closing: (() => Promise<void>)[] = [];

  constructor(generation: Generation) {
    this.#generation = generation;
  }

  /** What the server's tools have done. */
  get effects(): readonly string[] {
    return existsSync(this.#file) ? readFileSync(this.#file, 'utf8').trim().split('\n') : [];
  }

  /** Resolves when a tool has done something. */
  async effect(line: string): Promise<void> {
    const seen = new AbortController();
    const watcher = watch(this.#folder, { signal: seen.signal });
    await new Promise<void>((resolve) => {
      const look = () => {
        if (this.effects.includes(line)) resolve();
      };
      watcher.on('change', look);
      look();
    });
    seen.abort();
  }

  /** The server alone, without a proxy. */
  bare(): Promise<TestClient> {
    return this.#connect([SERVER, this.#file, this.#generation], {});
  }

  /** Through the proxy, as it is started in a client's configuration. */
  async guarded(...options: readonly string[]): Promise<TestClient> {
    const platform = await served(this.server);
    this.#closing.push(() => platform.close());
    return this.guardedBy({ url: platform.url, key: this.server.apiKey }, 'desk', ...options);
  }

  /** The same before a platform. */
  guardedBy({ url, key }: Platform, agent: string, ...options: readonly string[]): Promise<TestClient> {
    const names = ['--server', 'files', '--agent', agent, ...options];
    const command = ['--', process.execPath, ...NODE, SERVER, this.#file, this.#generation];
    return this.#connect([PROXY, ...names, ...command], {
      AGENTLENS_API_KEY: key,
      AGENTLENS_URL: url,
      XDG_STATE_HOME: this.#folder,
      GITHUB_TOKEN: 'token',
      NPM_TOKEN: 'token',
    });
  }

  async close(): Promise<void> {
    for (const close of this.#closing.toReversed()) await close();
    rmSync(this.#folder, { recursive: true });
  }

  get #file(): string {
    return join(this.#folder, 'effects');
  }

  async #connect(args: readonly string[], env: Record<string, string>): Promise<TestClient> {
    const start = {
      command: process.execPath,
      args: [...NODE, ...args],
      env: { PATH: process.env.PATH ?? '', ...env },
    };
    const client = this.#generation === 'v1' ? await connectV1(start) : await connectV2(start);
    this.#closing.push(() => client.close());
    return client;
  }
}

interface Start {
  readonly command: string;
  readonly args: string[];
  readonly env: Record<string, string>;
}

const INFO = { name: 'test-client', version: '1.0.0' };

async function connectV1(start: Start): Promise<TestClient> {
  const client = new ClientV1(INFO);
  await client.connect(new StdioV1(start));
  return {
    call: async (name, args = {}, options) =>
      (await client.callTool({ name, arguments: args }, undefined, options)) as ToolResult,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    close: () => client.close(),
  };
}

async function connectV2(start: Start): Promise<TestClient> {
  const client = new ClientV2(INFO, { versionNegotiation: { mode: 'auto' } });
  await client.connect(new StdioV2(start));
  return {
    call: async (name, args = {}, options) => (await client.callTool({ name, arguments: args }, options)) as ToolResult,
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    close: () => client.close(),
  };
}
