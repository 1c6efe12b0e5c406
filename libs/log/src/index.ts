export { digestMember, digestPayload, type EntryKind, type Leaf, SALT_BYTES, writeLeaf } from './entry.ts';
export { EMPTY_ROOT, HASH_BYTES, hashLeaf, hashPair } from './hash.ts';
export {
  type Checkpoint,
  isSignedNote,
  makeSigningKey,
  type NoteSigner,
  openSigner,
  signCheckpoint,
  writeProof,
  writeVerifierKey,
} from './note.ts';
export {
  countTileHashes,
  hashTile,
  isMissingTile,
  parseTilePath,
  TILE_WIDTH,
  type TileResource,
  type TileSource,
  TreeReader,
  writeEntryBundle,
} from './tiles.ts';
export {
  foldHashes,
  Frontier,
  type Node,
  planConsistency,
  planInclusion,
  planSharedProof,
  type ProofPart,
  splitRange,
} from './tree.ts';
export {
  type ChangeRow,
  type DecisionRow,
  digestMembers,
  readErasableMembers,
  type RunPlace,
  type WithheldDigests,
  writeChangePayload,
  writeDecisionPayload,
  writePayload,
} from './payloads.ts';
