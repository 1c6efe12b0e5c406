import type { ApprovalPolicy } from '@agentlens/contracts';
import { type Ballot, DEFAULT_POLICY, type Vote, type Voter } from './judge-vote.ts';

export const HASH = 'a'.repeat(64);

export const person = (id: string, change: Partial<Voter> = {}): Voter => ({
  id,
  isPerson: true,
  isAgent: false,
  isDisabled: false,
  reviews: 'all',
  teams: [],
  ...change,
});

export const policy = (change: Partial<ApprovalPolicy> = {}): ApprovalPolicy => ({ ...DEFAULT_POLICY, ...change });

export const ballot = (change: Partial<Ballot> = {}): Ballot => ({
  kind: 'approval',
  state: 'open',
  version: 1,
  agentId: 'billing-1',
  callHash: HASH,
  isCut: false,
  policy: DEFAULT_POLICY,
  requesters: {},
  owners: [],
  votes: [],
  ...change,
});

export const vote = (voter: Voter, change: Partial<Omit<Vote, 'voter'>> = {}): Vote => ({
  voter,
  verdict: 'approve',
  via: 'console',
  signedInSecondsAgo: 10,
  ...change,
});
