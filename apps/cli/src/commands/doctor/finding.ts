/** What a check of `agentlens doctor` found. */
export interface Finding {
  readonly check: string;
  readonly result: 'ok' | 'warning' | 'failed' | 'skipped';
  readonly what: string;
  /** What to do about it. */
  readonly advice?: string;
  /** Of a failed check: what the command exits with. */
  readonly exitCode?: number;
}
