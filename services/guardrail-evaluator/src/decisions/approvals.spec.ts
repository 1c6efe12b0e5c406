import { type AgentEvent, COMMANDS, canonicalJson, type DecisionRequest, type EventBatch } from '@agentlens/contracts';
import { identityOf } from '@agentlens/guardrails';
import { createMemoryBus } from '@agentlens/messaging';
import { createLogger } from '@agentlens/platform';
import { afterAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { EvaluatorDropMetrics } from '../evaluator-metrics.ts';
import { ReportedResults, resolveApproval, spendApproval } from './approvals.ts';
import { EndedCalls } from './ended-calls.ts';
import { Deadline } from './state-circuit.ts';

const bus = createMemoryBus();
const logger = createLogger({ name: 'test', level: 'silent' });
const ended = new EndedCalls({ bus, logger, drops: new EvaluatorDropMetrics() });
const asked: { readonly binding: { readonly argsHash: string }; readonly requestId?: string | undefined }[] = [];
const spent: unknown[] = [];
const serving = Promise.all([
  bus.serve(COMMANDS.resolveApproval, async (question) => {
    asked.push(question);
    return { ok: false as const, problem: { error: 'not asked for here', status: 404 } };
  }),
  bus.serve(COMMANDS.spendApprovals, async (question) => {
    spent.push(question);
    return { ok: true as const, value: { spent: 1 } };
  }),
]);
afterAll(async () => {
  for (const subscription of await serving) await subscription.close();
  await bus.close();
});

const question = (fields: Partial<DecisionRequest> = {}): DecisionRequest => ({
  ...{ tenantId: 'acme', agentId: 'bot', runId: 'run', phase: 'tool.before', tool: { name: 'pay', tags: [] } },
  ...{ args: { id: 9007199254740992 }, tags: {}, subjects: [], metrics: {}, deadlineMs: 1_000 },
  ...{ receivedAt: '2026-03-01T12:00:00.000Z', ...fields },
});
const ASK = {
  ruleId: 'rule-1',
  ruleVersion: 1,
  title: 'May it pay?',
  expiresInSeconds: 60,
  also: [],
  readsResult: false,
};

async function argsHashOf(request: DecisionRequest, ask = ASK): Promise<string | undefined> {
  await serving;
  const deadline = new Deadline(10_000);
  await resolveApproval(bus, request, ask, identityOf(request, 'd1'), deadline);
  deadline[Symbol.dispose]();
  return asked.at(-1)?.binding.argsHash;
}

describe('the approval of a call', () => {
  it('covers exactly the arguments of the call', async () => {
    const hashes = [undefined, 'a'.repeat(64), 'b'.repeat(64)].map((exactArgs) => question({ exactArgs }));
    const asks = [];
    for (const one of [...hashes, question({ args: {} })]) asks.push(await argsHashOf(one));
    expect(new Set(asks).size).toBe(4);
  });

  it('is bound to all that a reviewer sees: any change of the call is another binding', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.jsonValue({ maxDepth: 3 }),
        fc.jsonValue({ maxDepth: 3 }),
        fc.string(),
        async (args, other, end) => {
          fc.pre(canonicalJson(args) !== canonicalJson(other));
          const shown = question({ args });
          const changed = [
            question({ args: other }),
            question({ args: { args } }),
            question({ args: [args, other] }),
            question({ args, tool: { name: `pay${end}x`, tags: [] } }),
            question({ args, runId: 'another' }),
            question({ args, phase: 'tool.after', result: args }),
            question({ args, phase: 'tool.after', result: other }),
          ];
          const bindings = [];
          for (const one of [shown, ...changed]) {
            await argsHashOf(one, { ...ASK, readsResult: one.phase === 'tool.after' });
            bindings.push(JSON.stringify(asked.at(-1)?.binding));
          }
          expect([...new Set(bindings)]).toEqual(bindings);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('is requested under the key of the question', async () => {
    await argsHashOf(question({ requestId: 'k1' }));
    expect(asked.at(-1)?.requestId).toBe('k1');
  });

  it('is spent by the result of the same call', async () => {
    const before = question({ exactArgs: 'a'.repeat(64) });
    const argsHash = await argsHashOf(before);
    const after = { ...before, phase: 'tool.after' } as const;
    await spendApproval(ended, after, identityOf(after, 'd2'));
    expect(spent.at(-1)).toMatchObject({ tenantId: 'acme', calls: [{ runId: 'run', toolName: 'pay', argsHash }] });
  });
});

describe('results that are reported as events', () => {
  const event = (fields: Partial<AgentEvent>) => ({ kind: 'tool.completed', runId: 'run', ...fields }) as AgentEvent;
  const batch = { tenantId: 'acme', events: [] as AgentEvent[] } as EventBatch;
  const reported = (asksPeople: boolean) =>
    new ReportedResults({ ended, rules: { decisions: { asksPeople: () => asksPeople } } });

  it('spend the approvals of calls with an id', async () => {
    await serving;
    const events = [event({ callId: 'c1' }), event({}), event({ kind: 'tool.called', callId: 'c2' })];
    await reported(true).spend({ ...batch, events });
    expect(spent.at(-1)).toEqual({ tenantId: 'acme', calls: [{ runId: 'run', callId: 'c1' }] });
  });

  it('are ignored if no rule requires approval', async () => {
    const before = spent.length;
    await reported(false).spend({ ...batch, events: [event({ callId: 'c1' })] });
    expect(spent).toHaveLength(before);
  });
});
