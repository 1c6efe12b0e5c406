/** Three independent counts of the same minute and tenant. */
export interface MinuteCounts {
  /** Events that ingest published. An event that a client sent twice can count twice. */
  readonly accepted: number;
  /** Rows in Postgres. */
  readonly stored: number;
  /** Events in messages that evaluators have finished. */
  readonly evaluated: number;
}

export interface MinuteVerdict {
  readonly notStored: number;
  readonly notEvaluated: number;
}

/**
 * Compares the counts. Each event makes at most one row, so equal counts mean that nothing is missing. Fewer rows mean
 * duplicates or missing rows; only then does `countMissing` look for each event.
 *
 * Evaluators count messages once each, so those counts compare directly.
 */
export async function judgeMinute(counts: MinuteCounts, countMissing: () => Promise<number>): Promise<MinuteVerdict> {
  const { accepted, stored, evaluated } = counts;
  return {
    notStored: stored >= accepted ? 0 : await countMissing(),
    notEvaluated: Math.max(0, accepted - evaluated),
  };
}
