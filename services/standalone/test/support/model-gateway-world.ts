import { type FakeProvider, SAID, say, startFakeProvider } from '@agentlens/testing';
import { afterAll, beforeAll, beforeEach, expect } from '@jest/globals';
import { Client } from './client.ts';
import type { PlatformUnderTest } from './platform-under-test.ts';

export const MODEL = {
  anthropic: 'claude-sonnet-5',
  openai: 'gpt-4.1',
  responses: 'gpt-4.1',
  gemini: 'gemini-2.5-flash',
} as const;
export type Dialect = keyof typeof MODEL;
export const DIALECTS = ['anthropic', 'openai', 'responses', 'gemini'] as const;
export const PATHS: Readonly<Record<Dialect, string>> = {
  anthropic: '/gw/anthropic/v1/messages',
  openai: '/gw/openai/v1/chat/completions',
  responses: '/gw/openai/v1/responses',
  gemini: '/gw/gemini/v1beta/models/gemini-2.5-flash:generateContent',
};
export const REFUSED: Readonly<Record<Dialect, { readonly policy: number; readonly money: number }>> = {
  anthropic: { policy: 451, money: 402 },
  openai: { policy: 400, money: 402 },
  responses: { policy: 400, money: 400 },
  gemini: { policy: 400, money: 402 },
};
export const APIS = { anthropic: 'messages', openai: 'chat', responses: 'responses', gemini: 'generate' } as const;
export const KEY_HEADERS: Readonly<Record<Dialect, string>> = {
  anthropic: 'x-api-key',
  openai: 'authorization',
  responses: 'authorization',
  gemini: 'x-goog-api-key',
};

/** The path of a call. That of Gemini says whether its answer is a stream. */
export const findPath = (dialect: Dialect, streamed: boolean) =>
  streamed ? PATHS[dialect].replace(':generateContent', ':streamGenerateContent?alt=sse') : PATHS[dialect];

/** A short question. */
export function question(dialect: Dialect): object {
  const text = 'What is it?';
  if (dialect === 'gemini') return { contents: [{ role: 'user', parts: [{ text }] }] };
  const said = dialect === 'responses' ? { input: text } : { messages: [{ role: 'user', content: text }] };
  return { model: MODEL[dialect], ...said };
}

export function limitTokens(dialect: Dialect, tokens: number): object {
  if (dialect === 'gemini') return { generationConfig: { maxOutputTokens: tokens } };
  return { [dialect === 'responses' ? 'max_output_tokens' : 'max_tokens']: tokens };
}

export interface CallOptions {
  /** Members of the body; `stream` asks for a stream as the dialect does. */
  readonly body?: { readonly stream?: boolean } & Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly path?: string;
}

/** A whole platform and a fake provider, for the tests of one `describe`. */
export interface GatewayWorld {
  readonly platform: PlatformUnderTest;
  readonly provider: FakeProvider;
  /** A tenant with a connection of each dialect, and a key of the agent "bot". */
  readonly newTenant: () => Promise<{ readonly admin: Client; readonly key: string }>;
  readonly call: (dialect: Dialect, key: string, options?: CallOptions) => Promise<Response>;
}

export function startGatewayWorld(start: () => Promise<PlatformUnderTest>): GatewayWorld {
  let platform: PlatformUnderTest;
  let provider: FakeProvider;
  let tenants = 0;

  beforeAll(async () => {
    [platform, provider] = await Promise.all([start(), startFakeProvider()]);
  });
  beforeEach(() => provider.answer(say(SAID)));
  afterAll(async () => {
    await platform?.stop();
    await provider?.stop();
  });

  const newTenant = async () => {
    const admin = new Client(platform, (await platform.keyOf(`models-${++tenants}`, 'admin')).key);
    for (const [dialect, baseUrl] of [
      ['anthropic', provider.url],
      ['openai', `${provider.url}/v1`],
      ['gemini', provider.url],
    ]) {
      const body = { dialect, baseUrl, credential: `provider-key-${dialect}` };
      expect((await admin.put(`/api/model-connections/${dialect}`, body)).status).toBe(200);
    }
    const created = await admin.post('/api/keys', { scopes: ['model'], agents: ['bot'] });
    expect(created.status).toBe(201);
    return { admin, key: created.body.key as string };
  };

  const call = (
    dialect: Dialect,
    key: string,
    { body: { stream, ...body } = {}, headers = {}, path = findPath(dialect, stream === true) }: CallOptions = {},
  ): Promise<Response> =>
    fetch(`${platform.addressFor('POST', '/gw/')}${path}`, {
      method: 'POST',
      headers: {
        [KEY_HEADERS[dialect]]: KEY_HEADERS[dialect] === 'authorization' ? `Bearer ${key}` : key,
        'content-type': 'application/json',
        'anthropic-version': '2023-06-01',
        ...headers,
      },
      body: JSON.stringify({
        ...question(dialect),
        ...limitTokens(dialect, 100),
        ...(stream === true && dialect !== 'gemini' ? { stream } : {}),
        ...body,
      }),
    });

  return {
    newTenant,
    call,
    get platform() {
      return platform;
    },
    get provider() {
      return provider;
    },
  };
}

/** Reads a stream step by step. */
export function readText(answer: Response) {
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  const decoder = new TextDecoder();
  let text = '';
  const next = async () => {
    const { done, value } = await reader.read();
    text += decoder.decode(value, { stream: true });
    return done;
  };
  return {
    /** What comes next; undefined at the end. */
    next: async () => {
      const { done, value } = await reader.read();
      return done ? undefined : decoder.decode(value, { stream: true });
    },
    until: async (part: string) => {
      while (!text.includes(part)) if (await next()) throw new Error(`the stream ended without "${part}": ${text}`);
    },
    end: async () => {
      while (!(await next()));
      return text;
    },
    leave: () => reader.cancel(),
  };
}
