import { randomUUID } from 'node:crypto';
import type { DefineCommand } from '../context.ts';
import { CommandError, EXIT, usageError } from '../errors.ts';
import { toneOf } from '../output/style.ts';
import { details } from '../output/table.ts';

export const check: DefineCommand = (command, context) => {
  command
    .argument('<tool>', 'name of the tool')
    .requiredOption('--agent <id>', 'id of the agent')
    .option('--args <json>', 'its arguments', '{}')
    .option('--run <id>', 'evaluate as a call of this run; omit it to use a new run')
    .option('--tool-tags <names>', 'tags of the tool, comma-separated')
    .addHelpText(
      'after',
      '\nThis is a real decision: it is recorded, and a rule may request approval. Exit code 3: the call is blocked.',
    )
    .action(async (tool, { agent, args, run, toolTags }) => {
      const runId = run ?? `check-${randomUUID()}`;
      const client = await context.connect();
      const decision = await client.evaluateCall({
        params: { runId },
        body: {
          phase: 'tool.before',
          agentId: agent,
          tool: { name: tool, tags: toolTags?.split(',') ?? [] },
          args: parsedArguments(args),
          callId: randomUUID(),
        },
      });
      const { verdict, control, cause, message, finalRuleId } = decision;
      context.output.print(decision, () =>
        details(
          [
            ['Verdict', verdict, toneOf(verdict)],
            ['Run', control === 'TERMINATE' ? 'must end' : 'may continue'],
            ['Why', message],
            ['Rule', finalRuleId],
            ['Approval', cause.kind === 'HITL_PENDING' ? cause.approvalId : undefined],
          ],
          context.output.paint,
        ),
      );
      if (verdict === 'BLOCK') throw new CommandError('The call is blocked.', { exitCode: EXIT.blocked });
    });
};

function parsedArguments(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw usageError(`--args is not JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}
