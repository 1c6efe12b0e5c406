import { checkAgainst, type OptionShape, shapes } from '../check-options.ts';
import type { ApprovalWait, RunConfig } from '../run/run-config.ts';
import type { Subject } from '../wire/model.ts';

/** One call of a tool, as a framework names it. */
export interface AdapterToolCall {
  /** The framework's id of the call. */
  readonly id?: string;
  readonly name: string;
  readonly args: unknown;
  readonly tags?: readonly string[];
}

/** What every `guard(lens, framework, options)` takes. */
export interface GuardOptions {
  /** Tags that rules may select, by the tool's name. */
  readonly tags?: Readonly<Record<string, readonly string[]>>;
  /** The things a call acts on. */
  readonly subjects?: (call: AdapterToolCall) => readonly Subject[];
  /** Wait for a human inside of the call. Without it a call that needs approval ends the agent's loop. */
  readonly waitForApproval?: boolean | ApprovalWait;
  /** The actor, session and tags of each run the adapter begins; `input` is what the framework was called with. */
  readonly run?: (input: unknown) => RunConfig;
  /** Refuse nothing: what would have been refused is recorded. For a careful start. */
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

/** @throws TypeError naming the option and what it takes, also of one that is misspelt */
export function checkGuardOptions(options: unknown): void {
  checkAgainst('guard', OPTIONS, options);
}
