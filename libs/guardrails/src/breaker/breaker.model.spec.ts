import { describe, it } from '@jest/globals';
import fc from 'fast-check';
import { type Breaker, type CallUsage, CLOSED_BREAKER, check, record } from './breaker.ts';
import { DEFAULT_BREAKER_LIMITS } from './default-limits.ts';

const LIMITS = {
  ...DEFAULT_BREAKER_LIMITS,
  maxTokens: 100,
  maxIterations: 8,
  maxCostUsd: 10,
  maxConsecutiveFailures: 2,
  maxConfidenceDrop: null,
  probeAfterSeconds: 10,
};

/** Reference implementation of the breaker, with mutable flags and counters. */
class Model {
  open = false;
  waitingSince = 0;
  probe: string | null = null;
  tokens = 0;
  iterations = 0;
  cents = 0;
  failures = 0;

  get over() {
    return this.tokens > 100 || this.iterations > 8 || this.cents > 1000 || this.failures > 2;
  }

  asks(by: string, now: number): boolean {
    if (!this.open) {
      if (!this.over) return true;
      this.open = true;
      this.waitingSince = now;
      return false;
    }
    if (this.probe === by) return true;
    if (now - this.waitingSince < 10_000) return false;
    this.probe = by;
    this.waitingSince = now;
    return true;
  }

  uses(by: string, tokens: number, cents: number, success: boolean, now: number) {
    if (this.open && this.probe === by && success) {
      Object.assign(this, new Model());
      return;
    }
    this.tokens += tokens;
    this.cents += cents;
    this.iterations += 1;
    this.failures = success ? 0 : this.failures + 1;
    if (this.open && this.probe === by) {
      this.probe = null;
      this.waitingSince = now;
    }
  }
}

interface Real {
  breaker: Breaker;
  now: number;
}

class Ask implements fc.Command<Model, Real> {
  constructor(readonly by: string) {}
  check = () => true;
  run(model: Model, real: Real) {
    const answer = check(real.breaker, LIMITS, real.now, { by: this.by });
    real.breaker = answer.breaker;
    expectSame(answer.allowed, model.asks(this.by, real.now));
    expectSame(real.breaker.state.kind, kindOf(model));
  }
  toString = () => `ask(${this.by})`;
}

class Use implements fc.Command<Model, Real> {
  constructor(
    readonly by: string,
    readonly tokens: number,
    readonly cents: number,
    readonly success: boolean,
  ) {}
  check = () => true;
  run(model: Model, real: Real) {
    const used: CallUsage = {
      by: this.by,
      tokens: this.tokens,
      costUsd: this.cents / 100,
      iterations: 1,
      outcome: this.success ? 'success' : 'failure',
    };
    real.breaker = record(real.breaker, used, real.now);
    model.uses(this.by, this.tokens, this.cents, this.success, real.now);
    expectSame(real.breaker.state.kind, kindOf(model));
  }
  toString = () => `use(${this.by}, ${this.tokens}, ${this.cents}, ${this.success})`;
}

class Wait implements fc.Command<Model, Real> {
  constructor(readonly ms: number) {}
  check = () => true;
  run(_model: Model, real: Real) {
    real.now += this.ms;
  }
  toString = () => `wait(${this.ms})`;
}

function kindOf(model: Model) {
  if (!model.open) return 'closed';
  return model.probe === null ? 'open' : 'half_open';
}

function expectSame(real: unknown, model: unknown) {
  if (real !== model) throw new Error(`the breaker returns ${String(real)}, the model ${String(model)}`);
}

describe('the breaker and its model', () => {
  it('agree on any sequence of checks, calls and waits by any callers', () => {
    const who = fc.constantFrom('a', 'b', 'c');
    const commands = [
      who.map((by) => new Ask(by)),
      fc
        .tuple(who, fc.nat(40), fc.nat(400), fc.boolean())
        .map(([by, tokens, cents, success]) => new Use(by, tokens, cents, success)),
      fc.integer({ min: 1, max: 12_000 }).map((ms) => new Wait(ms)),
    ];
    fc.assert(
      fc.property(fc.commands(commands, { maxCommands: 60 }), (script) => {
        fc.modelRun(() => ({ model: new Model(), real: { breaker: CLOSED_BREAKER, now: 1_700_000_000_000 } }), script);
      }),
      { numRuns: 500 },
    );
  });
});
