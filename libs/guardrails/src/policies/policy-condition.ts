import { type JsonObject, unknownName } from '@agentlens/contracts';
import { z } from 'zod';
import { problemsOf } from '../rules/problems.ts';
import { FLAT_KINDS } from './flat-kinds.ts';

/** A condition in AgentLens's vocabulary. */
export interface Translated {
  readonly type: string;
  readonly config: JsonObject;
}

/** Parses a condition of the imported policy format, discriminated by `kind`, and translates it. */
export const PolicyCondition: z.ZodType<Translated> = z.unknown().transform((value, context) => {
  const refuse = (path: PropertyKey[], message: string) => {
    context.issues.push({ code: 'custom', path, message, input: value });
    return z.NEVER;
  };
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return refuse([], 'must be a condition');
  const { kind, type } = value as Record<string, unknown>;
  if (typeof kind !== 'string') {
    return refuse(
      ['kind'],
      typeof type === 'string' ? `is required: write "kind": "${type}" in place of "type"` : 'is required',
    );
  }
  const schema = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined;
  if (schema === undefined) return refuse(['kind'], unknownName('kind of condition', kind, Object.keys(KINDS)));
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  for (const { path, message } of problemsOf(schema, result.error)) refuse(path === '' ? [] : path.split('.'), message);
  return z.NEVER;
});

const nested = z.lazy(() => PolicyCondition);
const several = z.array(nested).min(1, 'must not be empty').max(50);

const KINDS: Readonly<Record<string, z.ZodType<Translated>>> = {
  ...FLAT_KINDS,
  and: z
    .strictObject({ kind: z.literal('and'), all: several })
    .transform((one) => ({ type: 'all', config: { conditions: one.all } })),
  or: z
    .strictObject({ kind: z.literal('or'), any: several })
    .transform((one) => ({ type: 'any', config: { conditions: one.any } })),
  not: z
    .strictObject({ kind: z.literal('not'), not: nested })
    .transform((one) => ({ type: 'not', config: { condition: one.not } })),
  custom: z
    .looseObject({ kind: z.literal('custom') })
    .refine(() => false, {
      path: ['kind'],
      message: 'custom conditions are functions of the agent and cannot be evaluated here; use "signal"',
    })
    .transform(() => ({ type: 'custom', config: {} })),
};
