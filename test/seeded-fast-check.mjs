// Stands in for fast-check where the fault suite runs specs (jest.config.mjs): every property draws from the seed of the run
// and is tried at least as often as the run asks, regardless of the number its spec uses on other days.
import fc from '../node_modules/fast-check/lib/fast-check.js';

/** What fast-check does by itself. */
const USUAL_RUNS = 100;
const seed = Number(process.env.PROOF_PROPERTY_SEED);
const runs = Number(process.env.PROOF_PROPERTY_RUNS);

export default {
  ...fc,
  assert: (property, parameters = {}) =>
    fc.assert(property, { ...parameters, seed, numRuns: Math.max(runs, parameters.numRuns ?? USUAL_RUNS) }),
};
