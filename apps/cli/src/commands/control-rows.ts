import type { AnswerOf } from '../api-types.ts';
import { instant } from '../output/format.ts';
import { type Tone, toneOf } from '../output/style.ts';

/** What holds an agent or a run; nothing while it goes on. */
export function controlRows({ state, scope, scopeId, by, reason, since }: AnswerOf<'getAgent'>['control']) {
  if (state === 'running') return [];
  const rows: [string, string | undefined, Tone?][] = [
    ['Held', `${state}, the ${scope} ${scopeId}`, toneOf(state)],
    ['By', by],
    ['Why', reason],
    ['Since', since && String(instant(since))],
  ];
  return rows.filter(([, text]) => text !== undefined && text !== '');
}
