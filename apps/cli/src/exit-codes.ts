/** What the command ends with; scripts rely on these numbers. */
export const EXIT = {
  ok: 0,
  /** It was asked for and did not work. */
  failed: 1,
  /** `rules plan --detailed-exitcode`: there are changes. */
  changes: 2,
  /** A call was denied or blocked. */
  blocked: 3,
  /** No valid key, or the key lacks a scope. */
  notAllowed: 4,
  /** What was named is not there, or is not in the state the command needs. */
  notFoundOrConflict: 5,
  /** The platform did not answer, or not in time. */
  unreachable: 6,
  usage: 64,
  interrupted: 130,
} as const;
