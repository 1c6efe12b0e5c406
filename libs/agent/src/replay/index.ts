export type { EffectKind, Effects } from '../effects/effects.ts';
export { liveEffects } from '../effects/effects.ts';
export { type SeedOptions, seededEffects } from '../effects/seeded-effects.ts';
export { Cassette, type CassetteEntry, type RecordedError } from './cassette.ts';
export { type RecordingOptions, recordingEffects } from './recording.ts';
export { type ReplayingEffects, replayingEffects } from './replaying.ts';
export { firstDifference } from './requests.ts';
