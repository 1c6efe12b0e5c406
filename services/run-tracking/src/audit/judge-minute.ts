/** Three counts of the same minute and tenant, each by the one who did it. */
export interface MinuteCounts {
  /** Events in the messages ingest published; an event that a client sent twice may be in two of them. */
  readonly accepted: number;
  /** Rows. */
  readonly stored: number;
  /** Events in the messages the evaluators finished. */
  readonly evaluated: number;
}

export interface MinuteVerdict {
  readonly notStored: number;
  readonly notEvaluated: number;
}

/**
 * A row comes from an event of a message, and each event makes at most one, so there are never more rows than accepted
 * events: where the counts are equal, nothing is missing. Where there are fewer rows, events came twice or rows are
 * missing, and only looking for each of them can tell: `countMissing` does, and is not asked otherwise.
 *
 * Messages are evaluated, not events, and each counts once, so those two counts compare directly.
 */
export async function judgeMinute(counts: MinuteCounts, countMissing: () => Promise<number>): Promise<MinuteVerdict> {
  const { accepted, stored, evaluated } = counts;
  return {
    notStored: stored >= accepted ? 0 : await countMissing(),
    notEvaluated: Math.max(0, accepted - evaluated),
  };
}
