import type { SeriesShape } from '@agentlens/guardrails';
import type { Layout } from '../windows/plan.ts';

/** Series shapes as the scripts know them. */
export const SHAPES: Record<SeriesShape, number> = { sum: 0, spread: 1, quantiles: 2 };

/** The rings that one agent's messages of a call need, in the order they were first needed. */
export class RingSet {
  readonly names: string[] = [];
  readonly layouts: Layout[] = [];
  readonly #places = new Map<string, number>();

  /** Counts from 1, as in Lua. */
  placeOf(name: string, layout: Layout): number {
    const known = this.#places.get(name);
    if (known !== undefined) return known;
    const place = this.names.push(name);
    this.layouts.push(layout);
    this.#places.set(name, place);
    return place;
  }

  /** Per ring name, shape, length of a bucket and lifetime. */
  describe(): (string | number)[] {
    return this.layouts.flatMap(({ shape, bucketMs, ttlMs }, at) => [
      this.names[at] ?? '',
      SHAPES[shape],
      bucketMs ?? 0,
      ttlMs,
    ]);
  }
}

/** The distinct sets among those of many agents: as a rule all agents of a tenant need the same rings. */
export class RingSets {
  readonly list: RingSet[] = [];

  /** Counts from 1, as in Lua. */
  positionOf(set: RingSet): number {
    const known = this.list.findIndex(({ names }) => sameNames(names, set.names));
    return known < 0 ? this.list.push(set) : known + 1;
  }
}

/** A name says all that a layout does. */
function sameNames(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false;
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
