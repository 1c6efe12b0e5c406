import { guardrailTriggered } from '@agentlens/contracts';
import { ACK, connectNatsBus, type EventBus, type HandlingOutcome } from '@agentlens/messaging';
import { aTrigger, eventually, startNats } from '@agentlens/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { runCli } from '../run-cli.testing.ts';

type NatsServer = Awaited<ReturnType<typeof startNats>>;

describe('the commands that connect to NATS', () => {
  let server: NatsServer;
  let bus: EventBus;
  beforeAll(async () => {
    server = await startNats();
    bus = await connectNatsBus({ servers: server.url, name: 'spec', backOffMs: [5] });
  });
  afterAll(async () => {
    await bus?.close();
    await server?.stop();
  });

  const cli = (words: readonly string[], more: Parameters<typeof runCli>[1] = {}) =>
    runCli(words, { ...more, env: { NATS_URL: server.url } });

  it('list the dead letters of a group and redeliver one', async () => {
    const taken: string[] = [];
    let isMended = false;
    const poison: HandlingOutcome = { kind: 'poison', reason: 'cannot be stored' };
    await bus.consume(guardrailTriggered, { group: 'refusing' }, async (messages) => {
      taken.push(...messages.map(({ value }) => value.id));
      return messages.map(() => (isMended ? ACK : poison));
    });
    const trigger = aTrigger();
    await bus.publish(guardrailTriggered, trigger);
    await eventually(async () => expect(await bus.deadLetters('refusing')).toHaveLength(1));

    const listed = await cli(['dead-letters']);
    expect(listed).toMatchObject({ exitCode: 0, stderr: '' });
    expect(listed.stdout).toContain('cannot be stored');
    expect((await cli(['dead-letters', 'others'])).stderr).toBe('no dead letters of others\n');
    expect(JSON.parse((await cli(['dead-letters', 'refusing', '--json'])).stdout)).toMatchObject([
      { group: 'refusing', messageId: trigger.id },
    ]);

    isMended = true;
    expect(await cli(['dead-letters', 'redrive', 'refusing', 'no-such-id'])).toMatchObject({ exitCode: 5, stdout: '' });
    expect(await cli(['dead-letters', 'redrive', 'refusing', trigger.id])).toMatchObject({ exitCode: 0 });
    await eventually(() => expect(taken).toEqual([trigger.id, trigger.id]));
    expect((await cli(['dead-letters'])).stderr).toBe('no dead letters\n');
  });

  it('print published messages until interrupted', async () => {
    const interrupt = new AbortController();
    const printed: string[] = [];
    const running = cli(['nats-sub', 'guardrail.triggered.>', '--json'], {
      signal: interrupt.signal,
      onStdout: (text) => printed.push(text),
    });
    // A subscription receives only later messages, so publish until one arrives.
    await eventually(async () => {
      await bus.publish(guardrailTriggered, aTrigger());
      expect(printed.length).toBeGreaterThan(0);
    });
    interrupt.abort();
    expect((await running).exitCode).toBe(130);
    expect(JSON.parse(printed[0] ?? '')).toMatchObject({
      subject: expect.stringContaining('guardrail.triggered.acme.'),
      headers: { 'ce-type': ['dev.agentlens.guardrail.triggered.v1'] },
    });
  });

  it.each([[['dead-letters']], [['nats-sub']]])('%s: exits with 6 if no server answers', async (words) => {
    const { exitCode, stderr } = await runCli(words, { env: { NATS_URL: 'nats://me:secret@127.0.0.1:1' } });
    expect(exitCode).toBe(6);
    expect(stderr).toContain('No NATS server answers at nats://me:***@127.0.0.1:1');
  });
});
