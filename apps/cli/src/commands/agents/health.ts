import type { AnswerOf } from '../../api-types.ts';
import type { CommandFile } from '../../command-file.ts';
import type { Tone } from '../../output/style.ts';
import type { Column } from '../../output/table.ts';

type HealthRow = AnswerOf<'getAgentHealth'>;

const TRENDS: Readonly<Record<HealthRow['trend'], Tone | undefined>> = {
  improving: 'good',
  stable: undefined,
  degrading: 'bad',
};

const COLUMNS: readonly Column<HealthRow>[] = [
  { title: 'agent', value: ({ agentId }) => agentId },
  { title: 'score', value: ({ overallScore }) => Math.round(overallScore), align: 'right' },
  { title: 'trend', value: ({ trend }) => trend, tone: (_text, { trend }) => TRENDS[trend] },
  { title: 'runs', value: ({ sessionCount }) => sessionCount, align: 'right' },
  {
    title: 'weakest',
    value: ({ dimensions }) => dimensions.toSorted((a, b) => a.score - b.score)[0]?.description,
  },
];

export const define: CommandFile['define'] = (command, context) => {
  command.argument('[id]', 'one agent; without it, all of them, the worst first').action(async (id) => {
    const client = await context.connect();
    const agents =
      id === undefined ? (await client.getHealthOverview()).agents : [await client.getAgentHealth({ params: { id } })];
    context.output.printTable(agents, COLUMNS, 'No agent had a run in the last 7 days.');
  });
};
