import { once } from 'node:events';
import { stat } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createEgressClient } from './egress-client.ts';
import { createStreamingClient } from './streaming-client.ts';

/**
 * A server on a thread of its own, so that it closes its idle connection while the thread of the client is busy: when
 * the first number of `shared` is 1. It then sets it to 2. Answers with the number of the connection.
 */
const SERVER = `
const { createServer } = require('node:net');
const { parentPort, workerData } = require('node:worker_threads');
const state = new Int32Array(workerData);
let connections = 0;
let idle;
const server = createServer((socket) => {
  const number = String(++connections);
  idle = socket;
  socket.on('error', () => undefined);
  socket.on('data', () => socket.write('HTTP/1.1 200 OK\\r\\nkeep-alive: timeout=60\\r\\ncontent-length: 1\\r\\n\\r\\n' + number));
});
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
const check = () => {
  if (Atomics.load(state, 0) !== 1) return;
  clearInterval(timer);
  idle.once('close', () => {
    Atomics.store(state, 0, 2);
    Atomics.notify(state, 0);
  });
  idle.destroy();
};
const timer = setInterval(check, 1);
`;

const workers: Worker[] = [];
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.terminate()));
});

async function startServer() {
  const shared = new SharedArrayBuffer(4);
  const worker = new Worker(SERVER, { eval: true, workerData: shared });
  workers.push(worker);
  const [port] = (await once(worker, 'message')) as [number];
  const state = new Int32Array(shared);
  /** As a process that is short of CPU: the server closes, and what arrived about that was not read yet. */
  const closeUnseen = () => {
    Atomics.store(state, 0, 1);
    Atomics.wait(state, 0, 1);
  };
  return { url: `http://127.0.0.1:${port}/`, closeUnseen };
}

/** Calls back from the phase of the event loop in which it reads sockets, which the next check of sockets follows. */
function whileReading<T>(work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    stat('/', () => void work().then(resolve, reject));
  });
}

const POLICY = { allow: ['127.0.0.1/32'] };
const TIMEOUTS = { firstByteMs: 10_000, betweenChunksMs: 10_000 };

describe('a connection that the server closed while it was idle', () => {
  it('is not used for a long answer', async () => {
    const { url, closeUnseen } = await startServer();
    const client = createStreamingClient(POLICY);
    const post = async () => {
      const { signal } = new AbortController();
      const body = Buffer.from('{}');
      const answer = await client.open({ method: 'POST', url, headers: {}, body, timeouts: TIMEOUTS, signal });
      if (answer.kind !== 'answered') return answer.reason;
      let text = '';
      for await (const chunk of answer.body) text += String(chunk);
      return text;
    };
    expect(await post()).toBe('1');
    const next = await whileReading(() => {
      closeUnseen();
      return post();
    });
    expect(next).toBe('2');
    await client.close();
  });

  it('is not used for a short exchange', async () => {
    const { url, closeUnseen } = await startServer();
    const client = createEgressClient(POLICY);
    const post = async () => {
      const result = await client.send({ method: 'POST', url, headers: {}, body: '{}' });
      return result.kind === 'answered' ? String(result.body) : result.reason;
    };
    expect(await post()).toBe('1');
    const next = await whileReading(() => {
      closeUnseen();
      return post();
    });
    expect(next).toBe('2');
    await client.close();
  });
});
