import './require-node.mjs';
import { connect } from '@nats-io/transport-node';

// `nats sub` for machines that lack the nats command line tool: prints subject, headers and body of what arrives.

const [subject = 'guardrail.triggered.>'] = process.argv.slice(2);
const servers = process.env.NATS_URL ?? 'nats://127.0.0.1:4222';

let connection;
try {
  connection = await connect({ servers, timeout: 3_000 });
} catch (error) {
  console.error(`No NATS server answers at ${servers} (${error.message}).`);
  console.error('Start the platform with "npm run start:distributed", or set NATS_URL to the address it printed.');
  process.exit(1);
}
process.once('SIGINT', () => void connection.close());
console.error(`Listening on ${subject} at ${servers}; Ctrl-C ends it.`);
for await (const message of connection.subscribe(subject)) {
  console.log(message.subject);
  for (const key of message.headers?.keys() ?? []) console.log(`  ${key}: ${message.headers?.get(key)}`);
  console.log(`  ${message.string()}`);
}
