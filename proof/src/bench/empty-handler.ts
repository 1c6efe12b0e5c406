import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from '@nats-io/transport-node';

/**
 * The minimal handler of a decision: a separate process that reads the body and returns a constant, over HTTP and over
 * NATS. Measures the cost of the machine and the protocols without the platform.
 */
const ANSWER = JSON.stringify({ ok: true });
const [natsUrl = '', subject = ''] = process.argv.slice(2);

const server = createServer((request, response) => {
  request.resume().once('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end(ANSWER));
});
server.listen(0, '127.0.0.1');
const connection = await connect({ servers: natsUrl });
connection.subscribe(subject, {
  callback: (_, message) => {
    message.respond(ANSWER);
  },
});
await connection.flush();
process.send?.((server.address() as AddressInfo).port);
process.once('disconnect', () => process.exit(0));
