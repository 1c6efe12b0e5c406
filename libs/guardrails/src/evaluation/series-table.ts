import type { Series } from '../ports/window-store.ts';
import { quantityReader } from '../windows/metrics.ts';
import { sameSeries, seriesKey } from '../windows/span.ts';

type Quantity = ReturnType<typeof quantityReader>;

/** A reader of series, with its previous result. */
export interface Reader {
  series: readonly Series[];
  indexes: readonly number[];
}

/** Up to this number of series, comparing them is faster than building their keys. */
const FEW = 16;

/** The distinct series of a plan, in order of first use, with the quantity that events add to each. */
export class SeriesTable {
  readonly list: Series[] = [];
  readonly quantities: Quantity[] = [];
  /** Created once there are more than `FEW` series. */
  #indexes: Map<string, number> | undefined;

  /**
   * Returns the indexes of a reader's series. Looks them up only if they differ from the reader's previous ones,
   * because most readers read the same series on every event.
   */
  indexesOf(reader: Reader, series: readonly Series[]): readonly number[] {
    if (reader.series === series) return reader.indexes;
    if (!sameList(reader.series, series)) reader.indexes = series.map((one) => this.#indexOf(one));
    reader.series = series;
    return reader.indexes;
  }

  #indexOf(series: Series): number {
    const known = this.list.length <= FEW ? this.list.findIndex((one) => sameSeries(one, series)) : this.#named(series);
    if (known >= 0) return known;
    this.#indexes?.set(seriesKey(series), this.list.length);
    this.quantities.push(quantityReader(series.metric));
    return this.list.push(series) - 1;
  }

  #named(series: Series): number {
    this.#indexes ??= new Map(this.list.map((one, index) => [seriesKey(one), index]));
    return this.#indexes.get(seriesKey(series)) ?? -1;
  }
}

function sameList(a: readonly Series[], b: readonly Series[]): boolean {
  return a.length === b.length && a.every((one, i) => sameSeries(one, b[i]));
}
