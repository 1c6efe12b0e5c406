// Given to Jest by the fault suite: the properties of every spec draw from the seed of the run.
import fc from 'fast-check';

fc.configureGlobal({
  seed: Number(process.env.PROOF_PROPERTY_SEED),
  numRuns: Number(process.env.PROOF_PROPERTY_RUNS),
});
