import { readFile } from 'node:fs/promises';
import { guardrailTriggered } from '@agentlens/contracts';
import { aTrigger, eventually, startNats, type TestServer } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connect, type NatsConnection } from '@nats-io/transport-node';
import type { EventBus } from '../event-bus.ts';
import { connectNatsBus } from './connect-nats-bus.ts';

const SECRETS: Record<string, string> = {
  NATS_PLATFORM_USER: 'platform',
  NATS_PLATFORM_PASSWORD: 'platform-secret',
  NATS_TENANT_ACME_PASSWORD: 'acme-secret',
};

/** The accounts of the shipped file with the commented tenant example enabled and variables filled in. */
async function shippedAccounts(): Promise<string> {
  const file = await readFile(new URL('../../../../deploy/nats/server.conf', import.meta.url), 'utf8');
  const accounts = file.slice(file.indexOf('\naccounts {')).replaceAll('#| ', '');
  return accounts.replace(/\$(NATS_\w+)/g, (_, name: string) => `"${SECRETS[name]}"`);
}

describe('tenant user in deploy/nats/server.conf', () => {
  let server: TestServer;
  let bus: EventBus;
  let tenant: NatsConnection;

  beforeAll(async () => {
    server = await startNats({ config: await shippedAccounts() });
    const address = server.url.replace('://', `://platform:${SECRETS.NATS_PLATFORM_PASSWORD}@`);
    bus = await connectNatsBus({ servers: address, name: 'platform' });
    tenant = await connect({ servers: server.url, user: 'acme', pass: SECRETS.NATS_TENANT_ACME_PASSWORD });
  });

  afterAll(async () => {
    await tenant?.close();
    await bus?.close();
    await server?.stop();
  });

  async function refusalOf(subject: string, queue?: string): Promise<string> {
    return new Promise((resolve, reject) => {
      tenant.subscribe(subject, {
        queue,
        callback: (error) => (error ? resolve(error.message) : reject(new Error(`${subject} was delivered`))),
      });
    });
  }

  it.each(['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]'])(
    'leaves the platform user able to sign in at %s',
    async (host) => {
      const { port } = new URL(server.url);
      const servers = `nats://platform:${SECRETS.NATS_PLATFORM_PASSWORD}@${host}:${port}`;
      const opened = await connectNatsBus({ servers, name: 'platform' });
      expect(opened.healthy()).toBe(true);
      await opened.close();
    },
  );

  it('reads only its own triggers', async () => {
    const seen: string[] = [];
    tenant.subscribe('guardrail.triggered.acme.>', {
      callback: (_, message) => {
        seen.push(message.subject);
      },
    });
    await tenant.flush();
    await bus.publish(guardrailTriggered, aTrigger({ tenantId: 'globex' }));
    await bus.publish(guardrailTriggered, aTrigger());
    await eventually(() => expect(seen).toEqual(['guardrail.triggered.acme.rule-1']));
  });

  for (const subject of [
    'guardrail.triggered.globex.>',
    'guardrail.triggered.globex.rule-1',
    'guardrail.triggered.*.*',
    'guardrail.triggered.>',
    'guardrail.*.acme.rule-1',
    '*.triggered.acme.rule-1',
    'guardrail.>',
    'guardrail.rules.create',
    'agent.events.>',
    'agent.events.00.acme',
    'control.>',
    'dead.letter.>',
    'run.changed.globex',
    '$JS.>',
    '$JS.API.>',
    '$SYS.>',
    '_INBOX.>',
    '>',
  ]) {
    it(`may not subscribe to ${subject}`, async () => {
      expect(await refusalOf(subject)).toMatch(/permissions violation/i);
    });
  }

  it('may not bypass this with a queue group', async () => {
    expect(await refusalOf('guardrail.triggered.>', 'evaluators')).toMatch(/permissions violation/i);
  });

  it.each([
    '$JS.API.INFO',
    '$JS.API.STREAM.NAMES',
    '$JS.API.STREAM.MSG.GET.GUARDRAILS',
    '$JS.API.CONSUMER.CREATE.GUARDRAILS',
    '$JS.API.DIRECT.GET.GUARDRAILS',
    'guardrail.rules.create',
    'guardrail.triggered.acme.rule-1',
    'agent.events.00.acme',
  ])('may not publish to %s', async (subject) => {
    const refused: string[] = [];
    const status = tenant.status();
    const listening = (async () => {
      for await (const change of status) {
        if (change.type !== 'error') continue;
        refused.push(change.error.message);
        return;
      }
    })();
    const witness: string[] = [];
    const probe = await connect({ servers: server.url, user: 'platform', pass: SECRETS.NATS_PLATFORM_PASSWORD });
    for (const domain of ['guardrail.>', 'agent.>']) {
      probe.subscribe(domain, {
        callback: (_, message) => {
          witness.push(message.subject);
        },
      });
    }
    await probe.flush();
    tenant.publish(subject, '{}');
    await listening;
    await probe.flush();
    await probe.close();
    expect(refused.join()).toMatch(/permissions violation.*publish/i);
    expect(refused.join()).toContain(subject);
    expect(witness).toEqual([]);
  });

  it('needs its password', async () => {
    const guess = connect({ servers: server.url, user: 'acme', pass: 'guess', maxReconnectAttempts: 0 });
    await expect(guess).rejects.toThrow(/authorization/i);
    const anonymous = connect({ servers: server.url, maxReconnectAttempts: 0 });
    await expect(anonymous).rejects.toThrow(/authorization/i);
  });
});
