import { connect } from '@nats-io/transport-node';
import fastify from 'fastify';

/**
 * The minimal handler of a decision: a separate process that parses the body and returns a constant, over HTTP and,
 * with the arguments `<NATS address> <subject>`, over NATS. Measures the cost of the machine and the protocols without
 * the platform.
 */
const ANSWER = { ok: true };
const [natsUrl, subject = ''] = process.argv.slice(2);

const server = fastify();
server.post('/*', async () => ANSWER);
await server.listen({ host: '127.0.0.1', port: 0 });
if (natsUrl !== undefined) {
  const connection = await connect({ servers: natsUrl });
  const encoded = JSON.stringify(ANSWER);
  connection.subscribe(subject, {
    callback: (_, message) => {
      message.respond(encoded);
    },
  });
  await connection.flush();
}
const [address] = server.addresses();
process.send?.(typeof address === 'object' ? address.port : undefined);
process.once('disconnect', () => process.exit(0));
