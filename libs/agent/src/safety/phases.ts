export const SAFETY_PHASES = [
  ...(['prompt-template', 'prompt', 'plan', 'tool-input', 'tool-output', 'memory-write', 'result'] as const),
] as const;
export type SafetyPhase = (typeof SAFETY_PHASES)[number];

/** Where a filtered text comes from. */
export interface SafetyWhere {
  readonly phase: SafetyPhase;
  readonly tool?: string;
  /** The stream or collection of a memory write. */
  readonly stream?: string;
}
