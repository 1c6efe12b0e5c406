import type { AnswerOf } from '../../api-types.ts';
import { instant } from '../../output/format.ts';
import type { Tone } from '../../output/style.ts';
import type { Column } from '../../output/table.ts';
import { eventText } from '../event-text.ts';

type Entry = AnswerOf<'getRunTimeline'>['entries'][number];

export const TIMELINE_COLUMNS: readonly Column<Entry>[] = [
  { title: 'at', value: ({ at }) => instant(at) },
  { title: 'kind', value: ({ type }) => type, tone: (_text, entry) => toneOfEntry(entry) },
  { title: 'what happened', value: entryText },
];

function entryText(entry: Entry): string {
  switch (entry.type) {
    case 'event':
      return eventText(entry.event);
    case 'decision':
      return `${entry.decision.verdict} ${entry.decision.toolName ?? entry.decision.phase}: ${entry.decision.message}`;
    case 'trigger':
      return `"${entry.trigger.ruleName}" fired: ${entry.trigger.metadata.message}`;
    case 'alert':
      return `${entry.moment}: ${entry.alert.title} (${entry.alert.status})`;
    case 'order':
      return `${entry.order.state} by ${entry.order.by}${entry.order.reason === '' ? '' : `: ${entry.order.reason}`}`;
    case 'breaker':
      return `circuit breaker of the ${entry.breaker.scope} is ${entry.breaker.state.kind}`;
  }
}

function toneOfEntry(entry: Entry): Tone | undefined {
  if (entry.type === 'event') return entry.event.isError ? 'bad' : 'quiet';
  if (entry.type === 'decision') return entry.decision.verdict === 'BLOCK' ? 'bad' : 'good';
  return 'warning';
}
