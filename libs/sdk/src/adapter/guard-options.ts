import { checkAgainst, type OptionShape, shapes } from '../check-options.ts';
import type { ApprovalWait, RunConfig } from '../run/run-config.ts';
import type { Subject } from '../wire/model.ts';

/** A tool call as reported by the framework. */
export interface AdapterToolCall {
  /** The framework's id of the call. */
  readonly id?: string;
  readonly name: string;
  readonly args: unknown;
  readonly tags?: readonly string[];
}

/** Options of every `guard(lens, framework, options)`. */
export interface GuardOptions {
  /** Tags for rules to select, by tool name. */
  readonly tags?: Readonly<Record<string, readonly string[]>>;
  /** What the call acts on. */
  readonly subjects?: (call: AdapterToolCall) => readonly Subject[];
  /**
   * Whether a call that a person has to approve waits for the decision. Default: true. With false, or after its
   * `timeoutMs`, the model learns that the call waits, and the agent goes on.
   */
  readonly waitForApproval?: boolean | ApprovalWait;
  /** Actor, session and tags of each run that the adapter starts. `input` is the framework call's input. */
  readonly run?: (input: unknown) => RunConfig;
  /** Refuse nothing; record what would have been refused. Use it for a careful start. */
  readonly observe?: 'only';
}

const OPTIONS: OptionShape = {
  tags: shapes.optional(shapes.having({})),
  subjects: shapes.optional(shapes.callable),
  waitForApproval: shapes.optional(
    shapes.unless(true, shapes.unless(false, shapes.only({ timeoutMs: shapes.ms, pollMs: shapes.ms }))),
  ),
  run: shapes.optional(shapes.callable),
  observe: shapes.optional(shapes.oneOf('only')),
};

/** @throws TypeError naming the option and its allowed values; also for a misspelt option */
export function checkGuardOptions(options: unknown): void {
  checkAgainst('guard', OPTIONS, options);
}
