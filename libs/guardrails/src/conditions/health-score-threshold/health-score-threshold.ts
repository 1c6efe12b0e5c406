import { z } from 'zod';
import type { TickCondition } from '../../catalog/condition-module.ts';

const HealthScoreConfig = z.strictObject({
  minScore: z.number().min(0).max(100).default(50).meta({ title: 'Least score', unit: 'points' }),
  windowDays: z.int().min(1).max(90).default(7).meta({ title: 'Window', unit: 'days' }),
});
type HealthScoreConfig = z.infer<typeof HealthScoreConfig>;

/** The five-part health score of an agent, checked once a minute. */
export const healthScoreThreshold: TickCondition<HealthScoreConfig> = {
  type: 'health_score_threshold',
  title: 'Health score',
  description: 'The health score of an agent over the last days is too low.',
  unit: 'points',
  cadence: 'tick',
  config: HealthScoreConfig,
  example: { minScore: 50, windowDays: 7 },
  phases: ['stream'],
  windowDays: (config) => config.windowDays,
  measure: (_config, score) => score,
  threshold: (config) => ({ operator: 'lt', value: config.minScore }),
  message: (config, value) => `Health score ${value.toFixed(1)} is below minimum ${config.minScore}`,
};
