import type { AgentEvent } from '@agentlens/contracts';
import type { Series } from '../ports/window-store.ts';
import type { EventRule } from '../rules/active-rule.ts';
import type { Feeder } from '../rules/rule-book.ts';
import type { Reader, SeriesTable } from './series-table.ts';

/**
 * One rule to measure on events, and the series of the request it reads. Null if such events do not concern the rule.
 */
export interface Measurement {
  /** Index in the plan's list of measurements. */
  readonly place: number;
  readonly rule: EventRule;
  readonly series: readonly number[] | null;
}

/** What an event reads; shared by all events that read the same. */
interface KindReading {
  readonly measurements: readonly Measurement[];
  /** Distinct series that are read, to which the event adds. */
  readonly series: readonly number[];
}

/** The distinct measurements of a plan, and the rules whose `series` threw. */
export class Measurements {
  readonly list: Measurement[] = [];
  readonly degraded = new Map<EventRule, string>();
  readonly #last = new Map<EventRule, Measurement>();

  of(rule: EventRule, series: readonly number[] | null): Measurement {
    const last = this.#last.get(rule);
    if (last !== undefined && last.series === series) return last;
    const made = { place: this.list.length, rule, series };
    this.list.push(made);
    this.#last.set(rule, made);
    return made;
  }
}

const NOTHING: readonly Series[] = [];
const NO_SERIES: readonly number[] = [];

/**
 * Reads the events of one kind. All of them have the same rules and feeders, which usually read the same series on
 * each.
 */
export class KindReader {
  readonly #table: SeriesTable;
  readonly #measurements: Measurements;
  readonly #rules: readonly (Reader & { readonly rule: EventRule })[];
  readonly #feeders: readonly (Reader & Feeder)[];
  /** The series that each rule and feeder reads on the current event. */
  readonly #found: (readonly number[] | null)[];
  #last: { readonly found: readonly (readonly number[] | null)[]; readonly reading: KindReading } | undefined;

  constructor(table: SeriesTable, measurements: Measurements, rules: readonly EventRule[], feeders: readonly Feeder[]) {
    this.#table = table;
    this.#measurements = measurements;
    this.#rules = rules.map((rule) => ({ rule, series: NOTHING, indexes: NO_SERIES }));
    this.#feeders = feeders.map((feeder) => ({ ...feeder, series: NOTHING, indexes: NO_SERIES }));
    this.#found = Array.from({ length: rules.length + feeders.length }, () => null);
  }

  /** True if no rule listens to this kind. */
  get idle(): boolean {
    return this.#found.length === 0;
  }

  read(event: AgentEvent): KindReading {
    const found = this.#found;
    let at = 0;
    for (const reader of this.#rules) found[at++] = this.#readBy(reader, event);
    for (const reader of this.#feeders) found[at++] = this.#fedBy(reader, event);
    if (this.#last === undefined || !sameItems(this.#last.found, found)) {
      this.#last = { found: [...found], reading: this.#reading() };
    }
    return this.#last.reading;
  }

  #reading(): KindReading {
    return {
      measurements: this.#rules.map(({ rule }, at) => this.#measurements.of(rule, this.#found[at] ?? null)),
      series: [...new Set(this.#found.flatMap((indexes) => indexes ?? NO_SERIES))],
    };
  }

  #readBy(reader: Reader & { readonly rule: EventRule }, event: AgentEvent): readonly number[] | null {
    const { degraded } = this.#measurements;
    if (degraded.size > 0 && degraded.has(reader.rule)) return null;
    try {
      const series = reader.rule.series(event);
      return series === null ? null : this.#table.indexesOf(reader, series);
    } catch (error) {
      degraded.set(reader.rule, error instanceof Error ? error.message : String(error));
      return null;
    }
  }

  /**
   * Returns the series to feed for a decision rule. A feeder that throws feeds nothing: its decisions lack data and
   * report it.
   */
  #fedBy(reader: Reader & Feeder, event: AgentEvent): readonly number[] | null {
    try {
      const series = reader.feed.series(event);
      return series === null ? null : this.#table.indexesOf(reader, series);
    } catch {
      return null;
    }
  }
}

function sameItems(a: readonly unknown[], b: readonly unknown[]): boolean {
  for (let i = 0; i < b.length; i++) if (a[i] !== b[i]) return false;
  return true;
}
