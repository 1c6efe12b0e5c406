import { randomUUID } from 'node:crypto';
import { isIP } from 'node:net';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { createClient } from '@agentlens/client';
import { type Confirmations, createMcpServer, MAX_ANSWER_MS, type McpSession } from '@agentlens/mcp';
import { type Clock, callerOf, type Platform, ProblemException, port, type SecretBox } from '@agentlens/platform';
import type { IdempotencyStore } from '@agentlens/state';
import { createMcpHandler, type McpHttpHandler } from '@modelcontextprotocol/server';
import { type BeforeApplicationShutdown, Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest, InjectOptions } from 'fastify';
import { basePath } from '../console/console-page.ts';
import { VERSION } from '../service/version.ts';

/**
 * A `fetch` that calls this process without a connection. Requests pass the same hooks as requests from outside, so
 * their key's scopes apply.
 */
function fetchOwnRoutes(server: FastifyInstance): typeof fetch {
  return async (input, init = {}) => {
    const { method = 'GET', body, signal } = init;
    const url = input instanceof Request ? input.url : input;
    const answer = await server.inject({
      method: method as InjectOptions['method'],
      url: url.toString(),
      headers: Object.fromEntries(new Headers(init.headers)),
      payload: typeof body === 'string' ? body : undefined,
      signal: signal ?? undefined,
    });
    const headers = Object.entries(answer.headers).map(([name, value]) => [name, String(value)] as [string, string]);
    return new Response(answer.rawPayload.length > 0 ? new Uint8Array(answer.rawPayload) : null, {
      status: answer.statusCode,
      headers,
    });
  };
}

/**
 * Returns true for a request from another site's page. Programs send no `Origin`. A page must have exactly this
 * address, and the host must be an IP address or this machine's own name: any other name could point here because of
 * DNS rebinding.
 */
export function isForeignPage({ headers: { origin, host } }: Pick<FastifyRequest, 'headers'>): boolean {
  if (origin === undefined) return false;
  if (!URL.canParse(origin)) return true;
  const page = new URL(origin);
  return page.host !== host || !isUnrebindable(page.hostname);
}

function isUnrebindable(hostname: string): boolean {
  return hostname === 'localhost' || isIP(hostname.replace(/^\[|\]$/g, '')) !== 0;
}

const PATH = '/mcp';
/** Maximum open subscriptions of all clients. The server sends no notifications, so clients do not need them. */
const MAX_SUBSCRIPTIONS = 100;

/**
 * Serves MCP over HTTP without sessions: each request gets its own server, with the permissions of the request's key.
 * Tools call the routes of this process with the same key.
 */
@Injectable()
export class McpEndpoint implements OnModuleInit, BeforeApplicationShutdown {
  readonly #handler: McpHttpHandler;
  readonly #sessions = new WeakMap<Request, McpSession>();

  constructor(
    private readonly host: HttpAdapterHost,
    @Inject(port('secrets')) private readonly secrets: SecretBox,
    @Inject(port('idempotency')) private readonly store: IdempotencyStore,
    @Inject(port('clock')) private readonly clock: Clock,
    @Inject(port('logger')) logger: Platform['logger'],
  ) {
    this.#handler = createMcpHandler(({ requestInfo }) => this.#serverFor(requestInfo), {
      maxSubscriptions: MAX_SUBSCRIPTIONS,
      onerror: (error) => logger.debug({ err: error }, 'MCP request rejected'),
    });
  }

  onModuleInit(): void {
    const server: FastifyInstance = this.host.httpAdapter.getInstance();
    const fetch = fetchOwnRoutes(server);
    server.post(PATH, { config: { scopes: ['read'] } }, async (request, reply) => {
      if (isForeignPage(request)) {
        throw new ProblemException(403, 'This page may not use the MCP server', {
          hint: 'MCP clients are programs: they send the API key and no Origin.',
        });
      }
      const asked = webRequest(request, reply);
      this.#sessions.set(asked, { ...sessionOf(request, fetch), confirmations: this.#confirmationsOf(request) });
      return send(await this.#handler.fetch(asked, { parsedBody: request.body }), reply);
    });
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.#handler.close();
  }

  /** Codes are sealed, so that the next request may reach another replica; the store lets each be used once. */
  #confirmationsOf(request: FastifyRequest): Confirmations {
    const { tenantId } = callerOf(request);
    const context = (subject: string) => [tenantId, 'mcp-confirmation', subject];
    return {
      issue: async (subject) => {
        const code = { id: randomUUID(), endsAtMs: this.clock.now() + MAX_ANSWER_MS };
        return this.secrets.seal(JSON.stringify(code), context(subject));
      },
      redeem: async (code, subject) => {
        const nowMs = this.clock.now();
        const opened = this.#opened(code, context(subject));
        if (opened === undefined || opened.endsAtMs <= nowMs) return false;
        const use = { requestHash: subject, startedAtMs: nowMs };
        return (await this.store.begin(tenantId, `mcp-confirmation:${opened.id}`, use)) === null;
      },
    };
  }

  /** Undefined if the code was not made for this context. */
  #opened(code: string, context: readonly string[]): { readonly id: string; readonly endsAtMs: number } | undefined {
    try {
      return JSON.parse(this.secrets.open(code, context));
    } catch {
      return undefined;
    }
  }

  #serverFor(request: Request | undefined) {
    const session = request && this.#sessions.get(request);
    if (session === undefined) throw new Error('an MCP request came without the session of its key');
    return createMcpServer(session);
  }
}

function sessionOf(request: FastifyRequest, fetch: typeof globalThis.fetch): Omit<McpSession, 'confirmations'> {
  const { tenantId, keyId, scopes } = callerOf(request);
  const { authorization = '' } = request.headers;
  const actor = request.headers['x-agentlens-actor'];
  const named: Record<string, string> = typeof actor === 'string' ? { 'x-agentlens-actor': actor } : {};
  const client = createClient({ fetch, headers: { authorization, ...named } });
  return { client, tenantId, keyId, scopes, version: VERSION, consoleUrl: addressOf(request) };
}

/** MCP request without the session of its key */
function webRequest(request: FastifyRequest, reply: FastifyReply): Request {
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  const read = Object.entries(request.headers).filter(([name]) => /^(accept|content-type|mcp-.+)$/.test(name));
  const headers = read.map(([name, value]) => [name, String(value)] as [string, string]);
  return new Request(`${addressOf(request)}${PATH}`, { method: 'POST', headers, signal: gone.signal });
}

/** The address of this server as the client or its proxy sees it. */
function addressOf({ headers, protocol, host }: FastifyRequest): string {
  const first = (name: string) => [headers[name]].flat()[0]?.split(',')[0]?.trim();
  const origin = `${first('x-forwarded-proto') ?? protocol}://${first('x-forwarded-host') ?? host}`;
  const address = URL.canParse(origin) ? new URL(origin).origin : '';
  return address + basePath(headers['x-forwarded-prefix']).replace(/\/$/, '');
}

function send(answer: Response, reply: FastifyReply): FastifyReply {
  for (const [name, value] of answer.headers) void reply.header(name, value);
  const { body } = answer;
  return reply.status(answer.status).send(body === null ? undefined : Readable.fromWeb(body as ReadableStream));
}
