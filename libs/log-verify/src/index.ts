export {
  EXIT_CODES,
  EXIT_NOT_WITNESSED,
  type Finding,
  type Status,
  type Trust,
  type Verdict,
  verifyBundle,
  type WitnessedBy,
} from './bundle.ts';
export { runVerifier } from './command.ts';
export { compareCheckpoints } from './compare-checkpoints.ts';
export {
  type KnownSignature,
  type OpenedCheckpoint,
  openCheckpoint,
  readVerifierKey,
  UnreadableInput,
  type VerifierKey,
  WrongSignature,
} from './note.ts';
export { canonical, parseStrictly, type StrictJson } from './strict-json.ts';
export { checkConsistency, checkInclusion, leafHash, rootFromLeaves } from './tree.ts';
export { type Cosigner, openCosigner, Witness, type WitnessAnswer, type WitnessState } from './witness.ts';
