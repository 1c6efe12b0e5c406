import type { ServerResponse } from 'node:http';
import { type Message, writeMessage } from './json-rpc.ts';

const EVENTS = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' };

/** The answer to one request of a client: one message, or a stream of them that ends with it. */
export class ClientReply {
  readonly #response: ServerResponse;

  constructor(response: ServerResponse) {
    this.#response = response;
  }

  /** Something before the answer, such as progress: from now on the answer is a stream. */
  event(message: Message): void {
    this.raw(`data: ${writeMessage(message)}\n\n`);
  }

  raw(event: string): void {
    if (!this.#response.headersSent) this.#response.writeHead(200, EVENTS);
    if (!this.#response.writableEnded) this.#response.write(event);
  }

  /** The answer. */
  finish(message: Message, status = 200): void {
    if (this.#response.writableEnded) return;
    if (this.#response.headersSent) {
      this.event(message);
      this.#response.end();
      return;
    }
    this.#response.writeHead(status, { 'content-type': 'application/json' });
    this.#response.end(writeMessage(message));
  }

  end(): void {
    if (!this.#response.headersSent) this.#response.writeHead(202);
    this.#response.end();
  }
}
