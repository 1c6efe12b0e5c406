import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FairTurns } from './fair-turns.ts';

/** Requests per tenant in the property. */
const EACH = 60;

/** Does the work of a request in its turn. */
async function inTurn<T>(turns: FairTurns, tenantId: string, events: number, work: () => Promise<T>): Promise<T> {
  const turn = turns.begin(tenantId, events);
  const end = typeof turn === 'function' ? turn : await turn;
  try {
    return await work();
  } finally {
    end();
  }
}

/** Requests whose work ends when the spec decides. */
class Requests {
  readonly begun: string[] = [];
  readonly #ends: { readonly tenantId: string; readonly events: number; readonly end: () => void }[] = [];
  readonly #all: Promise<void>[] = [];

  #onBegin: (tenantId: string) => void = () => undefined;

  constructor(readonly turns = new FairTurns({ maxTurnMs: 60_000 })) {}

  send(tenantId: string, events: number): void {
    const work = async () => {
      this.#onBegin(tenantId);
      this.begun.push(tenantId);
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#ends.push({ tenantId, events, end: resolve });
      await promise;
    };
    this.#all.push(inTurn(this.turns, tenantId, events, work));
  }

  inHand(tenantId: string): number {
    return this.#ends.filter((one) => one.tenantId === tenantId).reduce((sum, { events }) => sum + events, 0);
  }

  begunOf(tenantId: string): number {
    return this.begun.filter((one) => one === tenantId).length;
  }

  async end(at = 0, onBegin: (tenantId: string) => void = () => undefined): Promise<void> {
    this.#onBegin = onBegin;
    this.#ends.splice(at % Math.max(1, this.#ends.length), 1)[0]?.end();
    await this.settle();
  }

  /** Waits until no further request starts. */
  async settle(): Promise<void> {
    for (let before = -1; before !== this.begun.length; ) {
      before = this.begun.length;
      for (let turn = 0; turn < 3; turn++) await nextTurn();
    }
  }

  async finish(): Promise<void> {
    await this.settle();
    while (this.#ends.length > 0) await this.end();
    await Promise.all(this.#all);
  }
}

describe('FairTurns', () => {
  it('starts at once for a tenant without events in progress, regardless of the backlog of another', async () => {
    const requests = new Requests();
    for (let i = 0; i < 32; i++) requests.send('loud', 100);
    await requests.settle();
    requests.send('quiet', 1);
    expect(requests.begun.at(-1)).toBe('quiet');
    await requests.finish();
  });

  it('limits the events in progress of a tenant while others are active, and raises the limit when they have gone', async () => {
    let nowMs = 0;
    const requests = new Requests(new FairTurns({ maxTurnMs: 60_000, nowMs: () => nowMs }));
    requests.send('quiet', 1);
    for (let i = 0; i < 32; i++) requests.send('loud', 100);
    await requests.settle();
    expect(requests.begunOf('loud')).toBe(2);
    nowMs += 2_000;
    await requests.end();
    expect(requests.begunOf('loud')).toBe(8);
    await requests.finish();
    expect(requests.begunOf('loud')).toBe(32);
  });

  it('gives a request larger than the limit its own turn', async () => {
    const requests = new Requests();
    requests.send('loud', 1_000);
    requests.send('loud', 1);
    await requests.settle();
    expect(requests.begunOf('loud')).toBe(1);
    await requests.end();
    expect(requests.begunOf('loud')).toBe(2);
    await requests.finish();
  });

  it('ends a turn once, even if it is ended again', async () => {
    const turns = new FairTurns({ maxTurnMs: 60_000 });
    const end = await turns.begin('loud', 1_000);
    end();
    end();
    const requests = new Requests(turns);
    for (let i = 0; i < 2; i++) requests.send('loud', 1_000);
    await requests.settle();
    expect(requests.begunOf('loud')).toBe(1);
    await requests.end();
    expect(requests.begunOf('loud')).toBe(2);
    await requests.finish();
  });

  it('ends the turn while the work waits for a store', async () => {
    const requests = new Requests(new FairTurns({ maxTurnMs: 1 }));
    requests.send('loud', 1_000);
    const next = Promise.withResolvers<void>();
    const second = inTurn(requests.turns, 'loud', 1_000, async () => next.resolve());
    await next.promise;
    await second;
    await requests.finish();
  });

  it('is full only for the tenants with the largest backlog', async () => {
    const requests = new Requests();
    for (let i = 0; i < 250; i++) requests.send('loud', 100);
    for (let i = 0; i < 5; i++) requests.send('other', 100);
    await requests.settle();
    expect(requests.turns.isFull('loud')).toBe(true);
    expect(requests.turns.isFull('other')).toBe(false);
    expect(requests.turns.isFull('quiet')).toBe(false);
    await requests.finish();
    expect(requests.turns.isFull('loud')).toBe(false);
  });

  it('is full if the backlog takes too long at the current queue speed', async () => {
    let nowMs = 0;
    const requests = new Requests(new FairTurns({ maxTurnMs: 60_000, nowMs: () => nowMs }));
    for (let i = 0; i < 35; i++) requests.send('slow', 100);
    await requests.settle();
    expect(requests.turns.isFull('slow')).toBe(false);
    // A hundred events every 200 ms, with a backlog of more than 300 ms behind them.
    for (let i = 0; i < 10; i++) {
      nowMs += 200;
      await requests.end();
    }
    expect(requests.turns.isFull('slow')).toBe(true);
    expect(requests.turns.isFull('quiet')).toBe(false);
    await requests.finish();
    expect(requests.turns.isFull('slow')).toBe(false);
  });

  it('rotates if more tenants wait than have room', async () => {
    const requests = new Requests();
    const tenants = Array.from({ length: 30 }, (_, i) => `t${i}`);
    for (const tenantId of tenants) for (let i = 0; i < 10; i++) requests.send(tenantId, 100);
    await requests.settle();
    for (let ended = 0; ended < 60; ended++) await requests.end();
    for (const tenantId of tenants) expect(requests.begunOf(tenantId)).toBeGreaterThan(0);
    await requests.finish();
  });

  it('lets no request overtake those that wait for room', async () => {
    const requests = new Requests();
    for (let i = 0; i < 12; i++) requests.send(`first${i}`, 100);
    requests.send('waiting', 100);
    await requests.settle();
    const ended = requests.end();
    // There is room at this point, but the next turn of the event loop has not run.
    for (let i = 0; i < 20; i++) await Promise.resolve();
    requests.send('late', 100);
    await ended;
    expect(requests.begun.at(-1)).toBe('waiting');
    await requests.end();
    expect(requests.begun.at(-1)).toBe('late');
    await requests.finish();
  });

  it('pauses a throttled tenant and no other', async () => {
    let nowMs = 0;
    let restsUntilMs = 0;
    const turns = new FairTurns({
      maxTurnMs: 60_000,
      nowMs: () => nowMs,
      restraint: {
        look: () => undefined,
        isActive: true,
        begun: (tenantId) => {
          if (tenantId === 'loud') restsUntilMs = nowMs + 20;
        },
        perSecondOf: (tenantId) => (tenantId === 'loud' ? 500 : Number.POSITIVE_INFINITY),
        restsUntil: (tenantId) => (tenantId === 'loud' ? restsUntilMs : Number.NEGATIVE_INFINITY),
      },
    });
    const requests = new Requests(turns);
    for (let i = 0; i < 12; i++) requests.send('loud', 100);
    requests.send('quiet', 1);
    await requests.settle();
    expect(requests.begun).toEqual(['loud', 'quiet']);
    expect(turns.isFull('loud')).toBe(true);
    expect(turns.isFull('quiet')).toBe(false);
    nowMs = 20;
    await requests.end();
    expect(requests.begun).toEqual(['loud', 'quiet', 'loud']);
    while (requests.begun.length < 13) {
      nowMs += 20;
      await requests.end();
    }
    await requests.finish();
  });

  it('continues after a pause that ended during the check', async () => {
    let nowMs = 0;
    let restsUntilMs = 0;
    const turns = new FairTurns({
      maxTurnMs: 60_000,
      nowMs: () => {
        nowMs += 20;
        return nowMs;
      },
      restraint: {
        look: () => undefined,
        isActive: true,
        begun: (_tenantId, _events, atMs) => {
          restsUntilMs = atMs + 30;
        },
        perSecondOf: () => 1_000,
        restsUntil: () => restsUntilMs,
      },
    });
    const all = Array.from({ length: 10 }, (_, i) => inTurn(turns, 'loud', 100, () => Promise.resolve(i)));
    await expect(Promise.all(all)).resolves.toHaveLength(10);
  });

  it('picks the waiting tenant with the fewest events in progress, for any load and any order of completion', async () => {
    const ends = fc.array(fc.nat(50), { minLength: 40, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 2, max: 6 }),
        fc.integer({ min: 10, max: 150 }),
        ends,
        async (n, size, order) => {
          const requests = new Requests();
          const tenants = Array.from({ length: n }, (_, i) => `t${i}`);
          for (const tenantId of tenants) for (let i = 0; i < EACH; i++) requests.send(tenantId, size);
          await requests.settle();
          for (const at of order) {
            await requests.end(at, (next) => {
              const waiting = tenants.filter((tenantId) => requests.begunOf(tenantId) < EACH);
              const least = Math.min(...waiting.map((tenantId) => requests.inHand(tenantId)));
              expect(requests.inHand(next)).toBeLessThanOrEqual(least);
            });
          }
          await requests.finish();
          for (const tenantId of tenants) expect(requests.begunOf(tenantId)).toBe(EACH);
        },
      ),
      { numRuns: 15 },
    );
  });
});
