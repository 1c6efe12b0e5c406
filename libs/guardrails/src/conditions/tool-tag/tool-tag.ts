import { z } from 'zod';
import type { CallCondition } from '../../catalog/condition-module.ts';
import { foldedName } from '../../patterns/names.ts';

const ToolTagConfig = z.strictObject({
  operator: z.enum(['anyOf', 'allOf']).default('anyOf').meta({ title: 'The tool has' }),
  tags: z.array(z.string().min(1).max(256)).min(1).max(100).meta({ title: 'Tags' }),
});
type ToolTagConfig = z.infer<typeof ToolTagConfig>;

/** Tags of the tool, ignoring case. */
export const toolTag: CallCondition<ToolTagConfig> = {
  type: 'tool_tag',
  title: 'Tool tag',
  description: 'The call is to a tool with these tags.',
  unit: '',
  cadence: 'call',
  config: ToolTagConfig,
  example: { operator: 'anyOf', tags: ['destructive'] },
  phases: ['decision'],
  askedIn: ['tool.before', 'tool.after'],
  ready({ operator, tags }) {
    const wanted = tags.map(foldedName);
    return {
      reads: [],
      matches({ request: { tool } }) {
        if (tool === undefined) return 'missing';
        const has = new Set(tool.tags.map(foldedName));
        return operator === 'anyOf' ? wanted.some((tag) => has.has(tag)) : wanted.every((tag) => has.has(tag));
      },
    };
  },
};
