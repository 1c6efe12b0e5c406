export {
  type Ballot,
  choosePolicy,
  countEligible,
  DEFAULT_POLICY,
  findPrincipals,
  judgeVote,
  type StoredVote,
  type Vote,
  type VoteAnswer,
  type VoteRefusal,
  type Voter,
} from './approvals/judge-vote.ts';
export {
  type ClaimResult,
  type Claims,
  displayNameFrom,
  findClaim,
  mapClaims,
  unmetRequirement,
} from './claims/map-claims.ts';
export { nextOnCall, type OnCall, type OnCallAnswer, onCallAt } from './on-call/on-call-at.ts';
