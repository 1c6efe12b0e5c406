import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A model provider that answers chat completions at once, in a process of its own: whole, as a stream of 100 chunks, or,
 * for the models "endless" and "slow-endless", as a stream that goes on until it is closed.
 */
const USAGE = { prompt_tokens: 600, completion_tokens: 100, total_tokens: 700 };
const EVERY_MS = 100;
/** For so many streams that they would otherwise use all CPU. */
const SLOWLY_EVERY_MS = 2_000;
const CHUNKS = 100;

const base = { id: 'chatcmpl-1', created: 1_760_000_000, model: 'gpt-4.1' };
const whole = Buffer.from(
  JSON.stringify({
    ...base,
    object: 'chat.completion',
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'word '.repeat(CHUNKS) },
        logprobs: null,
        finish_reason: 'stop',
      },
    ],
    usage: USAGE,
  }),
);
const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const word = chunk({ content: 'word ' });
const ending = `${chunk({}, 'stop')}data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', choices: [], usage: USAGE })}\n\ndata: [DONE]\n\n`;

const STREAM = { 'content-type': 'text/event-stream; charset=utf-8' };

const server = createServer((request, response) => {
  const parts: Buffer[] = [];
  request.on('data', (part: Buffer) => parts.push(part));
  request.on('end', () => {
    if (request.method !== 'POST' || parts.length === 0) {
      // A gateway that looks whether the address answers.
      response.writeHead(404).end();
      return;
    }
    const body = JSON.parse(Buffer.concat(parts).toString()) as { readonly model: string; readonly stream?: boolean };
    if (body.stream !== true) {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': whole.length });
      response.end(whole);
    } else if (body.model.endsWith('slow-endless')) goOn(response, SLOWLY_EVERY_MS);
    else if (body.model.endsWith('endless')) goOn(response, EVERY_MS);
    else streamAtOnce(response);
  });
});

function streamAtOnce(response: ServerResponse): void {
  response.writeHead(200, STREAM);
  for (let sent = 0; sent < CHUNKS; sent++) response.write(word);
  response.end(ending);
}

function goOn(response: ServerResponse, everyMs: number): void {
  response.writeHead(200, STREAM);
  response.write(word);
  const timer = setInterval(() => response.write(word), everyMs);
  response.once('close', () => clearInterval(timer));
}

server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
process.once('disconnect', () => process.exit(0));
