import { request as http, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';
import { request as https } from 'node:https';
import { type Message, writeMessage } from './json-rpc.ts';

/** Of one connection, not of what it is for. */
const HOP_BY_HOP = new Set([
  ...['connection', 'content-length', 'expect', 'host', 'keep-alive', 'origin', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'proxy-authorization', 'proxy-connection'],
]);
const CONNECT_MS = 10_000;

export interface UpstreamAnswer {
  readonly answer: IncomingMessage;
  /** Gives the request up. */
  readonly stop: () => void;
}

/** The server behind the proxy. */
export class Upstream {
  readonly #url: URL;

  constructor(url: URL) {
    this.#url = url;
  }

  /** A client's request, with its own headers. A tool may take long to answer; a connection may not. */
  send(from: IncomingMessage, body: string): Promise<UpstreamAnswer> {
    const headers: OutgoingHttpHeaders = Object.fromEntries(this.headersOf(from));
    // What it answers is read here.
    headers['accept-encoding'] = 'identity';
    delete headers['content-encoding'];
    if (body === '') delete headers['content-type'];
    else {
      headers['content-length'] = Buffer.byteLength(body);
      // The proxy wrote it as UTF-8, regardless of the client's header.
      headers['content-type'] = 'application/json';
    }
    const call = this.#url.protocol === 'https:' ? https : http;
    const request = call(this.#url, { method: from.method, headers });
    const late = () => request.destroy(new Error(`no connection to ${this.#url.origin} within ${CONNECT_MS} ms`));
    const timer = setTimeout(late, CONNECT_MS);
    request.once('socket', (socket) => {
      if (!socket.connecting) clearTimeout(timer);
      socket.once('connect', () => clearTimeout(timer));
    });
    return new Promise((resolve, reject) => {
      request.once('response', (answer) => resolve({ answer, stop: () => request.destroy() }));
      request.on('error', reject);
      request.once('close', () => clearTimeout(timer));
      request.end(body);
    });
  }

  /** Something the client did not say, in its name. No caller waits for the response. */
  tell(from: IncomingMessage, message: Message): void {
    void this.send(from, writeMessage(message)).then(
      ({ answer }) => answer.resume(),
      // The server is gone, and so is what it should stop.
      () => undefined,
    );
  }

  headersOf({ headers }: IncomingMessage): [string, string | string[]][] {
    return Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || HOP_BY_HOP.has(name) ? [] : [[name, value] as [string, string | string[]]],
    );
  }
}
