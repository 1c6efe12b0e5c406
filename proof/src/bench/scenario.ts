import type { StackShape } from '../harness/stack.ts';
import type { LatencySummary } from '../harness/statistics.ts';
import type { Stage } from './stage.ts';

/** Tools of a scenario. */
export interface Bench {
  /** Duration of the load in each measurement. */
  readonly seconds: number;
  /** Number of stored events for the queries. */
  readonly rows: number;
  readonly smoke: boolean;
  /** The shared platform of that shape, warmed up, started on first use. */
  stage(shape: StackShape): Promise<Stage>;
  /** A separate platform, which the scenario closes. */
  freshStage(shape: StackShape): Promise<Stage>;
  /** Prints progress. */
  progress(text: string): void;
  /** Reports a figure as soon as it is available. */
  found(figure: Figure): void;
}

/** One scenario: a file here and a line in `scenarios/index.ts`. */
export interface Scenario {
  readonly name: string;
  readonly title: string;
  /** Part of the short set of CI. */
  readonly smoke: boolean;
  run(bench: Bench): Promise<void>;
}

/** A condition that must hold before a number is meaningful. */
export interface FigureCheck {
  readonly name: string;
  readonly expected: number;
  readonly actual: number;
}

export function check(name: string, expected: number, actual: number): FigureCheck {
  return { name, expected, actual };
}

/** The result of one measurement. */
export interface Figure {
  readonly scenario: string;
  readonly variant: string;
  readonly shape: StackShape;
  /** Unit of `count`, the rate and the CPU time. */
  readonly unit: 'event' | 'trigger' | 'request' | 'flush' | 'process';
  readonly count: number;
  /** From the first request until everything was stored, evaluated and carried out. */
  readonly seconds: number;
  /** CPU time per unit by process, microseconds. */
  readonly cpuMicros: Readonly<Record<string, number>>;
  /** Latencies in ms, by what was timed. */
  readonly latency: Readonly<Record<string, LatencySummary>>;
  /** Peak resident memory by process, bytes. */
  readonly rssBytes: Readonly<Record<string, number>>;
  readonly checks: readonly FigureCheck[];
  readonly notes: Readonly<Record<string, string | number>>;
}

/** The load generator, whose CPU does not count as the platform's. */
export const GENERATOR = 'generator';

export function isSound(figure: Figure): boolean {
  return figure.checks.every(({ expected, actual }) => expected === actual);
}

export function perSecond({ count, seconds }: Figure): number {
  return seconds === 0 ? 0 : count / seconds;
}

/** CPU of all services and servers per unit, microseconds. */
export function serverCpu({ cpuMicros }: Pick<Figure, 'cpuMicros'>): number {
  return Object.entries(cpuMicros).reduce((sum, [name, micros]) => (name === GENERATOR ? sum : sum + micros), 0);
}
