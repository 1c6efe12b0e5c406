import { z } from 'zod';
import type { CallCondition } from '../../catalog/condition-module.ts';
import { compileExpression, expressionProblem, MAX_EXPRESSION } from './compile-expression.ts';

const ExpressionConfig = z.strictObject({
  expression: z
    .string()
    .trim()
    .min(1)
    .max(MAX_EXPRESSION)
    .superRefine((source, context) => {
      const problem = expressionProblem(source);
      if (problem !== null) context.addIssue({ code: 'custom', message: problem });
    })
    .meta({
      title: 'Expression',
      description:
        'CEL over tool, args, result, actor, tags, subjects, metrics, phase, agentId and runId. Matches if true.',
    }),
});
type ExpressionConfig = z.infer<typeof ExpressionConfig>;

/** Any other condition on a call, in the Common Expression Language. */
export const expression: CallCondition<ExpressionConfig> = {
  type: 'expression',
  title: 'Expression',
  description: 'A CEL expression about the call is true.',
  unit: '',
  cadence: 'call',
  config: ExpressionConfig,
  example: { expression: 'tool.name == "transfer" && args.amount > 1000 && !("trusted" in tags)' },
  phases: ['decision'],
  askedIn: ['tool.before', 'tool.after', 'llm.before', 'llm.after'],
  ready(config) {
    const { reads, ask } = compileExpression(config.expression);
    return { reads, matches: ({ request }) => ask(request) };
  },
};
