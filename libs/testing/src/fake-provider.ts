import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type AnswerScript,
  findProviderCall,
  type ModelApi,
  writeStreamedAnswer,
  writeWholeAnswer,
} from '@agentlens/model-api';

/** A request as the provider received it. */
export interface ProviderRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** Answers one request, as a test needs it. */
export type ProviderAnswer = (request: ProviderRequest, response: ServerResponse) => void | Promise<void>;

/** A model provider on loopback that speaks the real APIs and gives the answers of a test. */
export interface FakeProvider {
  readonly url: string;
  readonly requests: readonly ProviderRequest[];
  /** Resolves when the next answer is left by its client before it ended. */
  left(): Promise<void>;
  /** Answers requests from now on. Without it, each gets a short text. */
  answer(how: ProviderAnswer): void;
  stop(): Promise<void>;
}

/** The default answer. */
export const SAID: Omit<AnswerScript, 'model'> = {
  id: 'answer-1',
  pieces: ['The answer ', 'is ', '42.'],
  inputTokens: 1_200,
  outputTokens: 8,
  cachedTokens: 1_000,
};

export async function startFakeProvider(): Promise<FakeProvider> {
  const requests: ProviderRequest[] = [];
  const leaving: (() => void)[] = [];
  let how: ProviderAnswer = sayShortly;
  const server = createServer((incoming, response) => {
    response.once('close', () => {
      if (!response.writableFinished) for (const resolve of leaving.splice(0)) resolve();
    });
    void receive(incoming).then((request) => {
      requests.push(request);
      return how(request, response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    left: () => new Promise((resolve) => leaving.push(resolve)),
    answer: (next) => {
      how = next;
    },
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function receive(incoming: IncomingMessage): Promise<ProviderRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const { method = '', url: path = '', headers } = incoming;
  return { method, path, headers, body: Buffer.concat(chunks) };
}

interface SentBody {
  readonly model: string;
  readonly stream?: boolean;
  readonly stream_options?: { readonly include_usage?: boolean };
}

/** The API of a request, and what its body asks for. */
export function readProviderRequest({ path, body }: ProviderRequest): { api: ModelApi; sent: SentBody } {
  const { api, addressed } = findProviderCall(path) ?? { api: 'chat' };
  const sent = JSON.parse(body.toString()) as SentBody;
  return { api, sent: addressed === undefined ? sent : { model: addressed.model, stream: addressed.streamed } };
}

/** Answers whole or streamed, as the request asks. */
export function say(script: Omit<AnswerScript, 'model'>): ProviderAnswer {
  return (request, response) => {
    const { api, sent } = readProviderRequest(request);
    const whole = { ...script, model: sent.model };
    if (sent.stream !== true) {
      response.writeHead(200, { 'content-type': 'application/json', 'request-id': 'req-1' });
      response.end(writeWholeAnswer(api, whole));
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'request-id': 'req-1' });
    response.end(writeStreamedAnswer(api, whole, sent.stream_options?.include_usage === true).join(''));
  };
}

const sayShortly = say(SAID);

/** Frames of a stream after its text. */
const AFTER_TEXT: Readonly<Partial<Record<ModelApi, number>>> = { messages: 3, chat: 2, responses: 4, generate: 1 };

/** Begins a stream, and leaves it open. */
export function beginStream(pieces: readonly string[]): ProviderAnswer {
  return (request, response) => {
    const { api, sent } = readProviderRequest(request);
    const frames = writeStreamedAnswer(api, { ...SAID, pieces, model: sent.model }, false);
    response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
    // Without what follows the text.
    const after = AFTER_TEXT[api] ?? 0;
    response.write(frames.slice(0, -after).join(''));
  };
}
