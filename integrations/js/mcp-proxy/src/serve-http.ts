import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type { AgentLensClient } from '@agentlens/sdk';
import { ClientReply } from './client-reply.ts';
import { guardOf, type ProxyOptions } from './guard-of.ts';
import { type HttpSession, HttpSessions } from './http-sessions.ts';
import { isId, type Message, messagesOf } from './json-rpc.ts';
import { dataOf, eventsOf, withData } from './server-sent-events.ts';
import { Upstream } from './upstream.ts';

const MOST_BODY_BYTES = 64 * 1024 * 1024;

export interface HttpEndpoint {
  readonly host: string;
  /** 0: any that is free. */
  readonly port: number;
  readonly upstream: URL;
  /** Of web pages that may call, besides this machine's own. */
  readonly origins?: readonly string[];
}

export interface HttpProxy {
  readonly url: string;
  close(): Promise<void>;
}

/** Serves streamable HTTP in front of a server until `close`. Headers are passed on unread. */
export async function serveHttp(
  lens: AgentLensClient,
  { host, port, upstream, origins = [] }: HttpEndpoint,
  options: ProxyOptions,
  say: (message: string) => void = () => undefined,
): Promise<HttpProxy> {
  const sessions = new HttpSessions({ ...options, guard: guardOf(lens, options) });
  const handler = new HttpHandler(new Upstream(upstream), sessions);
  const server = createServer((request, response) => {
    if (!mayCall(request, origins)) {
      response.writeHead(403).end('This origin may not call.');
      return;
    }
    handler.handle(request, response).catch((error: unknown) => {
      say(error instanceof Error ? error.message : String(error));
      if (!response.headersSent) response.writeHead(502);
      response.end();
    });
  });
  await listening(server, host, port);
  const { port: bound } = server.address() as AddressInfo;
  const url = `http://${host}:${bound}${upstream.pathname}`;
  say(`guarding ${upstream.origin} at ${url}`);
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await sessions.close();
  };
  return { url, close };
}

/** One request after another, each with its session. */
class HttpHandler {
  readonly #upstream: Upstream;
  readonly #sessions: HttpSessions;

  constructor(upstream: Upstream, sessions: HttpSessions) {
    this.#upstream = upstream;
    this.#sessions = sessions;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = headerOf(request, 'mcp-session-id');
    if (Number(request.headers['content-length'] ?? 0) > MOST_BODY_BYTES) {
      response.writeHead(413).end();
      return;
    }
    const body = await text(request);
    const session = this.#sessions.of(id);
    session.tellServer = (message) => this.#upstream.tell(request, message);
    const [message, ...others] = request.method === 'POST' ? (messagesOf(body) ?? []) : [];
    if (others.length > 0) {
      const error = { code: -32_600, message: 'Send one message at a time: this proxy takes no batches.' };
      new ClientReply(response).finish({ jsonrpc: '2.0', id: null, error } as Message, 400);
      return;
    }
    try {
      if (message === undefined) await this.#forward(request, response, session, body);
      else await this.#decide({ request, response, session, message, body });
    } finally {
      if (request.method === 'DELETE') await this.#sessions.end(id);
      // The protocol since 2026-07-28 has no sessions: a request is a run.
      else if (id === undefined && !response.hasHeader('mcp-session-id')) await session.session.end('success');
    }
  }

  async #decide(given: {
    readonly request: IncomingMessage;
    readonly response: ServerResponse;
    readonly session: HttpSession;
    readonly message: Message;
    readonly body: string;
  }): Promise<void> {
    const { request, response, session, message, body } = given;
    const reply = new ClientReply(response);
    const { id, params } = message;
    const token = (params?._meta as { progressToken?: unknown } | undefined)?.progressToken;
    if (isId(id)) {
      session.expect(id, token, reply);
      // A client cancels by going away.
      response.once('close', () => {
        if (!response.writableFinished) void session.session.fromClient(cancelled(id));
      });
    }
    const verdict = await session.session.fromClient(message);
    try {
      if (verdict.pass) await this.#forward(request, response, session, body, reply);
      else if (verdict.send) await this.#forward(request, response, session, JSON.stringify(verdict.send), reply);
      else if (verdict.answer) reply.finish(verdict.answer);
      else reply.end();
    } finally {
      if (isId(id)) session.answered(id, token);
    }
  }

  async #forward(
    request: IncomingMessage,
    response: ServerResponse,
    session: HttpSession,
    body: string,
    reply = new ClientReply(response),
  ): Promise<void> {
    const { answer, stop } = await this.#upstream.send(request, body);
    response.once('close', stop);
    const named = headerOf(answer, 'mcp-session-id');
    if (named !== undefined) this.#sessions.named(named, session);
    const type = headerOf(answer, 'content-type') ?? '';
    if (!response.headersSent)
      for (const [name, value] of this.#upstream.headersOf(answer)) response.setHeader(name, value);
    if (type.includes('text/event-stream')) return this.#stream(answer, response, session, reply);
    const whole = await text(answer);
    const [message] = type.includes('application/json') ? (messagesOf(whole) ?? []) : [];
    const verdict = message === undefined ? undefined : await session.session.fromServer(message);
    if (response.writableEnded) return;
    if (message !== undefined && response.headersSent) {
      reply.finish(verdict?.pass === false ? (verdict.answer ?? message) : message);
      return;
    }
    if (verdict?.pass === false && verdict.answer !== undefined) {
      response.removeHeader('content-length');
      reply.finish(verdict.answer);
      return;
    }
    response.writeHead(answer.statusCode ?? 502);
    response.end(whole);
  }

  async #stream(
    answer: IncomingMessage,
    response: ServerResponse,
    session: HttpSession,
    reply: ClientReply,
  ): Promise<void> {
    if (!response.headersSent) response.writeHead(answer.statusCode ?? 200);
    response.flushHeaders();
    for await (const event of eventsOf(answer)) {
      const [message] = messagesOf(dataOf(event)) ?? [];
      const verdict = message === undefined ? undefined : await session.session.fromServer(message);
      if (response.writableEnded) return;
      const changed = verdict?.pass === false ? verdict.answer : undefined;
      reply.raw(changed === undefined ? event : withData(event, JSON.stringify(changed)));
    }
    response.end();
  }
}

function cancelled(requestId: unknown): Message {
  return { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } };
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(new Error(`cannot listen on ${host}:${port}: ${error.message}`)));
    server.listen(port, host, resolve);
  });
}

/** A web page anywhere could call a server on this machine: its origin has to be of this machine, or be named. */
function mayCall(request: IncomingMessage, origins: readonly string[]): boolean {
  const origin = headerOf(request, 'origin');
  if (origin === undefined || origins.includes(origin)) return true;
  return URL.canParse(origin) && ['localhost', '127.0.0.1', '[::1]'].includes(new URL(origin).hostname);
}

function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}
