import './require-node.mjs';
import { connect } from '@nats-io/transport-node';
import { natsAddress, natsConnection, withoutPassword } from './distributed/nats-address.mjs';

// `nats sub` for machines that lack the nats command line tool: prints subject, headers and body of what arrives.

const [subject = 'guardrail.triggered.>'] = process.argv.slice(2);
const servers = natsAddress();

let connection;
try {
  connection = await connect({ ...natsConnection(servers), timeout: 3_000 });
} catch (error) {
  console.error(`No NATS server answers at ${withoutPassword(servers)} (${error.message}).`);
  console.error('Start the platform with "npm run start:distributed", or set NATS_URL to the address of your server.');
  process.exit(1);
}
process.once('SIGINT', () => void connection.close());
console.error(`Listening on ${subject} at ${withoutPassword(servers)}; Ctrl-C ends it.`);
for await (const message of connection.subscribe(subject)) {
  console.log(message.subject);
  for (const key of message.headers?.keys() ?? []) console.log(`  ${key}: ${message.headers?.get(key)}`);
  console.log(`  ${message.string()}`);
}
