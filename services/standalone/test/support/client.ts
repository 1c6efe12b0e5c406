import type { PlatformUnderTest } from './platform-under-test.ts';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: specs read whatever JSON came
  readonly body: any;
}

/** Sends requests as `curl` would, with one key. */
export class Client {
  readonly #platform: Pick<PlatformUnderTest, 'addressFor'>;
  readonly #key: string;

  constructor(platform: Pick<PlatformUnderTest, 'addressFor'>, key: string) {
    this.#platform = platform;
    this.#key = key;
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

  delete(path: string): Promise<Answer> {
    return this.send('DELETE', path);
  }

  async send(method: string, path: string, text?: string, headers: Record<string, string> = {}): Promise<Answer> {
    const answer = await fetch(`${this.#platform.addressFor(method, path)}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${this.#key}`,
        ...(text === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: text,
    });
    const body = await answer.text();
    return { status: answer.status, headers: answer.headers, body: body === '' ? null : JSON.parse(body) };
  }
}
