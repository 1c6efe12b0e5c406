import { isIP } from 'node:net';
import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { createClient } from '@agentlens/client';
import { createMcpServer, type McpSession } from '@agentlens/mcp';
import { callerOf, LOGGER, type Platform, ProblemException } from '@agentlens/platform';
import { createMcpHandler, type McpHttpHandler } from '@modelcontextprotocol/server';
import { type BeforeApplicationShutdown, Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { basePath } from '../console/console-page.ts';
import { VERSION } from '../service/version.ts';
import { fetchOwnRoutes } from './own-routes.ts';

/**
 * Whether this comes from a web page that has no business here. Programs send no `Origin`. Pages must be of this very
 * address, and that address must be a number or this machine's own name: any other name could have been pointed at us for
 * the sake of that page (DNS rebinding).
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
/** Open subscriptions of all clients; nothing here changes unasked, so that clients have no use for them. */
const MOST_SUBSCRIPTIONS = 100;

/**
 * The MCP server over HTTP: no session, one server for each request, with what the key of that request may do. Tools call
 * the routes of this process with the same key.
 */
@Injectable()
export class McpEndpoint implements OnModuleInit, BeforeApplicationShutdown {
  readonly #handler: McpHttpHandler;
  readonly #sessions = new WeakMap<Request, McpSession>();

  constructor(
    private readonly host: HttpAdapterHost,
    @Inject(LOGGER) logger: Platform['logger'],
  ) {
    this.#handler = createMcpHandler(({ requestInfo }) => this.#serverFor(requestInfo), {
      maxSubscriptions: MOST_SUBSCRIPTIONS,
      onerror: (error) => logger.debug({ err: error }, 'an MCP request was refused'),
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
      this.#sessions.set(asked, sessionOf(request, fetch));
      return send(await this.#handler.fetch(asked, { parsedBody: request.body }), reply);
    });
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.#handler.close();
  }

  #serverFor(request: Request | undefined) {
    const session = request && this.#sessions.get(request);
    if (session === undefined) throw new Error('an MCP request came without the session of its key');
    return createMcpServer(session);
  }
}

function sessionOf(request: FastifyRequest, fetch: typeof globalThis.fetch): McpSession {
  const { tenantId, keyId, scopes } = callerOf(request);
  const { authorization = '' } = request.headers;
  const actor = request.headers['x-agentlens-actor'];
  const named: Record<string, string> = typeof actor === 'string' ? { 'x-agentlens-actor': actor } : {};
  const client = createClient({ fetch, headers: { authorization, ...named } });
  return { client, tenantId, keyId, scopes, version: VERSION, consoleUrl: addressOf(request) };
}

/** What the handler reads of a request: its headers. The body is parsed already. It ends when the client hangs up. */
function webRequest(request: FastifyRequest, reply: FastifyReply): Request {
  const gone = new AbortController();
  reply.raw.once('close', () => gone.abort());
  const read = Object.entries(request.headers).filter(([name]) => /^(accept|content-type|mcp-.+)$/.test(name));
  const headers = read.map(([name, value]) => [name, String(value)] as [string, string]);
  return new Request(`${addressOf(request)}${PATH}`, { method: 'POST', headers, signal: gone.signal });
}

/** Where the client finds us, as it or the proxy before us says. */
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
