import { connect, createServer } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { tcpProxy } from './tcp-proxy.ts';
import { eventually } from './time.ts';

describe('tcp proxy', () => {
  const closers: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  it('preserves the order of data when latency ends', async () => {
    let received = '';
    const server = createServer((socket) => {
      socket.setEncoding('utf8').on('data', (text: string) => {
        received += text;
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closers.push(() => new Promise((resolve) => server.close(resolve)));
    const address = server.address();
    const proxy = await tcpProxy(`tcp://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`);
    closers.push(() => proxy.close());
    const client = connect({ host: '127.0.0.1', port: proxy.port });
    closers.push(() => client.destroy());
    const sent = (text: string) => new Promise((resolve) => client.write(text, resolve));

    await sent('0');
    await eventually(() => expect(received).toBe('0'));
    proxy.mode('latency', 200);
    await sent('1');
    // The proxy has received the first part before its mode changes.
    await new Promise((resolve) => setTimeout(resolve, 50));
    proxy.mode('pass');
    await sent('2');
    await eventually(() => expect(received).toHaveLength(3));
    expect(received).toBe('012');
  });
});
