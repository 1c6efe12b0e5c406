import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { eventually } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { ControlStream } from './control-stream.ts';

const listener = { tenantId: 'acme', agentId: 'bot', instanceId: undefined, mayReceive: () => true };

/** A stream to a client that opened it and reads nothing. */
async function unreadStream() {
  let cuts = 0;
  let ended = 0;
  const opened = Promise.withResolvers<ControlStream>();
  const server = createServer((_request, response) => {
    const stream = new ControlStream({
      ...{ listener, after: undefined, connection: undefined, key: 'key', clock: { now: () => 0 } },
      board: { follow: () => () => undefined, itemsFor: () => [], positionOf: () => NOWHERE } as never,
      listeners: { touch: () => undefined } as never,
      keys: { check: async () => ({ kind: 'refused' }) } as never,
      onEnd: () => (ended += 1),
      onCut: () => (cuts += 1),
    });
    stream.start(response);
    opened.resolve(stream);
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
  socket.on('error', () => undefined);
  socket.write('GET / HTTP/1.1\r\nhost: test\r\n\r\n');
  const close = async () => {
    socket.destroy();
    await new Promise((closed) => server.close(closed));
  };
  return { stream: await opened.promise, cuts: () => cuts, ended: () => ended, close };
}

const NOWHERE = { orders: 0, directives: 0, issuedAtMs: 0 };

describe('a control stream', () => {
  it('is closed if its client does not read, and counted once', async () => {
    const { stream, cuts, ended, close } = await unreadStream();
    const news = 'x'.repeat(64 * 1024);
    // More than the sockets can buffer.
    for (let n = 0; n < 1_000; n++) stream.send('rules', news);
    await eventually(() => expect(ended()).toBe(1));
    stream.send('rules', news);
    expect(cuts()).toBe(1);
    await close();
  });
});
