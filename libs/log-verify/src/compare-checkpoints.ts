import type { OpenedCheckpoint } from './note.ts';
import { checkConsistency } from './tree.ts';

type Tree = Pick<OpenedCheckpoint, 'origin' | 'size' | 'root'>;

/**
 * Whether a log still contains the log of a checkpoint that its reader kept.
 *
 * @param proof hashes of the consistency proof; undefined if none was given
 * @returns what is wrong; undefined if nothing is
 */
export function compareCheckpoints(kept: Tree, now: Tree, proof: readonly Buffer[] | undefined): string | undefined {
  if (kept.origin !== now.origin) return `the kept checkpoint is of ${kept.origin}, another log`;
  if (kept.size > now.size)
    return `the log had ${kept.size} entries and now has ${now.size}: it was cut, or put back to an older state`;
  if (kept.size === 0) return undefined;
  if (kept.size === now.size)
    return kept.root.equals(now.root) ? undefined : 'two different logs of the same size were signed: a fork';
  if (proof === undefined) return `there is no consistency proof from ${kept.size}; ask for one with since`;
  if (checkConsistency(kept, now, proof)) return undefined;
  return `the log does not contain the log of ${kept.size} entries that you kept: it was rewritten`;
}
