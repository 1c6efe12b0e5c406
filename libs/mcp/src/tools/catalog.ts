import { z } from 'zod';
import { pick } from '../answer.ts';
import { actionsWith, type McpTool } from '../tool.ts';

const fields = { kind: z.enum(['condition', 'action']), type: z.string().describe('e.g. cost_limit') };
const action = actionsWith(fields);

export const catalog: McpTool = {
  name: 'catalog',
  title: 'Types of conditions and actions',
  description: 'Conditions and actions of rules. With type: the JSON Schema of its configuration and an example.',
  fields,
  actions: {
    list: action({
      scope: 'read',
      takes: ['kind', 'type'],
      run: async ({ client }, { kind, type }) => {
        const all = await client.getRuleCatalog();
        const conditions = kind === 'action' ? [] : all.conditions;
        const actions = kind === 'condition' ? [] : all.actions;
        if (type === undefined) {
          const listed = { conditions: conditions.map(entry), actions: actions.map(entry) };
          return { value: listed, path: '/guardrails' };
        }
        const found = [...conditions, ...actions].filter((one) => one.type === type);
        const known = [...conditions, ...actions].map((one) => one.type);
        return { value: found.length > 0 ? { found } : { found, known }, path: '/guardrails' };
      },
    }),
  },
};

function entry(one: { readonly type: string; readonly title: string; readonly phases: readonly string[] }) {
  return pick(one, 'type', 'title', 'phases');
}
