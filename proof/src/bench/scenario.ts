import type { StackShape } from '../harness/stack.ts';
import type { Figure } from './figure.ts';
import type { Stage } from './stage.ts';

/** What a scenario works with. */
export interface Bench {
  /** How long load is sent in each measurement. */
  readonly seconds: number;
  /** Stored events the queries are asked over. */
  readonly rows: number;
  readonly smoke: boolean;
  /** The shared platform of that shape, warmed up, started when first asked for. */
  stage(shape: StackShape): Promise<Stage>;
  /** A platform of the scenario's own, which it closes. */
  freshStage(shape: StackShape): Promise<Stage>;
  /** Tells whoever watches. */
  progress(text: string): void;
  /** Takes a figure as soon as there is one. */
  found(figure: Figure): void;
}

/** One question: a file here and a line in `scenarios/index.ts`. */
export interface Scenario {
  readonly name: string;
  readonly title: string;
  /** Part of the short set of CI. */
  readonly smoke: boolean;
  run(bench: Bench): Promise<void>;
}
