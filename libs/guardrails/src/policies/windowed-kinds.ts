import { z } from 'zod';

export const names = z.array(z.string().min(1).max(256)).min(1, 'must not be empty').max(100);
export const COMPARISONS = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte'] as const;

/** Selects tools by name or by tag. */
const toolSelector = z.discriminatedUnion(
  'by',
  [
    z.strictObject({ by: z.literal('toolName'), patterns: names }),
    z.strictObject({ by: z.literal('toolTag'), tags: names, op: z.enum(['anyOf', 'allOf']).default('anyOf') }),
  ],
  { error: 'must be { "by": "toolName", "patterns": [] } or { "by": "toolTag", "tags": [] }' },
);

/** A tool selector or a single glob. */
export const toolEntry = z.union([z.string().min(1).max(256), toolSelector], {
  error: 'must be a glob, { "by": "toolName", "patterns": [] } or { "by": "toolTag", "tags": [] }',
});

/** Translates a tool entry into a tool choice. */
export function chosen(entry: z.infer<typeof toolEntry>): Record<string, string[]> {
  if (typeof entry === 'string') return { tools: [entry] };
  if (entry.by === 'toolName') return { tools: entry.patterns };
  return entry.op === 'allOf' ? { toolTagsAll: entry.tags } : { toolTagsAny: entry.tags };
}

/** Translates a condition with an operator. AgentLens has no `neq` here, so it becomes `not` with `eq`. */
export function compared(type: string, op: (typeof COMPARISONS)[number], config: Record<string, unknown>) {
  if (op !== 'neq') return { type, config: { ...config, operator: op } };
  return { type: 'not', config: { condition: { type, config: { ...config, operator: 'eq' } } } };
}

/** Windows in seconds. They are rounded up to whole minutes, because a longer window is stricter. */
export const windowSeconds = z.number().min(1).max(86_400, 'must be at most 86400: windows reach back one day');

function minutesOf(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.ceil(seconds / 60);
}

const SCOPES = ['agent', 'agent_user'] as const;

/** Without a window, the calls of the run are counted, regardless of `per`. */
export const callCount = z
  .strictObject({
    kind: z.literal('maxCalls'),
    selector: toolSelector,
    max: z.int().min(0),
    windowSeconds: windowSeconds.optional(),
    per: z.enum(SCOPES).default('agent'),
    tagFilter: z.never({ error: 'is not known here; put maxCalls and enduserTag into an "and"' }).optional(),
  })
  .transform(({ selector, max, windowSeconds: seconds, per }) => ({
    type: 'max_calls',
    config: {
      ...chosen(selector),
      ...{ max, per: seconds === undefined ? 'run' : per, appliesTo: 'every_call' },
      ...(seconds === undefined ? {} : { windowMinutes: minutesOf(seconds) }),
    },
  }));

/** `filter` is deprecated and was always ignored. */
export const metricOverWindow = z
  .strictObject({
    kind: z.literal('metricWindow'),
    scope: z.enum(['run', ...SCOPES]),
    metric: z.strictObject({ kind: z.enum(['inbuilt', 'custom']), key: z.string().min(1).max(64) }),
    aggregate: z.enum(['sum', 'avg', 'max', 'min', 'count']),
    windowSeconds: windowSeconds.optional(),
    op: z.enum(COMPARISONS),
    value: z.number(),
    onMissing: z.enum(['allow', 'hitl', 'block']).optional(),
    filter: z.unknown().optional(),
  })
  .transform(({ scope, metric, aggregate, windowSeconds: seconds, op, value, onMissing }) =>
    compared('metric_window', op, {
      ...{ scope, metric: metric.key, aggregate, value },
      ...(scope === 'run' || seconds === undefined ? {} : { windowMinutes: minutesOf(seconds) }),
      ...(onMissing === undefined ? {} : { onMissing: onMissing === 'allow' ? onMissing : 'block' }),
    }),
  );

const Clock = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time like "09:30"');

/** `fallback` means the organization's time zone, which is UTC here. */
export const timeGate = z
  .strictObject({
    kind: z.literal('timeGate'),
    timezone: z.discriminatedUnion('source', [
      z.strictObject({ source: z.literal('static'), tz: z.string().min(1) }),
      z.strictObject({
        source: z.literal('enduserTag'),
        tag: z.string().min(1).max(256),
        fallback: z.literal('org').optional(),
      }),
    ]),
    windows: z
      .array(
        z.strictObject({
          days: z.array(z.enum(['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'])).min(1),
          start: Clock,
          end: Clock,
        }),
      )
      .min(1)
      .max(50),
  })
  .transform(({ timezone, windows }) => ({
    type: 'time_gate',
    config: {
      windows,
      ...(timezone.source === 'static' ? { timeZone: timezone.tz } : { timeZoneTag: timezone.tag }),
      ...(timezone.source === 'enduserTag' && timezone.fallback === 'org' ? { timeZone: 'UTC' } : {}),
    },
  }));
