import { type ControlOrder, controlOrdered, type Directive, directiveIssued } from '@agentlens/contracts';
import { createMemoryBus, type EventBus } from '@agentlens/messaging';
import { eventually, type FixedClock, fixedClock } from '@agentlens/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ControlBoard, RUN_ORDER_MS } from './control-board.ts';
import { advance, type ControlItem, formatPosition, NOTHING_TOLD, parsePosition } from './control-item.ts';

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

/** The tables, as a list each; `away` makes them refuse. */
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

describe('the board', () => {
  it('knows what was ordered before it started', async () => {
    tables.stored.push(anOrder({ scope: 'run', scopeId: 'r1', state: 'killed' }));
    tables.issued.push(aDirective());
    await board.onModuleInit();
    expect([kindOf('bot', 'r1'), kindOf('bot', 'r2'), kindOf('other', 'r2')]).toEqual(['killed', 'paused', 'none']);
  });

  it('follows what is ordered afterwards, for a run, an agent and a whole tenant', async () => {
    await board.onModuleInit();
    await bus.publish(controlOrdered, anOrder({ scope: 'run', scopeId: 'r1', state: 'killed' }));
    expect([kindOf('bot', 'r1'), kindOf('bot', 'r2')]).toEqual(['killed', 'none']);
    await bus.publish(controlOrdered, anOrder({ scope: 'tenant', scopeId: 'acme' }));
    expect([kindOf('anybody'), kindOf('bot', 'r1'), kindOf('anybody', undefined, 'globex')]).toEqual([
      'paused',
      'killed',
      'none',
    ]);
    await bus.publish(controlOrdered, anOrder({ scope: 'tenant', scopeId: 'acme', state: 'running', version: 2 }));
    expect(kindOf('anybody')).toBe('none');
  });

  it('keeps tenants apart, also where agents and runs have the same names', async () => {
    await board.onModuleInit();
    await bus.publish(directiveIssued, aDirective({ tenantId: 'globex' }));
    await bus.publish(controlOrdered, anOrder({ tenantId: 'globex', scope: 'run', scopeId: 'r1', state: 'killed' }));
    expect(kindOf('bot', 'r1')).toBe('none');
    expect(kindOf('bot', 'r1', 'globex')).toBe('killed');
  });

  it('ends with the newest version in whatever order and however often the versions are told', async () => {
    const states = ['paused', 'running', 'killed', 'running'] as const;
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray([0, 1, 2, 3, 0, 1, 2, 3], { minLength: 8 }), async (told) => {
        const own = createMemoryBus({ clock });
        const reader = new Tables();
        const half = Math.floor(told.length / 2);
        const version = (n: number) =>
          anOrder({ id: `v${n}-${serial}`, state: states[n] ?? 'running', version: n + 1, scopeId: 'agent' });
        reader.stored = told.slice(0, half).map(version);
        const one = new ControlBoard({ bus: own, clock, logger: silent, reader });
        await one.onModuleInit();
        for (const n of told.slice(half)) await own.publish(controlOrdered, version(n));
        expect(one.stateOf('acme', 'agent').kind).toBe('none');
        await one.beforeApplicationShutdown();
        await own.close();
      }),
      { numRuns: 50 },
    );
  });

  it('forgets orders for runs when they stand no longer, and those of agents and tenants never', async () => {
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

  it('lets go of what it holds as it compares itself with the tables', async () => {
    tables.away = true;
    await board.onModuleInit();
    await bus.publish(controlOrdered, anOrder({ scope: 'run', scopeId: 'r1', state: 'killed' }));
    expect(board.size).toBe(1);
    clock.advance(RUN_ORDER_MS + 1);
    tables.away = false;
    await eventually(() => expect(board.size).toBe(0));
  });

  it('goes by the bus while the tables are away, is not ready, and reads them when they are back', async () => {
    tables.away = true;
    tables.issued.push(aDirective({ agentId: 'stored' }));
    await board.onModuleInit();
    await bus.publish(controlOrdered, anOrder());
    expect([board.loaded, kindOf('bot'), kindOf('stored')]).toEqual([false, 'paused', 'none']);
    tables.away = false;
    await eventually(() => expect([board.loaded, kindOf('stored')]).toEqual([true, 'paused']));
  });
});

describe('what a process of an agent is told', () => {
  const toldIds = (items: readonly ControlItem[]) => items.map(({ value }) => value.id);

  it('is its directive, its orders, the tenant’s, and those of all runs; nothing else of other agents', async () => {
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
    expect(toldIds(board.itemsFor('acme', 'bot'))).toEqual(['d', 'tenant', 'run', 'own run', 'other run']);
  });

  it('leaves out what was lifted, unless the process may still believe in it', async () => {
    await board.onModuleInit();
    await bus.publish(controlOrdered, anOrder());
    const position = board.positionOf('acme', 'bot');
    await bus.publish(controlOrdered, anOrder({ id: 'lifted', state: 'running', version: 2 }));
    expect(board.itemsFor('acme', 'bot')).toEqual([]);
    expect(toldIds(board.itemsFor('acme', 'bot', position))).toEqual(['lifted']);
    expect(board.itemsFor('acme', 'bot', board.positionOf('acme', 'bot'))).toEqual([]);
  });

  it('after any position it reached is exactly the rest', async () => {
    await board.onModuleInit();
    for (let n = 0; n < 4; n++) {
      await bus.publish(controlOrdered, anOrder({ scope: 'run', scopeId: `r${n}`, state: 'killed' }));
      await bus.publish(directiveIssued, aDirective({ version: n + 1 }));
    }
    const all = board.itemsFor('acme', 'bot');
    let position = NOTHING_TOLD;
    for (const [index, item] of all.entries()) {
      position = advance(position, item);
      expect(board.itemsFor('acme', 'bot', parsePosition(formatPosition(position)) ?? undefined)).toEqual(
        all.slice(index + 1),
      );
    }
  });

  it('comes to it live, until it stops listening', async () => {
    await board.onModuleInit();
    const told: ControlItem[] = [];
    const stop = board.follow({ tenantId: 'acme', agentId: 'bot', notice: (item) => told.push(item) });
    await bus.publish(controlOrdered, anOrder({ id: 'live' }));
    await bus.publish(controlOrdered, anOrder({ id: 'other', scopeId: 'other' }));
    await bus.publish(directiveIssued, aDirective({ id: 'live-d' }));
    stop();
    await bus.publish(controlOrdered, anOrder({ version: 2, state: 'running' }));
    expect(toldIds(told)).toEqual(['live', 'live-d']);
  });
});

describe('a position', () => {
  it.each(['', '1-2', '1.2', '1.2-', '-1.2-3', '1.2-3\n', '99999999999999999.1-1', '9999999999999999.1-1'])(
    'is not read from %j',
    (text) => {
      expect(parsePosition(text)).toBeNull();
    },
  );
});
