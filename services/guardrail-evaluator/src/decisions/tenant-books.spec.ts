import type { Budget, GuardrailRule, TenantBookAnswer } from '@agentlens/contracts';
import { aRule, fixedClock } from '@agentlens/testing';
import { describe, expect, it } from '@jest/globals';
import type { OpenBreakers } from '../breakers/breakers.repository.ts';
import type { TenantLimits } from '../breakers/limits.ts';
import { TenantBooks } from './tenant-books.ts';

const AT = '2026-03-01T12:00:00.000Z';
const BLOCKS = aRule({
  ...{ id: 'r1', conditionType: 'tool_name', conditionConfig: { operator: 'eq', value: 'pay' }, actionType: 'block' },
});
const OFF: GuardrailRule = { ...BLOCKS, id: 'r2', enabled: false };
const ON_EVENTS = aRule({ id: 'r3' });

/** What an evaluator has read, and what `reload` would read. */
function evaluator(stored: readonly GuardrailRule[] = [BLOCKS]) {
  const state = {
    stored,
    read: stored,
    limits: undefined as TenantLimits | undefined,
    budgets: [] as readonly Budget[],
    open: new Map() as OpenBreakers,
    resumesAtMs: null as number | null,
    storedReads: 0,
  };
  const same = async () => undefined;
  const books = new TenantBooks({
    rules: {
      decisionMarks: () => ({
        marks: state.read.map(({ id, version }) => `${id}@${version}`),
        resumesAtMs: state.resumesAtMs,
      }),
      stored: async () => {
        state.storedReads += 1;
        return [...state.stored];
      },
      reload: async () => {
        state.read = state.stored;
      },
    },
    limits: { of: () => state.limits, reload: same },
    budgets: { of: () => state.budgets, reload: same },
    open: { of: () => state.open, reload: same },
    clock: fixedClock(AT),
  });
  const ask = (fields: { haveVersion?: string; reread?: boolean } = {}) =>
    books.answer({ tenantId: 'acme', ...fields });
  return { state, ask };
}

function bookIn(answer: TenantBookAnswer) {
  if (answer.kind !== 'book') throw new Error(`expected a book, not ${answer.kind}`);
  return answer.book;
}

describe('the book of a tenant', () => {
  it('has the decision rules in force, and neither others nor those on events', async () => {
    const { ask } = evaluator([BLOCKS, OFF, ON_EVENTS]);
    expect(bookIn(await ask()).rules.map(({ id }) => id)).toEqual(['r1']);
  });

  it('has the same version on every evaluator, and is not sent again or read for a comparison', async () => {
    const [one, other] = [evaluator(), evaluator()];
    const { version } = bookIn(await one.ask());
    expect(bookIn(await other.ask()).version).toBe(version);
    expect(await one.ask({ haveVersion: version })).toEqual({ kind: 'unchanged', nowMs: Date.parse(AT) });
    expect(one.state.storedReads).toBe(1);
  });

  it('is read again for a gateway that received an announcement first', async () => {
    const { state, ask } = evaluator();
    const { version } = bookIn(await ask());
    state.stored = [{ ...BLOCKS, version: 2 }];
    expect((await ask({ haveVersion: version })).kind).toBe('unchanged');
    expect(bookIn(await ask({ haveVersion: version, reread: true })).rules).toMatchObject([{ version: 2 }]);
  });

  it('has another version after any part of it changed', async () => {
    const { state, ask } = evaluator();
    const versions = [bookIn(await ask()).version];
    const changes: (() => void)[] = [
      () => (state.limits = { agents: new Map(), runs: new Map(), defaultBreaker: 'off' }),
      () => (state.budgets = [{ enabled: true, scope: 'agent', scopeId: 'bot' } as Budget]),
      () => (state.open = new Map([['run/r', { state: { kind: 'open', openedAt: AT, reason: 'cost' }, version: 1 }]])),
      () => (state.resumesAtMs = Date.parse(AT) + 1_000),
    ];
    for (const change of changes) {
      change();
      versions.push(bookIn(await ask()).version);
    }
    expect(new Set(versions).size).toBe(5);
    expect(bookIn(await ask())).toMatchObject({
      budgets: [{ enabled: true, scope: 'agent', scopeId: 'bot' }],
      openBreakers: ['run/r'],
      endsAt: '2026-03-01T12:00:01.000Z',
    });
  });

  it('is not sent if it does not fit into a message', async () => {
    const rules = Array.from({ length: 900 }, (_, at) => ({ ...BLOCKS, id: `r${at}`, description: 'x'.repeat(1_000) }));
    expect((await evaluator(rules).ask()).kind).toBe('too_large');
  });
});
