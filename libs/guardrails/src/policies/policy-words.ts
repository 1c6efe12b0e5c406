import { z } from 'zod';

export const names = z.array(z.string().min(1).max(256)).min(1, 'must not be empty').max(100);
export const COMPARISONS = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte'] as const;

/** Selects tools by name or by tag. */
export const toolSelector = z.discriminatedUnion(
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

export function minutesOf(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : Math.ceil(seconds / 60);
}
