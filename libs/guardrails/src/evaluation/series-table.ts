import type { Series } from '../ports/window-store.ts';
import { quantityReader } from '../windows/metrics.ts';
import { sameSeries, seriesKey } from '../windows/span.ts';

type Quantity = ReturnType<typeof quantityReader>;

/** Somebody who reads series, and what it read last. */
export interface Reader {
  series: readonly Series[];
  indexes: readonly number[];
}

/** The distinct series of a plan, in the order they were first needed, with what events add to each. */
export class SeriesTable {
  readonly list: Series[] = [];
  readonly quantities: Quantity[] = [];
  readonly #indexes = new Map<string, number>();

  /** Most readers read the same series on every event: names are made only where they differ from the last time. */
  indexesOf(reader: Reader, series: readonly Series[]): readonly number[] {
    if (reader.series === series) return reader.indexes;
    if (!sameList(reader.series, series)) reader.indexes = series.map((one) => this.#indexOf(one));
    reader.series = series;
    return reader.indexes;
  }

  #indexOf(series: Series): number {
    const key = seriesKey(series);
    const known = this.#indexes.get(key);
    if (known !== undefined) return known;
    this.#indexes.set(key, this.list.length);
    this.quantities.push(quantityReader(series.metric));
    return this.list.push(series) - 1;
  }
}

function sameList(a: readonly Series[], b: readonly Series[]): boolean {
  return a.length === b.length && a.every((one, i) => sameSeries(one, b[i]));
}
