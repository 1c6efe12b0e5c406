import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AgentLensClient } from '@agentlens/sdk';
import { ClientReply } from './client-reply.ts';
import { guardOf, type ProxyOptions, pinGuardOf } from './guard-of.ts';
import { type HttpSession, HttpSessions } from './http-sessions.ts';
import { clientMessagesOf, invalid, isRequest, type Message, serverMessagesOf, writeMessage } from './json-rpc.ts';
import { MAX_MESSAGE_BYTES, textWithin } from './lines.ts';
import { eventsOf, writeEvent } from './server-sent-events.ts';
import { Upstream } from './upstream.ts';

const METHODS: ReadonlySet<string> = new Set(['POST', 'GET', 'DELETE', 'OPTIONS']);
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

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
  const sessions = new HttpSessions({ ...options, guard: guardOf(lens, options), pins: pinGuardOf(lens, options) });
  const handler = new HttpHandler(new Upstream(upstream), sessions, say);
  const server = createServer((request, response) => {
    if (!mayCall(request, origins)) {
      response.writeHead(403).end('This origin may not call.');
      return;
    }
    if (isLoopback(host) && !isLocalName(request, origins)) {
      response
        .writeHead(403)
        .end('This proxy serves localhost only: send that as the Host, or name it in --allow-origin.');
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
  readonly #say: (message: string) => void;

  constructor(upstream: Upstream, sessions: HttpSessions, say: (message: string) => void) {
    this.#upstream = upstream;
    this.#sessions = sessions;
    this.#say = say;
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = headerOf(request, 'mcp-session-id');
    const message = await this.#messageOf(request, response);
    if (message === undefined) return;
    const session = await this.#sessions.find(id);
    session.tellServer = (told) => this.#upstream.tell(request, told);
    try {
      if (message === null) await this.#forward({ request, response, session, body: '' });
      else await this.#decide({ request, response, session, message });
    } finally {
      if (request.method === 'DELETE') await this.#sessions.end(id);
      // The protocol since 2026-07-28 has no sessions: a request is a run.
      else if (id === undefined && !response.hasHeader('mcp-session-id')) await session.session.end('success');
    }
  }

  /** The message of a request, null for one that has none; undefined once the request was refused. */
  async #messageOf(request: IncomingMessage, response: ServerResponse): Promise<Message | null | undefined> {
    const refuse = (status: number, why: string): undefined => {
      response.setHeader('connection', 'close');
      new ClientReply(response).finish(invalid(null, why), status);
      return undefined;
    };
    const { method } = request;
    if (method === undefined || !METHODS.has(method)) return refuse(405, `this proxy takes no ${method}`);
    if (method !== 'POST') return null;
    if (!['', 'identity'].includes(headerOf(request, 'content-encoding') ?? ''))
      return refuse(415, 'send the body without a content-encoding');
    const body = await textWithin(request, MAX_MESSAGE_BYTES);
    if (body === undefined) return refuse(413, `the body is larger than ${MAX_MESSAGE_BYTES} bytes`);
    const [read, ...others] = clientMessagesOf(body);
    if (read === undefined || others.length > 0)
      return refuse(400, 'send one message at a time: this proxy takes no batches');
    if (read.message === undefined) {
      new ClientReply(response).finish(read.refusal, 400);
      return undefined;
    }
    const named = headerOf(request, 'mcp-method');
    if (named !== undefined && named !== read.message.method)
      return refuse(400, 'the header mcp-method names another method than the body');
    return read.message;
  }

  async #decide(given: Exchange & { readonly message: Message }): Promise<void> {
    const { request, response, session, message } = given;
    const reply = new ClientReply(response);
    const { id, params } = message;
    const token = (params?._meta as { progressToken?: unknown } | undefined)?.progressToken;
    const asks = isRequest(message) && !session.expects(message.id);
    if (asks) {
      session.expect(message.id, token, reply);
      // A client cancels by going away.
      response.once('close', () => {
        if (!response.writableFinished) void session.session.fromClient(cancelled(id));
      });
    }
    const verdict = await session.session.fromClient(message);
    try {
      if (verdict.pass) await this.#forward({ request, response, session, body: writeMessage(message), reply });
      else if (verdict.send)
        await this.#forward({ request, response, session, body: writeMessage(verdict.send), reply });
      else if (verdict.answer) reply.finish(verdict.answer);
      else reply.end();
    } finally {
      if (asks) session.answered(message.id, token);
    }
  }

  async #forward({ request, response, session, body, reply = new ClientReply(response) }: Forwarded): Promise<void> {
    const { answer, stop } = await this.#upstream.send(request, body);
    response.once('close', stop);
    const named = headerOf(answer, 'mcp-session-id');
    if (named !== undefined) this.#sessions.name(named, session);
    // 404 is how a server says that it has no such session; 400 how some do.
    if (answer.statusCode === 404 || answer.statusCode === 400)
      await this.#sessions.refused(headerOf(request, 'mcp-session-id'), session);
    const type = headerOf(answer, 'content-type') ?? '';
    if (!response.headersSent)
      for (const [name, value] of this.#upstream.headersOf(answer)) response.setHeader(name, value);
    if (type.includes('text/event-stream')) return this.#stream(answer, { request, response, session, body, reply });
    const whole = await textWithin(answer, MAX_ANSWER_BYTES);
    if (whole === undefined) throw new Error(`the server's answer is larger than ${MAX_ANSWER_BYTES} bytes`);
    const isJson = type.includes('application/json');
    const status = answer.statusCode ?? 502;
    // A body that is no message answers nothing: a success without one would pass undecided.
    if (!isJson && (whole === '' || status >= 400)) {
      if (!response.headersSent) response.writeHead(status);
      if (!response.writableEnded) response.end(whole);
      return;
    }
    const messages = isJson ? serverMessagesOf(whole) : undefined;
    if (messages === undefined && status < 400) throw new Error('the server answered something that is no JSON-RPC');
    const texts: string[] = [];
    for (const { message, text } of messages ?? []) {
      const told = await this.#downwards(session, message, text);
      if (told !== undefined) texts.push(told);
    }
    if (response.writableEnded) return;
    if (response.headersSent) {
      for (const text of texts) reply.raw(`data: ${text}\n\n`);
      response.end();
      return;
    }
    response.writeHead(status);
    response.end(texts.length > 1 ? `[${texts.join(',')}]` : (texts[0] ?? ''));
  }

  async #stream(answer: IncomingMessage, { response, session, reply = new ClientReply(response) }: Forwarded) {
    if (!response.headersSent) response.writeHead(answer.statusCode ?? 200);
    response.flushHeaders();
    for await (const event of eventsOf(answer, MAX_ANSWER_BYTES)) {
      // Without data it keeps the connection, or names where a client may go on.
      const messages = event.data === '' ? [] : serverMessagesOf(event.data);
      if (messages === undefined) {
        this.#say('the server sent an event that is no JSON-RPC message; it was dropped');
        continue;
      }
      if (event.data === '') reply.raw(writeEvent(event, ''));
      for (const { message, text } of messages) {
        const told = await this.#downwards(session, message, text);
        if (response.writableEnded) return;
        if (told !== undefined) reply.raw(writeEvent(event, told));
      }
    }
    response.end();
  }

  /** What the client reads instead of a server's message; undefined: nothing. */
  async #downwards({ session, tellServer }: HttpSession, message: Message, text: string): Promise<string | undefined> {
    const verdict = await session.fromServer(message);
    if (verdict.pass) return text;
    if (verdict.answer !== undefined) tellServer(verdict.answer);
    return verdict.send === undefined ? undefined : writeMessage(verdict.send);
  }
}

interface Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly session: HttpSession;
}

interface Forwarded extends Exchange {
  readonly body: string;
  readonly reply?: ClientReply;
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
  return URL.canParse(origin) && isLoopback(new URL(origin).hostname);
}

/** A page whose name was pointed at this machine sends that name, and no origin where it only reads. */
function isLocalName(request: IncomingMessage, origins: readonly string[]): boolean {
  const name = `http://${headerOf(request, 'host') ?? ''}`;
  if (!URL.canParse(name)) return false;
  const { hostname } = new URL(name);
  const allowed = origins.filter((origin) => URL.canParse(origin)).map((origin) => new URL(origin).hostname);
  return isLoopback(hostname) || allowed.includes(hostname);
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost') || /^(127(\.\d{1,3}){3}|\[?::1\]?)$/.test(host);
}

function headerOf({ headers }: IncomingMessage, name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}
