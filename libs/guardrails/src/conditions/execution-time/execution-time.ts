import { z } from 'zod';
import type { CallCondition } from '../../catalog/condition-module.ts';
import { meets, OPERATORS } from '../../catalog/threshold.ts';
import { numberTest } from '../../decisions/answer.ts';
import type { CallFacts } from '../../decisions/facts.ts';

const ExecutionTimeConfig = z.strictObject({
  scope: z.enum(['tool', 'total']).default('tool').meta({ title: 'Time of' }),
  operator: z.enum(OPERATORS).default('gt').meta({ title: 'Is' }),
  ms: z.number().min(0).max(31_536_000_000).meta({ title: 'Compared with', unit: 'ms' }),
});
type ExecutionTimeConfig = z.infer<typeof ExecutionTimeConfig>;

/** Duration of a tool call, or of all tool calls of the run; known only after a call. */
export const executionTime: CallCondition<ExecutionTimeConfig> = {
  type: 'execution_time',
  title: 'Execution time',
  description: 'Duration of the tool call, or of all tool calls of the run.',
  unit: 'ms',
  cadence: 'call',
  config: ExecutionTimeConfig,
  example: { scope: 'total', operator: 'gt', ms: 60_000 },
  phases: ['decision'],
  askedIn: ['tool.after'],
  ready({ scope, operator, ms }) {
    const tookMs = ({ request, history }: CallFacts): number | 'missing' | 'unavailable' => {
      const mine = request.metrics.duration_ms;
      if (mine === undefined) return 'missing';
      if (scope === 'total' && history === null) return 'unavailable';
      const others = scope === 'total' ? (history ?? []) : [];
      return others.reduce((sum, { durationMs = 0 }) => sum + durationMs, mine);
    };
    return {
      reads: ['metrics'],
      ...(scope === 'total' ? { countsCall: ({ tool }) => tool !== undefined } : {}),
      needs: () => ({ history: scope === 'total' }),
      ...numberTest(tookMs, ms, (took) => meets(took, { operator, value: ms })),
    };
  },
};
