import type { AnswerOf } from '../../api-types.ts';
import type { CommandFile } from '../../command-file.ts';
import { usd } from '../../output/format.ts';
import { type Column, table } from '../../output/table.ts';

type Limits = AnswerOf<'getBreakerLimits'>['defaults'];

interface LimitsRow {
  readonly of: string;
  readonly limits: Limits;
}

const COLUMNS: readonly Column<LimitsRow>[] = [
  { title: 'of', value: ({ of }) => of },
  { title: 'tokens', value: ({ limits }) => limits.maxTokens, align: 'right' },
  { title: 'iterations', value: ({ limits }) => limits.maxIterations, align: 'right' },
  { title: 'cost', value: ({ limits }) => usd(limits.maxCostUsd), align: 'right' },
  { title: 'failures', value: ({ limits }) => limits.maxConsecutiveFailures, align: 'right' },
  { title: 'confidence drop', value: ({ limits }) => limits.maxConfidenceDrop ?? 'not watched', align: 'right' },
  { title: 'probe after', value: ({ limits }) => limits.probeAfterSeconds && `${limits.probeAfterSeconds} s` },
];

export const define: CommandFile['define'] = (command, context) => {
  command.action(async () => {
    const client = await context.connect();
    const answer = await client.getBreakerLimits();
    context.output.print(answer, () => {
      const set = answer.limits.map(({ scope, scopeId, limits }) => ({ of: `${scope} ${scopeId}`, limits }));
      return table([...set, { of: 'everything else', limits: answer.defaults }], COLUMNS, context.output.layout);
    });
  });
};
