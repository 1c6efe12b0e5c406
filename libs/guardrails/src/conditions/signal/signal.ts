import type { DecisionRequest } from '@agentlens/contracts';
import { z } from 'zod';
import type { CallCondition } from '../../catalog/condition-module.ts';

const OPERATORS = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'in', 'nin'] as const;
const Scalar = z.union([z.string().max(1000), z.number(), z.boolean()]);
type Scalar = z.infer<typeof Scalar>;

const SignalConfig = z
  .strictObject({
    key: z.string().min(1).max(256).meta({ title: 'Signal' }),
    operator: z.enum(OPERATORS).default('eq').meta({ title: 'Is' }),
    value: z
      .union([Scalar, z.array(Scalar).min(1).max(200)], {
        error: 'is required, give a string, a number, true or false, or a list',
      })
      .meta({ title: 'Compared with' }),
    onMissing: z.enum(['allow', 'block']).optional().meta({ title: 'If it is absent' }),
  })
  .check(({ value: config, issues }) => {
    const { operator, value } = config;
    const isList = operator === 'in' || operator === 'nin';
    const ordered = operator !== 'eq' && operator !== 'neq' && !isList;
    if (isList === Array.isArray(value) && (!ordered || typeof value === 'number')) return;
    const message = isList ? 'must be a list' : ordered ? 'must be a number' : 'must be one value';
    issues.push({ code: 'custom', path: ['value'], message, input: config });
  });
type SignalConfig = z.infer<typeof SignalConfig>;

/** A value the agent sends with its request: a metric, a tag of the run, or a tag of the end user, in this order. */
export const signal: CallCondition<SignalConfig> = {
  type: 'signal',
  title: 'Signal',
  description: 'A value the agent sends with its request: a metric, or a tag of the run or of the end user.',
  unit: '',
  cadence: 'call',
  config: SignalConfig,
  example: { key: 'risk_score', operator: 'gte', value: 0.8 },
  phases: ['decision'],
  askedIn: ['tool.before', 'tool.after', 'llm.before'],
  ready({ key, operator, value, onMissing }) {
    return {
      reads: ['metrics', 'tags', 'actor'],
      matches({ request }) {
        const given = signalOf(key, request);
        if (given !== undefined) return TEST[operator](given, value);
        return onMissing === undefined ? 'missing' : onMissing === 'block';
      },
      // Tag values may be confidential and are not repeated. Metrics are numbers meant to be measured.
      measured({ request: { metrics } }) {
        const given = Object.hasOwn(metrics, key) ? metrics[key] : undefined;
        return given !== undefined && typeof value === 'number' && operator !== 'neq'
          ? { value: given, limit: value }
          : null;
      },
    };
  },
};

function signalOf(key: string, { metrics, tags, actor }: DecisionRequest): string | number | undefined {
  const places: readonly Record<string, string | number>[] = [metrics, tags, actor?.metadata ?? {}];
  const place = places.find((candidate) => Object.hasOwn(candidate, key));
  return place?.[key];
}

type Test = (given: string | number, value: Scalar | readonly Scalar[]) => boolean;

/** Tags are strings; numeric text counts as its number. Any other text is NaN, so it is neither less nor greater. */
const numeric = (given: string | number) => (given === '' ? Number.NaN : Number(given));
const same = (given: string | number, value: unknown) =>
  typeof value === 'number' ? numeric(given) === value : String(given) === String(value);
const among: Test = (given, value) => Array.isArray(value) && value.some((one) => same(given, one));

const TEST: Record<(typeof OPERATORS)[number], Test> = {
  eq: same,
  neq: (given, value) => !same(given, value),
  gt: (given, value) => numeric(given) > Number(value),
  gte: (given, value) => numeric(given) >= Number(value),
  lt: (given, value) => numeric(given) < Number(value),
  lte: (given, value) => numeric(given) <= Number(value),
  in: among,
  nin: (given, value) => !among(given, value),
};
