import { z } from 'zod';
import type { CallCondition } from '../../catalog/condition-module.ts';
import { numberTest } from '../../decisions/answer.ts';
import type { CallFacts } from '../../decisions/facts.ts';
import { foldedName } from '../../patterns/names.ts';
import type { PastCall } from '../../ports/call-history.ts';
import { CallScopeField, callsOf } from '../which-calls.ts';

const RepeatedCallConfig = z.strictObject({
  times: z.int().min(1).max(1000).default(3).meta({ title: 'Made before', unit: 'times' }),
  scope: CallScopeField,
  sameResult: z.boolean().default(true).meta({ title: 'With the same result each time' }),
});
type RepeatedCallConfig = z.infer<typeof RepeatedCallConfig>;

/** Detects a loop: the same tool call with the same arguments, and the result never changes. */
export const repeatedCall: CallCondition<RepeatedCallConfig> = {
  type: 'repeated_call',
  title: 'Repeated call',
  description: 'The run made exactly this call several times before, with the same result.',
  unit: 'calls',
  cadence: 'call',
  config: RepeatedCallConfig,
  example: { times: 3, sameResult: true },
  phases: ['decision'],
  askedIn: ['tool.before'],
  ready({ times, scope = 'run', sameResult }) {
    const timesBefore = ({ request, argsHash, calls }: CallFacts): number | 'missing' | 'unavailable' => {
      if (request.tool === undefined) return 'missing';
      const history = calls(scope);
      if (history === null) return 'unavailable';
      const name = foldedName(request.tool.name);
      const same = history.filter((call) => call.argsHash === argsHash && foldedName(call.toolName) === name);
      return sameResult ? fruitless(same) : same.filter(({ status }) => status !== 'asked').length;
    };
    return {
      reads: [],
      // Only calls of the same name are compared.
      ...callsOf(scope, ({ isSelected }) => isSelected),
      ...numberTest(timesBefore, times, (before) => before >= times),
    };
  },
};

/** Counts the newest completed calls that share the newest result. */
function fruitless(calls: readonly PastCall[]): number {
  const results = calls.filter(({ status }) => status === 'completed').map(({ resultHash }) => resultHash);
  const newest = results.at(-1);
  const other = results.findLastIndex((result) => result !== newest);
  return results.length - 1 - other;
}
