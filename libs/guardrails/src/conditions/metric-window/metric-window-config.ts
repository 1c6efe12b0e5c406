import { z } from 'zod';
import { OPERATORS } from '../../catalog/threshold.ts';
import { BUILT_IN_METRICS, isBuiltIn } from '../../windows/metrics.ts';

const AGGREGATES = ['sum', 'avg', 'max', 'min', 'count'] as const;
export type Aggregate = (typeof AGGREGATES)[number];

export const MetricWindowConfig = z
  .strictObject({
    metric: z
      .string()
      .regex(/^[A-Za-z][\w.-]{0,63}$/, 'must be a letter followed by up to 63 letters, digits, "_", "." or "-"')
      .meta({
        title: 'Metric',
        description: `What calls report (bytes_in, bytes_out, duration_ms, records_in, records_out, llm_tokens_in, llm_tokens_out, llm_cost_usd, or a name of your own), or what events report (${Object.keys(BUILT_IN_METRICS).join(', ')}).`,
      }),
    aggregate: z.enum(AGGREGATES).default('sum').meta({ title: 'Over the window' }),
    operator: z.enum(OPERATORS).default('gt').meta({ title: 'Is' }),
    value: z.number().meta({ title: 'Compared with' }),
    scope: z.enum(['run', 'agent', 'agent_user']).default('run').meta({ title: 'Of' }),
    windowMinutes: z.int().min(1).max(1440).optional().meta({ title: 'Window', unit: 'min' }),
    onMissing: z.enum(['allow', 'block']).optional().meta({ title: 'If nothing was reported' }),
  })
  .check(({ value, issues }) => {
    const { scope, windowMinutes, metric } = value;
    if ((scope === 'run') !== (windowMinutes === undefined)) {
      const message =
        scope === 'run' ? 'is for agents and end users; a run is measured whole' : `is required for ${scope}`;
      issues.push({ code: 'custom', path: ['windowMinutes'], message, input: value });
    }
    if (scope === 'agent_user' && isBuiltIn(metric)) {
      const message = 'comes from events, which do not say on whose behalf; measure one that calls report';
      issues.push({ code: 'custom', path: ['metric'], message, input: value });
    }
  });
export type MetricWindowConfig = z.infer<typeof MetricWindowConfig>;
