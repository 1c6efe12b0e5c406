import { z } from 'zod';
import { OPERATORS as ARGUMENT_OPERATORS } from '../conditions/tool-argument/argument-test.ts';
import {
  COMPARISONS,
  callCount,
  chosen,
  compared,
  metricOverWindow,
  names,
  timeGate,
  toolEntry,
} from './windowed-kinds.ts';

const text = z.string().min(1).max(1000);
const scalar = z.union([z.string().max(1000), z.number(), z.boolean()], {
  error: 'must be a string, a number, true or false',
});

const toolName = z
  .strictObject({
    kind: z.literal('toolName'),
    op: z.enum(['eq', 'neq', 'contains', 'startsWith', 'endsWith', 'glob', 'in']),
    value: z.union([z.string().min(1).max(256), names], { error: 'must be a string, or with "in" a list of strings' }),
  })
  .transform(({ op, value }) => ({ type: 'tool_name', config: { operator: op, value } }));

const toolTag = z
  .strictObject({
    kind: z.literal('toolTag'),
    op: z.enum(['has', 'anyOf', 'allOf']),
    tag: text.optional(),
    tags: names.optional(),
  })
  .refine(({ op, tag, tags }) => (op === 'has' ? tag !== undefined && !tags : tags !== undefined && !tag), {
    path: ['op'],
    message: '"has" goes with "tag", "anyOf" and "allOf" with "tags"',
  })
  .transform(({ op, tag, tags }) => ({
    type: 'tool_tag',
    config: { operator: op === 'allOf' ? op : 'anyOf', tags: tags ?? [tag] },
  }));

const toolArg = z
  .strictObject({
    kind: z.literal('toolArg'),
    type: z.enum(['string', 'number', 'boolean']).optional(),
    op: z.enum(ARGUMENT_OPERATORS),
    path: text.optional(),
    value: z.union([scalar, z.array(z.string().max(1000)).min(1).max(200)]).optional(),
  })
  .transform(({ type, op, path, value }) => ({
    type: 'tool_argument',
    config: compact({ type, operator: op, path, value }),
  }));

const enduserTag = z
  .strictObject({
    kind: z.literal('enduserTag'),
    op: z.enum(['has', 'hasValue', 'hasValueAny']),
    tag: text,
    value: z.string().max(1000).optional(),
    values: z.array(z.string().max(1000)).min(1).optional(),
  })
  .transform(({ op, tag, value, values }) => ({
    type: 'enduser_tag',
    config: compact({ operator: op, tag, values: value === undefined ? values : [value] }),
  }));

const entries = z.array(toolEntry).min(1, 'must not be empty: leave it out if nothing is meant').max(50);
const sequence = z
  .strictObject({
    kind: z.literal('sequence'),
    mustHaveCalled: entries.optional(),
    mustNotHaveCalled: entries.optional(),
  })
  .transform(({ mustHaveCalled, mustNotHaveCalled }) => ({
    type: 'sequence',
    config: compact({ mustHaveCalled: mustHaveCalled?.map(chosen), mustNotHaveCalled: mustNotHaveCalled?.map(chosen) }),
  }));

const executionTime = z
  .strictObject({
    kind: z.literal('executionTime'),
    scope: z.enum(['tool', 'total']),
    op: z.enum(COMPARISONS),
    ms: z.number().min(0),
  })
  .transform(({ scope, op, ms }) => compared('execution_time', op, { scope, ms }));

const requireSubject = z
  .strictObject({ kind: z.literal('requireSubject'), subjectType: text, idSystem: text.optional() })
  .transform(({ subjectType, idSystem }) => ({ type: 'subject', config: compact({ subjectType, idSystem }) }));

const signal = z
  .strictObject({
    kind: z.literal('signal'),
    key: text,
    args: z.record(z.string(), z.unknown()).optional(),
    op: z.enum([...COMPARISONS, 'in', 'nin']),
    value: z.union([scalar, z.array(scalar).min(1).max(200)]),
    onMissing: z.enum(['allow', 'hitl', 'block']).optional(),
  })
  .refine(({ args = {} }) => Object.keys(args).length === 0, {
    path: ['args'],
    message: 'nothing is bound here: a signal is a metric or tag that the agent sends under its key; remove "args"',
  })
  .transform(({ key, op, value, onMissing }) => ({
    type: 'signal',
    config: compact({ key, operator: op, value, onMissing: onMissing === 'hitl' ? 'block' : onMissing }),
  }));

const detection = z.strictObject({
  detector: text,
  subCondition: z
    .strictObject({
      check: z.enum(['domain', 'tld', 'scheme']),
      op: z.enum(['eq', 'neq', 'endsWith', 'in']),
      value: z.union([text, names]),
    })
    .optional(),
});
const sensitiveData = z
  .strictObject({
    kind: z.literal('sensitiveData'),
    target: z.literal('toolArg'),
    path: text.optional(),
    op: z.enum(['anyOf', 'allOf']),
    detectors: z.array(detection).min(1).max(50),
  })
  .transform(({ path, op, detectors }) => ({
    type: 'sensitive_data',
    config: compact({
      path,
      operator: op,
      detectors: detectors.map(({ detector, subCondition: sub }) =>
        compact({ detector, check: sub?.check, operator: sub?.op, value: sub?.value }),
      ),
    }),
  }));

/** Removes undefined values, as JSON does. */
function compact(record: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined));
}

/** Kinds of condition that nest no others. */
export const FLAT_KINDS = {
  toolName,
  toolTag,
  toolArg,
  enduserTag,
  sequence,
  maxCalls: callCount,
  metricWindow: metricOverWindow,
  executionTime,
  timeGate,
  requireSubject,
  signal,
  sensitiveData,
};
