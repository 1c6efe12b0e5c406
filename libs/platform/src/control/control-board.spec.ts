import { type ControlOrder, controlOrdered, type Directive, directiveIssued } from '@agentlens/contracts';
import { createMemoryBus, type EventBus } from '@agentlens/messaging';
import { eventually, type FixedClock, fixedClock } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ControlBoard, RUN_ORDER_MS } from './control-board.ts';
import { advance, type ControlItem, formatPosition, parsePosition, START_POSITION } from './control-item.ts';

const NOW = '2026-03-01T12:00:00.000Z';
const silent = { warn: () => undefined, info: () => undefined };
let serial = 0;

function anOrder(fields: Partial<ControlOrder> = {}): ControlOrder {
  serial += 1;
  return {
    id: `order-${serial}`,
    tenantId: 'acme',
    scope: 'agent',
    scopeId: 'bot',
    state: 'paused',
    reason: 'because',
    by: 'ops',
    version: 1,
    issuedAt: NOW,
    ...fields,
  };
}
function aDirective(fields: Partial<Directive> = {}): Directive {
  serial += 1;
  const paused = { at: NOW, reason: 'too many errors' };
  return {
    id: `directive-${serial}`,
    tenantId: 'acme',
    agentId: 'bot',
    version: 1,
    paused,
    modelOverride: null,
    issuedAt: NOW,
    ...fields,
  };
}

/** In-memory tables. `away` makes them throw. */
class Tables {
  stored: ControlOrder[] = [];
  issued: Directive[] = [];
  away = false;
  orders = async (_since: string, runsSince: string): Promise<readonly ControlOrder[]> =>
    this.#answer(this.stored.filter(({ scope, issuedAt }) => scope !== 'run' || issuedAt > runsSince));
  directives = async (): Promise<readonly Directive[]> => this.#answer(this.issued);
  #answer<T>(rows: readonly T[]): readonly T[] {
    if (this.away) throw new Error('connect ECONNREFUSED');
    return rows;
  }
}

let clock: FixedClock;
let bus: EventBus;
let tables: Tables;
let board: ControlBoard;

beforeEach(() => {
  clock = fixedClock(NOW);
  bus = createMemoryBus({ clock });
  tables = new Tables();
  board = new ControlBoard({ bus, clock, logger: silent, reader: tables, retryMs: 5 });
});
afterEach(async () => {
  await board.beforeApplicationShutdown();
  await bus.close();
});

const kindOf = (agentId = 'bot', runId?: string, tenantId = 'acme') => board.stateOf(tenantId, agentId, runId).kind;

describe('control board', () => {
  it('knows orders from before it started', async () => {
    tables.stored.push(anOrder({ scope: 'run', scopeId: 'r1', state: 'killed' }));
    tables.issued.push(aDirective());
    await board.onModuleInit();
    expect([kindOf('bot', 'r1'), kindOf('bot', 'r2'), kindOf('other', 'r2')]).toEqual(['killed', 'paused', 'none']);
  });

  it('follows new orders for a run, an agent and a whole tenant', async () => {
    await board.onModuleInit();
    await bus.publish(controlOrdered, anOrder({ scope: 'run', scopeId: 'r1', state: 'killed' }));
    expect([kindOf('bot', 'r1'), kindOf('bot', 'r2')]).toEqual(['killed', 'none']);
    await bus.publish(controlOrdered, anOrder({ scope: 'tenant', scopeId: 'acme' }));
    expect([kindOf('any-agent'), kindOf('bot', 'r1'), kindOf('any-agent', undefined, 'globex')]).toEqual([
      'paused',
      'killed',
      'none',
    ]);
    await bus.publish(controlOrdered, anOrder({ scope: 'tenant', scopeId: 'acme', state: 'running', version: 2 }));
    expect(kindOf('any-agent')).toBe('none');
  });

  it('separates tenants, even if agents and runs have the same names', async () => {
    await board.onModuleInit();
    await bus.publish(directiveIssued, aDirective({ tenantId: 'globex' }));
    await bus.publish(controlOrdered, anOrder({ tenantId: 'globex', scope: 'run', scopeId: 'r1', state: 'killed' }));
    expect(kindOf('bot', 'r1')).toBe('none');
    expect(kindOf('bot', 'r1', 'globex')).toBe('killed');
  });

  it('ends with the newest version for any order and repetition of versions', async () => {
    const states = ['paused', 'running', 'killed', 'running'] as const;
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray([0, 1, 2, 3, 0, 1, 2, 3], { minLength: 8 }), async (received) => {
        const own = createMemoryBus({ clock });
        const reader = new Tables();
        const half = Math.floor(received.length / 2);
        const version = (n: number) =>
          anOrder({ id: `v${n}-${serial}`, state: states[n] ?? 'running', version: n + 1, scopeId: 'agent' });
        reader.stored = received.slice(0, half).map(version);
        const one = new ControlBoard({ bus: own, clock, logger: silent, reader });
        await one.onModuleInit();
        for (const n of received.slice(half)) await own.publish(controlOrdered, version(n));
        expect(one.stateOf('acme', 'agent').kind).toBe('none');
        await one.beforeApplicationShutdown();
        await own.close();
      }),
      { numRuns: 50 },
    );
  });

  it('evicts expired orders for runs, and never those for agents and tenants', async () => {
    const killed = (n: number) => anOrder({ scope: 'run', scopeId: `r${n}`, state: 'killed' });
    await board.onModuleInit();
    tables.stored.push(killed(0));
    for (let n = 1; n < 100; n++) await bus.publish(controlOrdered, killed(n));
    await bus.publish(controlOrdered, anOrder({ scope: 'run', scopeId: 'r1', state: 'running', version: 2 }));
    await bus.publish(controlOrdered, anOrder({ state: 'killed' }));
    expect([board.size, kindOf('other', 'r7')]).toEqual([100, 'killed']);
    clock.advance(RUN_ORDER_MS);
    const later = new ControlBoard({ bus, clock, logger: silent, reader: tables });
    await later.onModuleInit();
    expect([later.size, later.stateOf('acme', 'other', 'r7').kind]).toEqual([99, 'killed']);
    await later.beforeApplicationShutdown();
    clock.advance(1);
    const last = new ControlBoard({ bus, clock, logger: silent, reader: tables });
    await last.onModuleInit();
    expect([last.size, last.stateOf('acme', 'bot').kind, last.stateOf('acme', 'other', 'r7').kind]).toEqual([
      ...[1, 'killed', 'none'],
    ]);
    await last.beforeApplicationShutdown();
  });

  it('evicts expired orders when it compares itself with the tables', async () => {
    tables.away = true;
    await board.onModuleInit();
    await bus.publish(controlOrdered, anOrder({ scope: 'run', scopeId: 'r1', state: 'killed' }));
    expect(board.size).toBe(1);
    clock.advance(RUN_ORDER_MS + 1);
    tables.away = false;
    await eventually(() => expect(board.size).toBe(0));
  });

  it('uses the bus while the tables are unavailable, is not ready, and reads them when they are back', async () => {
    tables.away = true;
    tables.issued.push(aDirective({ agentId: 'stored' }));
    await board.onModuleInit();
    await bus.publish(controlOrdered, anOrder());
    expect([board.loaded, kindOf('bot'), kindOf('stored')]).toEqual([false, 'paused', 'none']);
    tables.away = false;
    await eventually(() => expect([board.loaded, kindOf('stored')]).toEqual([true, 'paused']));
  });
});

describe('the control items for a process of an agent', () => {
  const idsOf = (items: readonly ControlItem[]) => items.map(({ value }) => value.id);

  it("are its directive, its orders, the tenant's, and those of all runs, without items of other agents", async () => {
    await board.onModuleInit();
    await bus.publish(directiveIssued, aDirective({ id: 'd' }));
    await bus.publish(controlOrdered, anOrder({ id: 'tenant', scope: 'tenant', scopeId: 'acme' }));
    await bus.publish(controlOrdered, anOrder({ id: 'run', scope: 'run', scopeId: 'r1', state: 'killed' }));
    const ofRun = { scope: 'run', state: 'killed' } as const;
    await bus.publish(controlOrdered, anOrder({ id: 'own run', ...ofRun, scopeId: 'r2', agentId: 'bot' }));
    await bus.publish(controlOrdered, anOrder({ id: 'other run', ...ofRun, scopeId: 'r3', agentId: 'other' }));
    expect([kindOf('bot', 'r3'), kindOf('other', 'r3')]).toEqual(['killed', 'killed']);
    await bus.publish(controlOrdered, anOrder({ id: 'other', scopeId: 'other' }));
    await bus.publish(directiveIssued, aDirective({ id: 'other-d', agentId: 'other' }));
    await bus.publish(controlOrdered, anOrder({ id: 'foreign', tenantId: 'globex' }));
    expect(idsOf(board.itemsFor('acme', 'bot'))).toEqual(['d', 'tenant', 'run', 'own run', 'other run']);
  });

  it('leave out lifted items, unless the process may still apply them', async () => {
    await board.onModuleInit();
    await bus.publish(controlOrdered, anOrder());
    const position = board.positionOf('acme', 'bot');
    await bus.publish(controlOrdered, anOrder({ id: 'lifted', state: 'running', version: 2 }));
    expect(board.itemsFor('acme', 'bot')).toEqual([]);
    expect(idsOf(board.itemsFor('acme', 'bot', position))).toEqual(['lifted']);
    expect(board.itemsFor('acme', 'bot', board.positionOf('acme', 'bot'))).toEqual([]);
  });

  it('after any position are exactly the remaining ones', async () => {
    await board.onModuleInit();
    for (let n = 0; n < 4; n++) {
      await bus.publish(controlOrdered, anOrder({ scope: 'run', scopeId: `r${n}`, state: 'killed' }));
      await bus.publish(directiveIssued, aDirective({ version: n + 1 }));
    }
    const all = board.itemsFor('acme', 'bot');
    let position = START_POSITION;
    for (const [index, item] of all.entries()) {
      position = advance(position, item);
      expect(board.itemsFor('acme', 'bot', parsePosition(formatPosition(position)) ?? undefined)).toEqual(
        all.slice(index + 1),
      );
    }
  });

  it('are delivered live until it stops following', async () => {
    await board.onModuleInit();
    const received: ControlItem[] = [];
    const stop = board.follow({ tenantId: 'acme', agentId: 'bot', notice: (item) => received.push(item) });
    await bus.publish(controlOrdered, anOrder({ id: 'live' }));
    await bus.publish(controlOrdered, anOrder({ id: 'other', scopeId: 'other' }));
    await bus.publish(directiveIssued, aDirective({ id: 'live-d' }));
    stop();
    await bus.publish(controlOrdered, anOrder({ version: 2, state: 'running' }));
    expect(idsOf(received)).toEqual(['live', 'live-d']);
  });
});

describe('a position', () => {
  it.each(['', '1-2', '1.2', '1.2-', '-1.2-3', '1.2-3\n', '99999999999999999.1-1', '9999999999999999.1-1'])(
    'is null for %j',
    (text) => {
      expect(parsePosition(text)).toBeNull();
    },
  );
});
