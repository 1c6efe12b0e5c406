import type { DecisionRequest, GuardrailRule } from '@agentlens/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { serviceIn } from '../src/decisions/decision-pipeline.testing.ts';
import { type CallsOfRun, rateWithoutAnyOne } from '../src/rules/stop-spread.ts';

type Question = Partial<DecisionRequest>;

const labelling: Partial<GuardrailRule> = {
  ...{ name: 'No egress', conditionType: 'data_flow', selector: { tools: ['send'] } },
  conditionConfig: { after: [{ tools: ['read'] }], label: 'pii', clearedBy: [{ tools: ['redact'] }] },
  ...{ actionType: 'block', actionConfig: {}, onUnavailable: 'block' },
};
const limiting: Partial<GuardrailRule> = {
  ...{ name: 'Two looks', conditionType: 'max_calls', conditionConfig: { tools: ['look'], max: 2 } },
  ...{ actionType: 'block', actionConfig: {}, selector: { tools: ['look'] } },
};

/** What an agent can ask with a key that is bound to it: in runs of its own, with any claims about its calls. */
const askedByA = fc.record({
  runId: fc.constantFrom('run-a', 'run-a2'),
  tool: fc.constantFrom('read', 'redact', 'send', 'look').map((name) => ({ name, tags: [] })),
  phase: fc.constantFrom('tool.before' as const, 'tool.after' as const),
  callId: fc.constantFrom('c1', 'c2', 'b1'),
  args: fc.constantFrom({}, { a: 1 }),
});
/** What another agent asks, before and after that. */
const askedByB: readonly Question[] = [
  { tool: { name: 'read', tags: [] }, callId: 'b1' },
  { tool: { name: 'send', tags: [] }, callId: 'b2' },
  { tool: { name: 'look', tags: [] }, callId: 'b3' },
  { tool: { name: 'look', tags: [] }, callId: 'b4' },
  { tool: { name: 'look', tags: [] }, callId: 'b5' },
];

describe('the traffic of one agent', () => {
  it('changes no label and no limit of another agent, in any order', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(askedByA, fc.nat(askedByB.length)), { maxLength: 30 }), async (traffic) => {
        const verdictsOfB = async (mixed: boolean) => {
          const { ask } = serviceIn({ rules: [labelling, limiting] });
          const verdicts: string[] = [];
          for (const [at, question] of [...askedByB.entries()]) {
            if (mixed) for (const [own, place] of traffic) if (place === at) await ask({ ...own, agentId: 'a' });
            verdicts.push((await ask({ ...question, agentId: 'b', runId: 'run-b' })).verdict);
          }
          return verdicts;
        };
        expect(await verdictsOfB(true)).toEqual(await verdictsOfB(false));
      }),
      { numRuns: 50 },
    );
  });

  it('clears no label of its own run by results of calls that were not asked about and allowed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(askedByA, { maxLength: 20 }), async (traffic) => {
        const { ask } = serviceIn({ rules: [labelling] });
        await ask({ runId: 'run-a', agentId: 'a', tool: { name: 'read', tags: [] }, callId: 'source' });
        for (const question of traffic) {
          const isClearing = question.tool.name === 'redact' && question.phase === 'tool.before';
          if (!isClearing) await ask({ ...question, agentId: 'a' });
        }
        const sent = await ask({ runId: 'run-a', agentId: 'a', tool: { name: 'send', tags: [] }, callId: 'sink' });
        expect(sent.verdict).toBe('BLOCK');
      }),
      { numRuns: 50 },
    );
  });

  it('takes back no rule that the other agents do not exceed', () => {
    const run = (agentId: fc.Arbitrary<string>) =>
      fc
        .record({
          agentId,
          runId: fc.uuid(),
          calls: fc.integer({ min: 1, max: 90 }),
          share: fc.double({ min: 0, max: 1, noNaN: true }),
        })
        .map(({ share, ...one }): CallsOfRun => ({ ...one, stopped: Math.floor(one.calls * share) }));
    const others = fc.array(run(fc.constantFrom('b', 'c', 'd')), { maxLength: 12 });
    fc.assert(
      fc.property(others, fc.array(run(fc.constant('a')), { maxLength: 12 }), (quiet, own) => {
        const harmless = quiet.map((one) => ({ ...one, stopped: 0 }));
        expect(rateWithoutAnyOne([...harmless, ...own])).toBe(0);
      }),
    );
  });
});
