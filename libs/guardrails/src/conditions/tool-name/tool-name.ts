import { z } from 'zod';
import type { CallCondition } from '../../catalog/condition-module.ts';
import { foldedName, globMatchesFolded } from '../../patterns/names.ts';

const OPERATORS = ['eq', 'neq', 'contains', 'startsWith', 'endsWith', 'glob', 'in'] as const;

const ToolNameConfig = z
  .strictObject({
    operator: z.enum(OPERATORS).default('glob').meta({ title: 'Name of the tool' }),
    value: z
      .union(
        [
          z.string().min(1, 'must not be empty').max(256),
          z.array(z.string().min(1, 'must not be empty').max(256)).min(1).max(100),
        ],
        {
          error: 'is required, give a string, or with "in" a list of strings',
        },
      )
      .meta({
        title: 'Compared with',
        description: 'A name or part of one, ignoring case; with "in" a list of globs.',
      }),
  })
  .refine(({ operator, value }) => (operator === 'in') === Array.isArray(value), {
    path: ['value'],
    message: 'must be a list with operator "in", and one text with every other',
  });
type ToolNameConfig = z.infer<typeof ToolNameConfig>;

const TEST: Record<(typeof OPERATORS)[number], (name: string, value: string) => boolean> = {
  eq: (name, value) => name === value,
  neq: (name, value) => name !== value,
  contains: (name, value) => name.includes(value),
  startsWith: (name, value) => name.startsWith(value),
  endsWith: (name, value) => name.endsWith(value),
  glob: (name, value) => globMatchesFolded(value, name),
  in: (name, value) => globMatchesFolded(value, name),
};

/** Name of the tool, ignoring case. */
export const toolName: CallCondition<ToolNameConfig> = {
  type: 'tool_name',
  title: 'Tool name',
  description: 'The call is to a tool with this name.',
  unit: '',
  cadence: 'call',
  config: ToolNameConfig,
  example: { operator: 'glob', value: 'deploy_*' },
  phases: ['decision'],
  askedIn: ['tool.before', 'tool.after'],
  ready({ operator, value }) {
    const values = [value].flat().map(foldedName);
    return {
      reads: [],
      matches({ request: { tool } }) {
        if (tool === undefined) return 'missing';
        const name = foldedName(tool.name);
        return values.some((one) => TEST[operator](name, one));
      },
    };
  },
};
