import type { StackShape } from '../harness/stack.ts';
import type { Figure } from './figure.ts';
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
