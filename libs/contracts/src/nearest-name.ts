import { distance } from 'fastest-levenshtein';

/** Normalizes spelling: `target_model` and `targetModel` are equal. */
function plain(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9]/g, '').toLowerCase();
}

/** Returns the known name closest to the typed one: one that extends or shortens it first, else by edit distance. */
export function nearestName(typed: string, known: readonly string[]): string | undefined {
  const wanted = plain(typed.slice(0, 200));
  let best: { name: string; cost: number } | undefined;
  for (const name of known) {
    const candidate = plain(name);
    // "all" is in "tool_call" by chance: a name that is contained must be at least half of the typed one.
    const isShortened = wanted.includes(candidate) && candidate.length * 2 >= wanted.length;
    const kin = wanted.length >= 3 && (candidate.includes(wanted) || isShortened);
    const cost = kin ? 0.5 : distance(wanted, candidate);
    if (best === undefined || cost < best.cost || (candidate === wanted && cost <= best.cost)) best = { name, cost };
  }
  return best?.name;
}

/** `unknown key "treshold"; did you mean "threshold"? Known: threshold, windowMinutes.` */
export function unknownName(what: string, typed: string, known: readonly string[]): string {
  const shown = typed.length > 60 ? `${typed.slice(0, 60)}…` : typed;
  const nearest = nearestName(typed, known);
  if (nearest === undefined) return `unknown ${what} "${shown}"; none is known here, remove it`;
  return `unknown ${what} "${shown}"; did you mean "${nearest}"? Known: ${known.join(', ')}`;
}
