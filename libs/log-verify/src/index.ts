export {
  EXIT_CODES,
  EXIT_NOT_WITNESSED,
  type Finding,
  type Status,
  type Trust,
  type Verdict,
  verifyBundle,
} from './bundle.ts';
export { runVerifier } from './command.ts';
export { compareCheckpoints } from './compare-checkpoints.ts';
export {
  openCheckpoint,
  type OpenedCheckpoint,
  readVerifierKey,
  UnreadableInput,
  type VerifierKey,
  WrongSignature,
} from './note.ts';
export { canonical, type StrictJson, parseStrictly } from './strict-json.ts';
export { checkConsistency, checkInclusion, leafHash, rootFromLeaves } from './tree.ts';
