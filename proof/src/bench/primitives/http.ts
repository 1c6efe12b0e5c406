import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { Pool } from 'undici';
import type { Primitive } from './primitive.ts';
import { callTimes, HUNDRED_EVENTS, inFlight } from './sample.ts';

const CALLERS = 16;

/** A separate HTTP server process: CPU per request, and the time of one request. */
export async function measureHttp(milliseconds: number): Promise<readonly Primitive[]> {
  const server = fork(fileURLToPath(new URL('./http-server.ts', import.meta.url)));
  const [{ port }] = (await once(server, 'message')) as [{ readonly port: number }];
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: CALLERS });
  const post = (body: string) => async () => {
    const answer = await pool.request({
      ...{ method: 'POST', path: '/', body },
      headers: { 'content-type': 'application/json' },
    });
    await answer.body.dump();
  };
  const cpu = async (body: string) => {
    await inFlight(CALLERS, milliseconds / 2, post(body));
    const before = await cpuOf(server);
    const answered = await inFlight(CALLERS, milliseconds, post(body));
    return ((await cpuOf(server)) - before) / answered;
  };
  try {
    const empty = await cpu('{}');
    const hundred = await cpu(HUNDRED_EVENTS);
    const trip = await callTimes(milliseconds, post('{}'));
    return [
      { name: 'HTTP request, empty', unit: 'CPU µs', here: empty, there: 15.7 },
      { name: 'HTTP request, 100 events parsed', unit: 'CPU µs', here: hundred, there: 147 },
      { name: 'HTTP round trip, one at a time, p50', unit: 'ms', here: trip.middle, there: 0.045 },
    ];
  } finally {
    await pool.close();
    server.disconnect();
  }
}

async function cpuOf(server: ChildProcess): Promise<number> {
  const answer = once(server, 'message') as Promise<[{ readonly cpuMicros: number }]>;
  server.send('used');
  return (await answer)[0].cpuMicros;
}
