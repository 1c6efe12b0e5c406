import { pages } from '@agentlens/client';
import type { AnswerOf } from '../../api-types.ts';
import type { CommandFile } from '../../command-file.ts';
import { duration, instant, usd } from '../../output/format.ts';
import { toneOf } from '../../output/style.ts';
import type { Layout } from '../../output/table.ts';
import { details, table } from '../../output/table.ts';
import { count } from '../../parse/numbers.ts';
import { controlRows } from '../control-rows.ts';
import { TIMELINE_COLUMNS } from './timeline-columns.ts';

type Entry = AnswerOf<'getRunTimeline'>['entries'][number];

export const define: CommandFile['define'] = (command, context) => {
  command
    .argument('<id>', 'the run')
    .option('--limit <n>', 'at most this many entries of its story', count, 100)
    .action(async (id, { limit }) => {
      const client = await context.connect();
      const run = await client.getRun({ params: { id } });
      const entries: Entry[] = [];
      const query = { limit: Math.min(limit, 200) };
      for await (const page of pages(client.getRunTimeline, { params: { id }, query })) {
        entries.push(...page.entries);
        if (entries.length >= limit) break;
      }
      const timeline = entries.slice(0, limit);
      const { output } = context;
      output.print({ run, timeline }, () => runText(run, timeline, output.layout));
      if (entries.length > limit) output.note(`The story goes on: --limit ${limit * 4} reads further.`);
    });
};

function runText(run: AnswerOf<'getRun'>, timeline: readonly Entry[], layout: Layout): string {
  const { totals } = run;
  const head = details(
    [
      ['Run', run.id, 'strong'],
      ['Agent', run.agentId],
      ['Status', run.status, toneOf(run.status)],
      ...controlRows(run.control),
      ['Started', instant(run.startedAt)],
      ['Took', duration(run.durationMs)],
      ['Model', run.model],
      ['Parent', run.parentRunId],
      ['Calls', `${totals.toolCalls} of tools, ${totals.llmCalls} of models, ${totals.errors} errors`],
      ['Tokens', `${totals.inputTokens} in, ${totals.outputTokens} out`],
      ['Cost', usd(totals.costUsd)],
    ],
    layout.paint,
  );
  return timeline.length === 0 ? head : `${head}\n\n${table(timeline, TIMELINE_COLUMNS, layout)}`;
}
