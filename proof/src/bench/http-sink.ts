import type { AddressInfo } from 'node:net';
import { fastify } from 'fastify';

/** A process that parses request bodies and discards them. Reports its usage on request. */
const server = fastify({ bodyLimit: 2_000_000 });
server.post('/', (_, reply) => reply.code(202).send());
await server.listen({ port: 0, host: '127.0.0.1' });
process.on('message', () => {
  const { user, system } = process.cpuUsage();
  process.send?.({ cpuMicros: user + system });
});
process.send?.({ port: (server.server.address() as AddressInfo).port });
process.once('disconnect', () => process.exit(0));
