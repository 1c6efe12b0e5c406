import { eventually, startNats, type TestServer } from '@agentlens/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { connect } from '@nats-io/transport-node';
import { anotherServer } from './open-nats-bus.ts';

let servers: TestServer[];
beforeAll(async () => {
  servers = await Promise.all([startNats(), startNats()]);
});
afterAll(async () => {
  await Promise.all(servers.map((server) => server.stop()));
});

it('connects to a different server on every reconnect, including the first', async () => {
  const connection = await connect({ servers: servers.map(({ url }) => url), reconnectToServer: anotherServer });
  try {
    for (let move = 0; move < 3; move++) {
      const left = connection.info?.server_id;
      await connection.reconnect();
      await eventually(async () => {
        await connection.flush();
        expect(connection.info?.server_id).not.toBe(left);
      });
    }
  } finally {
    await connection.close();
  }
});
