import { type GuardrailRule, rulesChanged } from '@agentlens/contracts';
import { createMemoryBus, type EventBus } from '@agentlens/messaging';
import { createLogger } from '@agentlens/platform';
import { aRule, eventually, fixedClock } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RuleLibrary } from './rule-library.ts';
import type { RuleMark } from './rules.repository.ts';

/** The table, as far as the library reads it. */
class Table {
  rules: GuardrailRule[] = [];
  deleted: RuleMark[] = [];
  reads = 0;
  /** Rules that were read because they changed. */
  readonly read: string[] = [];
  away = false;

  async all(): Promise<GuardrailRule[]> {
    if (this.away) throw new Error('Postgres is away');
    return this.rules;
  }

  async ofTenant(tenantId: string): Promise<GuardrailRule[]> {
    return this.rules.filter((rule) => rule.tenantId === tenantId);
  }

  async differences(tenantId: string, held: ReadonlyMap<string, { readonly version: number }>) {
    this.reads += 1;
    const rules = await this.ofTenant(tenantId);
    const changed = rules.filter(({ id, version }) => held.get(id)?.version !== version);
    this.read.push(...changed.map(({ id }) => id));
    return { ids: rules.map(({ id }) => id), changed };
  }

  async changedSince(): Promise<RuleMark[]> {
    const marks = this.rules.map(({ tenantId, id, version, updatedAt }) => ({
      ...{ tenantId, ruleId: id, version, updatedAt },
      deleted: false,
    }));
    return [...marks, ...this.deleted];
  }
}

let bus: EventBus;
let table: Table;
let library: RuleLibrary;
let clock: ReturnType<typeof fixedClock>;

beforeEach(() => {
  clock = fixedClock();
  bus = createMemoryBus();
  table = new Table();
  library = new RuleLibrary(table, bus, createLogger({ name: 'test', level: 'silent' }), clock);
});
afterEach(async () => {
  await library.stop();
  await bus.close();
});

const matching = (tenantId = 'acme') => library.book.matching(tenantId, 'a', 'custom.recorded').map(({ id }) => id);
const announce = (tenantId: string, version: string) =>
  bus.publish(rulesChanged, { tenantId, version, at: '2026-03-01T12:00:00.000Z' });

describe('RuleLibrary', () => {
  it('holds the enabled rules of every tenant', async () => {
    table.rules = [aRule({ id: 'r1' }), aRule({ id: 'r2', enabled: false }), aRule({ id: 'r3', tenantId: 'other' })];
    await library.start();
    expect([matching(), matching('other')]).toEqual([['r1'], ['r3']]);
  });

  it('leaves out only the rule that it cannot read', async () => {
    table.rules = [aRule({ id: 'odd', conditionType: 'unheard_of' }), aRule({ id: 'r1' })];
    await library.start();
    expect(matching()).toEqual(['r1']);
  });

  it('follows an announced change of one tenant', async () => {
    await library.start();
    table.rules = [aRule({ id: 'r1' }), aRule({ id: 'unannounced', tenantId: 'other' })];
    await announce('acme', 'v1');
    await eventually(() => expect(matching()).toEqual(['r1']));
    expect(matching('other')).toEqual([]);
  });

  it('reads only the changed rules of a tenant and keeps the rest', async () => {
    table.rules = [aRule({ id: 'r1' }), aRule({ id: 'r2' }), aRule({ id: 'r3' }), aRule({ id: 'r4', enabled: false })];
    await library.start();
    const [first] = library.book.matching('acme', 'a', 'custom.recorded');
    table.rules = [
      aRule({ id: 'r1' }),
      aRule({ id: 'r3', version: 2, enabled: false }),
      aRule({ id: 'r4', version: 2 }),
    ];
    await library.reload('acme');
    expect(matching()).toEqual(['r1', 'r4']);
    expect(library.book.matching('acme', 'a', 'custom.recorded')[0]).toBe(first);
    expect(table.read).toEqual(['r3', 'r4']);
  });

  it('keeps its index if an announcement brings no change', async () => {
    table.rules = [aRule({ id: 'r1' })];
    await library.start();
    const { book } = library;
    await library.reload('acme');
    expect(library.book).toBe(book);
    table.rules = [];
    await library.reload('acme');
    expect(matching()).toEqual([]);
  });

  it('finds new, changed and deleted rules by polling if they were not announced', async () => {
    table.rules = [aRule({ id: 'r1' }), aRule({ id: 'r2' })];
    await library.start();
    const [first, second] = table.rules;
    if (first === undefined || second === undefined) throw new Error('two rules');
    table.rules = [{ ...first, version: 2, enabled: false }, aRule({ id: 'r3' })];
    table.deleted = [{ tenantId: 'acme', ruleId: 'r2', version: 2, deleted: true, updatedAt: second.updatedAt }];
    await library.poll();
    expect(matching()).toEqual(['r3']);
  });

  it('does not read again if nothing changed', async () => {
    table.rules = [aRule(), aRule({ enabled: false })];
    await library.start();
    await library.poll();
    expect(table.reads).toBe(0);
  });

  it('serves many waiting requests with one read', async () => {
    await library.start();
    await Promise.all(Array.from({ length: 50 }, () => library.reload('acme')));
    expect(table.reads).toBeLessThanOrEqual(2);
  });

  it('can be started again if the first attempt failed', async () => {
    table.away = true;
    await expect(library.start()).rejects.toThrow('away');
    expect(library.loaded).toBe(false);
    table.away = false;
    table.rules = [aRule({ id: 'r1' })];
    await library.start();
    expect(matching()).toEqual(['r1']);
  });
});

it('evaluates a suspended rule again as soon as its suspension has ended', async () => {
  const until = new Date(clock.now() + 60_000).toISOString();
  table.rules = [aRule({ id: 'r', suspended: { until, reason: 'incident' } })];
  await library.start();
  await library.poll();
  expect(matching()).toEqual([]);
  clock.advance(60_000);
  await library.poll();
  await eventually(() => expect(matching()).toEqual(['r']));
});

it('does not wait for a poll until it evaluates a rule whose suspension ended', async () => {
  const until = new Date(Date.now() + 1_000).toISOString();
  table.rules = [aRule({ id: 'r', suspended: { until, reason: 'incident' } })];
  const logger = createLogger({ name: 'test', level: 'silent' });
  const days = 24 * 60 * 60_000;
  library = new RuleLibrary(table, bus, logger, { now: () => Date.now() }, days);
  await library.start();
  expect(matching()).toEqual([]);
  await eventually(() => expect(matching()).toEqual(['r']));
});
