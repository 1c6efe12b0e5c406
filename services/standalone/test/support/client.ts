import type { PlatformUnderTest } from './platform-under-test.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: specs read any JSON
  readonly body: any;
}

const MAX_RETRIES = 10;

/** Sends requests as `curl` would, with one key. */
export class Client {
  readonly #platform: Pick<PlatformUnderTest, 'addressFor'>;
  readonly #key: string;

  constructor(platform: Pick<PlatformUnderTest, 'addressFor'>, key: string) {
    this.#platform = platform;
    this.#key = key;
  }

  /** The answer unread, for bodies that are not JSON. */
  fetch(path: string): Promise<Response> {
    const headers = { authorization: `Bearer ${this.#key}` };
    return fetch(`${this.#platform.addressFor('GET', path)}${path}`, { headers });
  }

  get(path: string): Promise<Answer> {
    return this.send('GET', path);
  }

  post(path: string, body: unknown): Promise<Answer> {
    return this.send('POST', path, JSON.stringify(body));
  }

  put(path: string, body: unknown): Promise<Answer> {
    return this.send('PUT', path, JSON.stringify(body));
  }

  patch(path: string, body: unknown): Promise<Answer> {
    return this.send('PATCH', path, JSON.stringify(body));
  }

  delete(path: string, body?: unknown): Promise<Answer> {
    return this.send('DELETE', path, body === undefined ? undefined : JSON.stringify(body));
  }

  /**
   * Retries while the service that owns the changed data does not answer, which may take longer than the edge waits on
   * a busy machine. A change may then be made twice, so specs that count must check for that.
   */
  async send(method: string, path: string, text?: string, headers: Record<string, string> = {}): Promise<Answer> {
    const request = {
      method,
      headers: {
        authorization: `Bearer ${this.#key}`,
        ...(text === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: text,
    };
    for (let again = 0; ; again++) {
      const answer = await this.#ask(`${this.#platform.addressFor(method, path)}${path}`, request);
      const retryAfter = answer.headers.get('retry-after');
      if (answer.status !== 503 || retryAfter === null || again === MAX_RETRIES) return answer;
      await new Promise((resolve) => setTimeout(resolve, Number(retryAfter) * 1_000));
    }
  }

  async #ask(address: string, request: RequestInit): Promise<Answer> {
    const answer = await fetch(address, request);
    const body = await answer.text();
    return { status: answer.status, headers: answer.headers, body: body === '' ? null : JSON.parse(body) };
  }
}
