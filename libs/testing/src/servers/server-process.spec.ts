import { createServer } from 'node:net';
import { expect, it } from '@jest/globals';
import { freePort } from './server-process.ts';

it('finds a port that can be listened on, outside the range of outgoing connections', async () => {
  const port = await freePort();

  expect(port).toBeLessThan(32_768);
  await listening(port, () => undefined);
});

it('uses the wanted port if it is free, otherwise another', async () => {
  const wanted = await freePort();

  expect(await freePort(wanted)).toBe(wanted);
  await listening(wanted, async () => expect(await freePort(wanted)).not.toBe(wanted));
});

async function listening(port: number, during: () => unknown): Promise<void> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve));
  await during();
  await new Promise((resolve) => server.close(resolve));
}
