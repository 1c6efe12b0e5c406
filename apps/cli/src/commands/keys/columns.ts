import type { AnswerOf, KeyAnswer } from '../../api-types.ts';
import type { CommandContext } from '../../context.ts';
import { instant } from '../../output/format.ts';
import { toneOf } from '../../output/style.ts';
import type { Column } from '../../output/table.ts';

export const KEY_COLUMNS: readonly Column<KeyAnswer>[] = [
  { title: 'id', value: ({ id }) => id },
  { title: 'name', value: ({ name }) => name },
  { title: 'scopes', value: ({ scopes }) => scopes.join(', ') },
  { title: 'state', value: ({ revokedAt }) => (revokedAt === null ? 'valid' : 'revoked'), tone: toneOf },
  { title: 'expires', value: ({ expiresAt }) => instant(expiresAt) ?? 'never' },
  { title: 'last used', value: ({ lastUsedAt }) => instant(lastUsedAt) ?? 'never' },
];

/** A key that was just made: the only time it is shown. */
export function printNewKey({ output }: CommandContext, made: AnswerOf<'createKey'>): void {
  output.printDetails(made, [
    ['Key', made.key],
    ['ID', made.id],
    ['Name', made.name],
    ['Scopes', made.scopes.join(', ')],
    ['Expires', instant(made.expiresAt) ?? 'never'],
  ]);
  output.note('Store the key now: it is not shown again.');
}
