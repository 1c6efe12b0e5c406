import { createServer, type Server, type ServerResponse } from 'node:http';
import { createMemoryBus } from '@agentlens/messaging';
import type { KeyCheck } from '@agentlens/platform';
import { eventually, fixedClock } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LiveFeed } from './live-feed.ts';
import { FrameRoom } from './frame-queue.ts';
import { LiveStream } from './live-stream.ts';
import { SessionUpdates } from './session-updates.ts';

let server: Server;
let address: string;
/** Resolves with the response of the next request. */
let next = Promise.withResolvers<ServerResponse>();

beforeAll(async () => {
  server = createServer((_request, response) => next.resolve(response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const at = server.address();
  address = `http://127.0.0.1:${at !== null && typeof at === 'object' ? at.port : 0}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

async function anOpenFeed(stream: LiveStream): Promise<LiveFeed> {
  const feed = new LiveFeed({
    bus: createMemoryBus(),
    tenantId: 'acme',
    filter: {},
    // Only record frames need this; stream.int.spec.ts covers them.
    record: { follow: () => Promise.reject(new Error('not asked for')) },
    updates: new SessionUpdates({
      read: async () => [],
      show: () => undefined,
      onError: () => undefined,
      onDropped: () => undefined,
    }),
    emit: (frame) => stream.frames.push(frame),
  });
  await feed.open();
  return feed;
}

function aStream(check: () => KeyCheck) {
  const ended: LiveStream[] = [];
  const stream = new LiveStream({
    keyId: 'k',
    key: 'key',
    keys: { check: async () => check() },
    clock: fixedClock(),
    room: new FrameRoom().forKey('k'),
    onEnd: (gone) => ended.push(gone),
    onDropped: () => undefined,
  });
  return { stream, ended };
}

const caller = { tenantId: 'acme', keyId: 'k', scopes: ['read' as const], eventsPerSecond: 1 };

describe('a live stream', () => {
  it('releases everything if its reader left before it started', async () => {
    next = Promise.withResolvers();
    const abort = new AbortController();
    const request = fetch(address, { signal: abort.signal }).catch(() => undefined);
    const response = await next.promise;
    const closed = new Promise((resolve) => response.once('close', resolve));
    abort.abort();
    await request;
    await closed;
    const { stream, ended } = aStream(() => ({ kind: 'accepted', caller }));
    stream.start(await anOpenFeed(stream), response);
    expect(ended).toContain(stream);
  });

  it('does not start after it was closed', async () => {
    next = Promise.withResolvers();
    const request = fetch(address);
    const { stream, ended } = aStream(() => ({ kind: 'accepted', caller }));
    const feed = await anOpenFeed(stream);
    await stream.close('going down');
    stream.start(feed, await next.promise);
    expect(await (await request).text()).toBe('');
    expect(ended).toContain(stream);
  });

  it('stays open while keys cannot be checked and ends when the key is rejected', async () => {
    next = Promise.withResolvers();
    const request = fetch(address);
    let checks = 0;
    let verdict: KeyCheck = { kind: 'unavailable' };
    const { stream, ended } = aStream(() => {
      checks += 1;
      return verdict;
    });
    stream.start(await anOpenFeed(stream), await next.promise);
    await eventually(() => expect(checks).toBeGreaterThan(0));
    expect(ended).toEqual([]);
    verdict = { kind: 'refused', reason: 'revoked' };
    expect(await (await request).text()).toMatch(/event: heartbeat[\s\S]*event: closed/);
    expect(ended).toContain(stream);
  });
});
