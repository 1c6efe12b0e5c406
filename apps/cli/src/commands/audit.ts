import { pages } from '@agentlens/client';
import type { AnswerOf } from '../api-types.ts';
import type { CommandFile } from '../command-file.ts';
import { instant } from '../output/format.ts';
import type { Column } from '../output/table.ts';
import { instantBefore } from '../parse/instant.ts';
import { count } from '../parse/numbers.ts';
import { PAGE, printList } from './print-list.ts';

type AuditRow = AnswerOf<'listAudit'>['entries'][number];

const COLUMNS: readonly Column<AuditRow>[] = [
  { title: 'at', value: ({ changedAt }) => instant(changedAt) },
  { title: 'who', value: ({ actor }) => actor?.person ?? actor?.keyName ?? 'not known' },
  { title: 'did', value: ({ kind }) => kind },
  { title: 'id', value: ({ targetId }) => targetId },
  { title: 'fields', value: changedFields },
  { title: 'reason', value: ({ reason }) => reason },
];

export const define: CommandFile['define'] = (command, context) => {
  const when = instantBefore(context.host.nowMs);
  command
    .option('--actor <name>', 'a person, or the id or name of a key')
    .option('--kind <words>', 'what was done, like rule.changed or key.created; several with commas')
    .option('--target <words>', 'what was changed, like rule or budget; several with commas')
    .option('--id <id>', 'only changes of this one')
    .option('--from <time>', 'an instant, a date or an age like 2h', when)
    .option('--to <time>', 'an instant, a date or an age like 2h', when)
    .option('--limit <n>', 'at most this many', count, 50)
    .addHelpText('after', '\nWith --json each entry says what was before and what is since.')
    .action(async ({ actor, kind, target, id, from, to, limit }) => {
      const client = await context.connect();
      const query = { actor, kind, target, targetId: id, from, to, limit: Math.min(limit, PAGE) };
      await printList(context, {
        pages: pages(client.listAudit, { query }),
        itemsOf: ({ entries }) => entries,
        columns: COLUMNS,
        none: 'No changes match.',
        limit,
      });
    });
};

/** The names of what is different, where there is a before and an after. */
function changedFields({ before, after }: AuditRow): string {
  if (before === null || after === null) return '';
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...names].filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name])).join(', ');
}
