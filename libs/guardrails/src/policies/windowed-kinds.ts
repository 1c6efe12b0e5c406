import { z } from 'zod';
import { COMPARISONS, chosen, compared, minutesOf, toolSelector, windowSeconds } from './policy-words.ts';

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
