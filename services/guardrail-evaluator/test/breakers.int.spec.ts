import { COMMANDS } from '@agentlens/contracts';
import { openDatabase } from '@agentlens/database';
import { eventually } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import { BreakersRepository } from '../src/breakers/breakers.repository.ts';
import { replyValue } from './asking.ts';
import { aModelCall, anEventOfTheRun, decidingPlatform } from './deciding-platform.ts';

const platform = decidingPlatform();
const { newTenant, replica, stopAll, asking, limit, publish, runBreaker, settled } = platform;

describe('the breaker of a run', () => {
  it('counts events once, regardless of redelivery and of a crash of the evaluator', async () => {
    newTenant();
    await replica();
    await limit('tenant', platform.tenantId, { maxIterations: 100 });
    await stopAll();
    let deaths = 0;
    await replica(({ breakers }) => ({
      breakers: {
        read: breakers.read.bind(breakers),
        recorded: breakers.recorded.bind(breakers),
        watch: breakers.watch.bind(breakers),
        watched: breakers.watched.bind(breakers),
        write: async (...args) => {
          const written = await breakers.write(...args);
          deaths += 1;
          if (deaths === 1) throw new Error('killed after counting');
          return written;
        },
      },
    }));
    const events = [1, 2, 3].map((n) => aModelCall({ id: `${platform.tenantId}-${n}`, retryable: true }));
    await publish(...events);
    await settled();
    await publish(...events.toReversed());
    await publish(...events.slice(1), aModelCall({ id: `${platform.tenantId}-4` }));
    await settled();
    expect((await runBreaker())?.breaker.usage).toMatchObject({ tokens: 400, iterations: 4, costUsd: 2 });
    expect(deaths).toBeGreaterThan(1);
  });

  it('opens above its limit, not at it, is recorded and announced once, and can be reset', async () => {
    newTenant();
    const replicas = [await replica(), await replica()];
    await limit('run', 'run-1', { maxIterations: 2 });
    for (const { evaluator } of replicas) await evaluator.settings.reload(platform.tenantId);
    await publish(aModelCall(), aModelCall());
    await settled();
    expect((await asking({ phase: 'tool.before' })).verdict).toBe('ALLOW');
    const blocked = await asking({ phase: 'llm.before', tool: undefined });
    expect(blocked).toMatchObject({ verdict: 'BLOCK', control: 'TERMINATE', cause: { kind: 'LOCKDOWN' } });
    expect(blocked.message).toBe('The circuit breaker of this run is open: iterations');
    await Promise.all(Array.from({ length: 5 }, () => asking()));
    await eventually(() =>
      expect(platform.changes.filter((one) => one.tenantId === platform.tenantId)).toHaveLength(1),
    );
    const rows = await platform.harness.database.db
      .selectFrom('circuit_breakers')
      .selectAll()
      .where('tenant_id', '=', platform.tenantId)
      .execute();
    expect(rows).toMatchObject([{ scope: 'run', scope_id: 'run-1', state: { kind: 'open', reason: 'iterations' } }]);
    await replyValue(
      platform.harness.bus.request(COMMANDS.resetBreaker, {
        tenantId: platform.tenantId,
        scope: 'run',
        scopeId: 'run-1',
        by: 'ann',
      }),
    );
    expect((await asking({ phase: 'llm.before', tool: undefined })).verdict).toBe('ALLOW');
    await eventually(() =>
      expect(
        platform.changes.filter((one) => one.tenantId === platform.tenantId).map(({ state }) => state.kind),
      ).toEqual(['open', 'closed']),
    );
  });

  it('allows one probe across all replicas, whose success closes the breaker', async () => {
    newTenant();
    const replicas = [await replica(), await replica()];
    await limit('run', 'run-1', { maxIterations: 0, probeAfterSeconds: 1 });
    for (const { evaluator } of replicas) await evaluator.settings.reload(platform.tenantId);
    expect((await asking({ phase: 'llm.before', tool: undefined })).verdict).toBe('BLOCK');
    const calls = Array.from({ length: 8 }, (_, i) => `call-${i}`);
    const probe = await eventually(async () => {
      const answers = await Promise.all(calls.map((callId) => asking({ callId })));
      const allowed = answers.filter(({ verdict }) => verdict === 'ALLOW');
      expect(allowed).toHaveLength(1);
      return allowed[0];
    });
    expect((await asking({ callId: 'another' })).verdict).toBe('BLOCK');
    await publish(anEventOfTheRun({ kind: 'tool.completed', toolName: 'search', callId: probe?.callId }));
    await settled();
    expect((await runBreaker())?.breaker).toMatchObject({ state: { kind: 'closed' }, usage: { tokens: 0 } });
    expect((await asking({ callId: 'another' })).verdict).toBe('ALLOW');
  });

  it('uses the greater of what the agent and its events report, never the sum', async () => {
    newTenant();
    await replica();
    await limit('agent', 'agent-1', { maxTokens: 1_000, maxIterations: 100 });
    const metrics = { llm_tokens_in: 300, llm_tokens_out: 200 };
    expect((await asking({ metrics, callId: 'a' })).verdict).toBe('ALLOW');
    expect((await asking({ metrics, callId: 'a' })).verdict).toBe('ALLOW');
    await publish(aModelCall({ usage: { totalTokens: 500 } }));
    await settled();
    expect((await asking({ metrics, callId: 'b' })).verdict).toBe('ALLOW');
    expect((await asking({ metrics: { llm_tokens_in: 1 }, callId: 'c' })).message).toMatch(/open: tokens/);
  });

  it('by default stops a run that asks for decisions and ignores runs that never do', async () => {
    newTenant();
    await replica();
    await publish(...Array.from({ length: 52 }, () => aModelCall({ runId: 'silent', usage: { totalTokens: 1 } })));
    await settled();
    await asking();
    await eventually(async () => {
      await publish(aModelCall());
      await settled();
      expect((await runBreaker())?.breaker.usage.iterations).toBeGreaterThan(0);
    });
    await publish(...Array.from({ length: 52 }, () => aModelCall({ usage: { totalTokens: 1 } })));
    await publish(...Array.from({ length: 52 }, () => aModelCall({ runId: 'silent', usage: { totalTokens: 1 } })));
    await settled();
    expect((await runBreaker('silent'))?.breaker.state.kind).toBe('closed');
    expect((await asking()).message).toMatch(/open: iterations/);
    expect(
      platform.changes.filter((one) => one.tenantId === platform.tenantId).map(({ scopeId }) => scopeId),
    ).not.toContain('silent');
  });

  it('is restored as open from the record after Redis lost its data', async () => {
    newTenant();
    await replica();
    await limit('tenant', platform.tenantId, { maxIterations: 0 });
    await asking({ phase: 'llm.before', tool: undefined });
    await eventually(() =>
      expect(platform.changes.filter((one) => one.tenantId === platform.tenantId)).toHaveLength(1),
    );
    await platform.harness.flushRedis();
    await eventually(async () => expect((await asking()).message).toMatch(/open: iterations/));
  });

  it('of an agent opens on consecutive failures over its runs if limits are set', async () => {
    newTenant();
    await replica();
    await limit('agent', 'agent-1', { maxConsecutiveFailures: 2, maxIterations: 0, maxConfidenceDrop: null });
    const failing = (n: number) =>
      anEventOfTheRun({ kind: 'tool.completed', toolName: 'x', isError: true, runId: `other-${n}`, severity: 'error' });
    await publish(failing(1), failing(2));
    await settled();
    expect((await asking()).verdict).toBe('ALLOW');
    await publish(failing(3));
    await settled();
    expect((await asking()).message).toBe('The circuit breaker of this agent is open: failures');
  });

  /** A run whose breaker is open: 12 model calls of 10. */
  const openBreaker = async () => {
    newTenant();
    await replica();
    await limit('tenant', platform.tenantId, { maxIterations: 10 });
    await publish(...Array.from({ length: 12 }, () => aModelCall({ usage: { totalTokens: 1 } })));
    await settled();
    expect((await asking()).message).toMatch(/open: iterations/);
    const changes = () => platform.changes.filter((one) => one.tenantId === platform.tenantId);
    await eventually(() => expect(changes()).toMatchObject([{ state: { kind: 'open' }, limit: 10 }]));
    return changes;
  };

  it('closes only when its limit is raised above the usage, and continues counting', async () => {
    const changes = await openBreaker();
    await limit('agent', 'agent-1', { maxIterations: 12 });
    await limit('agent', 'someone-else', { maxIterations: 100 });
    expect((await asking()).message).toMatch(/open: iterations/);
    await limit('agent', 'agent-1', { maxIterations: 14 });
    expect((await asking()).verdict).toBe('ALLOW');
    await eventually(() => expect(changes().map(({ state }) => state.kind)).toEqual(['open', 'closed']));
    expect((await runBreaker())?.breaker.usage.iterations).toBe(12);
    await publish(...Array.from({ length: 3 }, () => aModelCall({ usage: { totalTokens: 1 } })));
    await settled();
    expect((await asking()).message).toMatch(/open: iterations/);
  });

  it('closes when the limits that kept it open are deleted', async () => {
    newTenant();
    await replica();
    await limit('agent', 'agent-1', { maxIterations: 2 });
    await publish(aModelCall(), aModelCall(), aModelCall());
    await settled();
    expect((await asking()).message).toMatch(/open: iterations/);
    const ref = { tenantId: platform.tenantId, scope: 'agent', scopeId: 'agent-1' } as const;
    const recorded = () => platform.changes.some((one) => one.tenantId === platform.tenantId);
    await eventually(() => expect(recorded()).toBe(true));
    await replyValue(platform.harness.bus.request(COMMANDS.deleteBreakerLimits, ref));
    expect((await asking()).verdict).toBe('ALLOW');
    expect(await platform.harness.bus.request(COMMANDS.deleteBreakerLimits, ref)).toMatchObject({
      ok: false,
      problem: { status: 404 },
    });
  });

  it('does not apply by default, even if it is open, if the tenant turned the default off', async () => {
    newTenant();
    const { evaluator } = await replica();
    await asking();
    await eventually(async () => {
      await publish(aModelCall({ usage: { totalTokens: 1 } }));
      await settled();
      expect((await asking()).message).toMatch(/open: iterations/);
    });
    const query = openDatabase({ url: platform.harness.databaseUrl, role: 'query', maxConnections: 1 });
    const created = { id: platform.tenantId, name: 'x', created_at: new Date().toISOString() };
    const row = { ...created, default_breaker: 'off' } as const;
    await query.db.insertInto('tenants').values(row).execute();
    await query.close();
    await evaluator.settings.reload(platform.tenantId);
    expect((await asking({ phase: 'llm.before', tool: undefined })).verdict).toBe('ALLOW');
    await limit('run', 'run-1', { maxIterations: 3 });
    expect((await asking({ phase: 'llm.before', tool: undefined })).message).toMatch(/open: iterations/);
  });

  it('notices that a tenant turned the default off, even if another tenant was read in between', async () => {
    newTenant();
    const database = openDatabase({
      url: platform.harness.databaseUrl,
      role: 'guardrail-evaluator',
      maxConnections: 1,
    });
    const query = openDatabase({ url: platform.harness.databaseUrl, role: 'query', maxConnections: 1 });
    const { limits } = new BreakersRepository(database, () => Date.now());
    const later = new Date(Date.now() + 60_000).toISOString();
    await limits.changedSince(later);
    const created = { id: platform.tenantId, name: 'x', created_at: new Date().toISOString() };
    await query.db
      .insertInto('tenants')
      .values({ ...created, default_breaker: 'off' })
      .execute();
    await limits.ofTenant('another');
    expect(await limits.changedSince(later)).toEqual([platform.tenantId]);
    expect(await limits.changedSince(later)).toEqual([]);
    expect(await limits.ofTenant(platform.tenantId)).toMatchObject({ defaultBreaker: 'off' });
    await Promise.all([database.close(), query.close()]);
  });

  it('rejects changes of limits for a version other than the current one', async () => {
    newTenant();
    await replica();
    const { bus } = platform.harness;
    const ref = { tenantId: platform.tenantId, scope: 'agent', scopeId: 'agent-1' } as const;
    const other = (currentVersion: number) => ({ ok: false, problem: { status: 412, currentVersion } });
    const set = (ifVersion: number | undefined, body: object) =>
      bus.request(COMMANDS.setBreakerLimits, { ...ref, ifVersion, body });
    expect(await set(1, {})).toMatchObject(other(0));
    const firsts = await Promise.all([set(0, { maxTokens: 1 }), set(0, { maxTokens: 2 })]);
    expect(firsts.filter(({ ok }) => ok)).toMatchObject([{ value: { version: 1 } }]);
    expect(firsts.filter(({ ok }) => !ok)).toMatchObject([other(1)]);
    expect(await set(1, { maxTokens: 7, maxIterations: 8 })).toMatchObject({ value: { maxTokens: 7, version: 2 } });
    const patch = (ifVersion: number | undefined, body: object) =>
      bus.request(COMMANDS.patchBreakerLimits, { ...ref, ifVersion, body });
    expect(await patch(1, { maxTokens: 9 })).toMatchObject(other(2));
    expect(await patch(2, { maxTokens: 9 })).toMatchObject({ value: { maxTokens: 9, maxIterations: 8, version: 3 } });
    expect(await set(undefined, {})).toMatchObject({ value: { maxIterations: 50, version: 4 } });
    expect(await bus.request(COMMANDS.deleteBreakerLimits, { ...ref, ifVersion: 3 })).toMatchObject(other(4));
    await replyValue(bus.request(COMMANDS.deleteBreakerLimits, { ...ref, ifVersion: 4 }));
    expect(await patch(undefined, { maxTokens: 9 })).toMatchObject({ ok: false, problem: { status: 404 } });
    // A version from before the deletion does not match the limits that were set afterwards.
    expect(await set(4, {})).toMatchObject(other(0));
    expect(await set(0, { maxTokens: 3 })).toMatchObject({ value: { maxTokens: 3, version: 6 } });
  });

  it('notices deleted limits without an announcement', async () => {
    newTenant();
    await replica();
    const ref = { tenantId: platform.tenantId, scope: 'agent', scopeId: 'agent-1' } as const;
    await limit('agent', 'agent-1', { maxIterations: 2 });
    const database = openDatabase({
      url: platform.harness.databaseUrl,
      role: 'guardrail-evaluator',
      maxConnections: 1,
    });
    const { limits } = new BreakersRepository(database, () => Date.now());
    expect((await limits.ofTenant(platform.tenantId))?.agents.get('agent-1')).toMatchObject({ maxIterations: 2 });
    const before = new Date().toISOString();
    await replyValue(platform.harness.bus.request(COMMANDS.deleteBreakerLimits, ref));
    expect(await limits.changedSince(before)).toContain(platform.tenantId);
    expect((await limits.ofTenant(platform.tenantId))?.agents.get('agent-1')).toBeUndefined();
    await database.close();
  });

  it('is not affected by an invalid part of its limits', async () => {
    newTenant();
    await replica();
    await limit('run', 'run-1', { maxTokens: 5 });
    const ref = { tenantId: platform.tenantId, scope: 'run', scopeId: 'run-1' } as const;
    const patched = (body: unknown) => platform.harness.bus.request(COMMANDS.patchBreakerLimits, { ...ref, body });
    expect(await patched({ maxTokns: 1 })).toMatchObject({ ok: false, problem: { status: 400 } });
    expect(await patched({ maxTokens: -1 })).toMatchObject({ problem: { details: [{ path: 'maxTokens' }] } });
    expect(await patched({})).toMatchObject({ value: { maxTokens: 5, maxIterations: 50 } });
  });

  it('rejects invalid limits and resets of unknown runs', async () => {
    newTenant();
    await replica();
    const set = (body: unknown) =>
      platform.harness.bus.request(COMMANDS.setBreakerLimits, {
        tenantId: platform.tenantId,
        scope: 'run',
        scopeId: 'run-1',
        body,
      });
    expect(await set({ maxTokens: -1 })).toMatchObject({
      ok: false,
      problem: { status: 400, details: [{ path: 'maxTokens' }] },
    });
    expect(await set({ maxTokns: 1 })).toMatchObject({ ok: false, problem: { status: 400 } });
    expect(
      await platform.harness.bus.request(COMMANDS.resetBreaker, {
        tenantId: platform.tenantId,
        scope: 'run',
        scopeId: 'nobody',
        by: 'ann',
      }),
    ).toMatchObject({ ok: false, problem: { status: 404 } });
  });
});
