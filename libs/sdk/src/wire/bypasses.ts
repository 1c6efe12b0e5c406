/** Why no decision was made about a call. */
export type Bypass =
  | 'unavailable'
  | 'deadline'
  | 'nonsense'
  | 'refused'
  | 'key_refused'
  | 'unregistered'
  | 'unknown_phase';

/** The cause as recorded in the run, and a description. */
export const BYPASSES: Readonly<Record<Bypass, { readonly cause: string; readonly happened: string }>> = {
  unavailable: { cause: 'away', happened: 'the platform was away' },
  deadline: { cause: 'late', happened: 'the answer came too late' },
  nonsense: { cause: 'nonsense', happened: 'the answer was no decision' },
  refused: { cause: 'refused', happened: 'the platform refused the question' },
  key_refused: { cause: 'key_refused', happened: 'the key was refused' },
  unregistered: { cause: 'unregistered', happened: 'the agent could not be registered yet' },
  unknown_phase: { cause: 'unknown_phase', happened: 'the platform does not decide about model calls' },
};
