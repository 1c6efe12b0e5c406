import { z } from 'zod';
import type { CallCondition } from '../../catalog/condition-module.ts';
import { DotPath, textsIn, valueAt } from '../../patterns/dot-path.ts';
import { readArguments, unpacked } from '../../patterns/json-text.ts';
import { type ArgumentTest, argumentProblem, asType, OPERATORS, scalarTest } from './argument-test.ts';

const Scalar = z.union([z.string().max(1000), z.number(), z.boolean()], {
  error: 'must be a string, a number, true or false',
});

const ToolArgumentConfig = z
  .strictObject({
    path: DotPath.optional().meta({
      title: 'Argument',
      description: 'Dot path into the arguments. Without a path, every string in the arguments is compared.',
    }),
    type: z.enum(['string', 'number', 'boolean']).default('string').meta({ title: 'Is a' }),
    operator: z.enum(OPERATORS).default('eq').meta({ title: 'That is' }),
    value: z
      .union([Scalar, z.array(z.string().max(1000)).min(1).max(200)], {
        error: 'must be a string of at most 1000 characters, a number, true or false, or a list of strings',
      })
      .optional()
      .meta({ title: 'Compared with' }),
  })
  .superRefine((config, context) => {
    const problem = argumentProblem(config);
    if (problem !== null) context.addIssue({ code: 'custom', ...problem });
  });
type ToolArgumentConfig = z.infer<typeof ToolArgumentConfig> & ArgumentTest;

/** Compares an argument of a call, or any string in its arguments. */
export const toolArgument: CallCondition<ToolArgumentConfig> = {
  type: 'tool_argument',
  title: 'Tool argument',
  description: 'An argument of the call exists, is missing, or has a certain value.',
  unit: '',
  cadence: 'call',
  config: ToolArgumentConfig,
  example: { path: 'amount', type: 'number', operator: 'gt', value: 1000 },
  phases: ['decision'],
  askedIn: ['tool.before', 'tool.after'],
  ready(config) {
    const { path, operator, type } = config;
    if (operator === 'exists' || operator === 'notExists') {
      const wanted = operator === 'exists';
      return {
        reads: ['args'],
        ...(wanted ? { certain: 'yes' } : {}),
        matches: ({ request }) => (valueAt(readArguments(request), path ?? '') !== undefined) === wanted,
      };
    }
    const test = scalarTest(config);
    if (path === undefined) {
      return {
        reads: ['args'],
        certain: 'yes',
        matches({ request: { args } }) {
          const { texts, whole } = textsIn(unpacked(args));
          return texts.some(test) || (whole ? false : 'missing');
        },
      };
    }
    return {
      reads: ['args'],
      // Truncation removes values but never changes them, so a value at the path is the one that was sent.
      certain: 'always',
      matches({ request }) {
        const value = asType(valueAt(readArguments(request), path), type);
        return value === undefined ? 'missing' : test(value);
      },
    };
  },
};
