import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

/** A Standard Webhooks receiver on loopback, as a customer would write one. */
export async function startWebhookReceiver(onDelivery) {
  const key = randomBytes(24);
  const server = createServer((request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      const genuine = isSigned(request.headers, body, key);
      response.writeHead(genuine ? 204 : 401).end();
      onDelivery({ genuine, id: request.headers['webhook-id'], body: JSON.parse(body) });
    });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/hooks/agentlens`,
    secret: `whsec_${key.toString('base64')}`,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function isSigned(headers, body, key) {
  const signed = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  const expected = createHmac('sha256', key).update(signed).digest();
  return String(headers['webhook-signature'])
    .split(' ')
    .filter((signature) => signature.startsWith('v1,'))
    .map((signature) => Buffer.from(signature.slice(3), 'base64'))
    .some((signature) => signature.length === expected.length && timingSafeEqual(signature, expected));
}
