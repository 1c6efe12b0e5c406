import { type AgentEvent, BreakerLimits, translateHandlebarEvent } from '@agentlens/contracts';
import { CLOSED_BREAKER, checkBreaker, type NextCall, recordUsage, usageOfEvent } from '@agentlens/guardrails';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type RecordedEvent, TestPlatform } from '../testing/index.ts';
import type { Run } from './run.ts';

/** Knows no prices: an unreported cost is zero on both sides. */
const NO_PRICES = { providerOf: () => undefined, quote: () => ({ unpriced: 'unknown_model' as const }) };
const MODEL = { name: 'some-model', provider: 'some-provider' };

/** The server's side: the same code, fed from the run's events. */
class ServerBreaker {
  breaker = CLOSED_BREAKER;
  readonly #limits: BreakerLimits;
  readonly #now: () => number;

  constructor(limits: BreakerLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  observes(recorded: RecordedEvent): void {
    const translated = translateHandlebarEvent(JSON.parse(JSON.stringify(recorded)), 'agent-1', NO_PRICES, this.#now());
    if (!translated.ok) throw new Error(`the server cannot read ${recorded.kind}`);
    const event = translated.event.facts as AgentEvent;
    const usage = usageOfEvent(event);
    if (usage === null) return;
    const { state } = this.breaker;
    const probed = state.kind === 'half_open' && state.probe === event.callId;
    this.breaker = recordUsage(this.breaker, probed ? { ...usage, by: state.probe } : usage, this.#now());
  }

  allows(next: NextCall): boolean {
    const answer = checkBreaker(this.breaker, this.#limits, this.#now(), next);
    this.breaker = answer.breaker;
    return answer.allowed;
  }
}

type Step =
  | {
      readonly do: 'model';
      readonly tokens: readonly [number, number];
      readonly costUsd?: number;
      readonly confidence?: number;
      readonly fails: boolean;
    }
  | { readonly do: 'tool'; readonly fails: boolean }
  | { readonly do: 'error' }
  | { readonly do: 'confidence'; readonly value: number }
  | { readonly do: 'wait'; readonly seconds: number };

const tokens = fc.oneof(fc.integer({ min: -5, max: 60 }), fc.constantFrom(2.5, Number.NaN, 1e15));
const steps: fc.Arbitrary<Step> = fc.oneof(
  fc.record(
    {
      ...{ do: fc.constant('model' as const), tokens: fc.tuple(tokens, tokens), fails: fc.boolean() },
      ...{ costUsd: fc.constantFrom(0.1, 1, -3, 1e9), confidence: fc.constantFrom(0.9, 0.7, 0.5, 0.3, 7) },
    },
    { requiredKeys: ['do', 'tokens', 'fails'] },
  ),
  fc.record({ do: fc.constant('tool' as const), fails: fc.boolean() }),
  fc.record({ do: fc.constant('error' as const) }),
  fc.record({ do: fc.constant('confidence' as const), value: fc.constantFrom(0.9, 0.5, 0.1) }),
  fc.record({ do: fc.constant('wait' as const), seconds: fc.integer({ min: 1, max: 40 }) }),
);
const limits: fc.Arbitrary<BreakerLimits> = fc
  .record({
    ...{ maxTokens: fc.integer({ min: 50, max: 400 }), maxIterations: fc.integer({ min: 2, max: 12 }) },
    ...{ maxCostUsd: fc.constantFrom(0.5, 2, 10), maxConsecutiveFailures: fc.integer({ min: 1, max: 4 }) },
    ...{ confidenceWindow: fc.constantFrom(3, 5), probeAfterSeconds: fc.constantFrom(null, 10) },
  })
  .map((some) => BreakerLimits.parse(some));

async function take(run: Run, step: Step, callId: string): Promise<boolean | null> {
  if (step.do === 'tool') {
    if ((await run.beforeTool('t', {}, { callId })).verdict === 'BLOCK') return false;
    await run.afterTool('t', {}, 1, 5, step.fails ? new Error('no') : undefined, { callId });
    return true;
  }
  if (step.do === 'model') {
    const {
      tokens: [inputTokens, outputTokens],
      costUsd,
      confidence,
      fails,
    } = step;
    const begun = await run.beforeLlm([], { callId }).then(
      () => true,
      () => false,
    );
    if (!begun) return false;
    const error = fails ? { error: new Error('no') } : {};
    const usage = { inputTokens, outputTokens };
    await run.afterLlm({ content: [], model: MODEL, usage, callId, costUsd, confidence, ...error });
    return true;
  }
  if (step.do === 'error') run.record('error', { message: 'the agent itself' });
  if (step.do === 'confidence') run.record('note', { confidence: step.value });
  return null;
}

describe('the breaker in the agent and the one on the server', () => {
  it('agree about every call and after every step, for any usage, failures and reports', async () => {
    await fc.assert(
      fc.asyncProperty(limits, fc.array(steps, { maxLength: 40 }), async (its, script) => {
        const server = new TestPlatform();
        const client = await server.client({ breaker: its, control: 'off', heartbeatMs: 0 });
        const run = await client.startRun();
        const there = new ServerBreaker(its, () => server.clock.now());
        for (const [n, step] of script.entries()) {
          if (step.do === 'wait') await server.clock.advance(step.seconds * 1_000);
          const callId = `c${n}`;
          const next = step.do === 'model' ? { iterations: 1, by: callId } : { by: callId };
          const expected = step.do === 'model' || step.do === 'tool' ? there.allows(next) : null;
          const sent = server.events.length;
          const begun = step.do === 'wait' ? null : await take(run, step, callId);
          await client.drain();
          for (const event of server.events.slice(sent)) there.observes(event);
          expect({ n, begun, state: run.breakerState }).toEqual({ n, begun: expected, state: there.breaker.state });
        }
        await client.shutdown();
      }),
      { numRuns: 150 },
    );
  });
});
