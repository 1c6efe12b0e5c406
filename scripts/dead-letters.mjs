import './require-node.mjs';
import { connectNatsBus } from '@agentlens/messaging';
import { natsAddress, withoutPassword } from './distributed/nats-address.mjs';

// What consumer groups gave up on: list it, or send it again to the group that gave up.

const USAGE = `Usage:
  npm run dead-letters                            what every group gave up on
  npm run dead-letters -- GROUP                   what one group gave up on
  npm run dead-letters -- GROUP redrive MESSAGE   sends one message to that group again
NATS_URL names the server; by default the one of "npm run start:distributed", else nats://127.0.0.1:4222.`;

const [group, verb, messageId] = process.argv.slice(2);
if (group === '--help' || (verb !== undefined && (verb !== 'redrive' || messageId === undefined))) {
  console.error(USAGE);
  process.exit(group === '--help' ? 0 : 2);
}

const servers = natsAddress().split(',');
let bus;
try {
  bus = await connectNatsBus({ servers, name: 'dead-letters', connectTimeoutMs: 3_000 });
} catch (error) {
  console.error(
    `No NATS server with JetStream answers at ${servers.map(withoutPassword).join(', ')}: ${error.message}`,
  );
  console.error('Start the platform with "npm run start:distributed", or set NATS_URL to the address of your server.');
  process.exit(1);
}
try {
  if (verb === 'redrive') {
    if (await bus.redrive(group, messageId)) console.log(`sent again: ${messageId} to ${group}`);
    else {
      console.error(`not sent: ${group} has no dead letter ${messageId}. "npm run dead-letters" lists all there are.`);
      process.exitCode = 1;
    }
  } else {
    const letters = await bus.deadLetters(group);
    for (const letter of letters) {
      console.log(`${letter.failedAt}  ${letter.group}  ${letter.messageId}`);
      console.log(`    ${letter.subject}, ${letter.attempts} attempts: ${letter.reason}`);
    }
    const of = group === undefined ? '' : ` of ${group}`;
    console.log(`${letters.length || 'no'} dead letter${letters.length === 1 ? '' : 's'}${of}`);
  }
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  await bus.close();
}
