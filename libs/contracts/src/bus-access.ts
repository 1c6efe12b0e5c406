import { COMMANDS } from './commands.ts';
import {
  agentEvents,
  alertChanged,
  breakerChanged,
  breakersDue,
  controlOrdered,
  deadLetters,
  decisionDecided,
  deliverySettled,
  directiveAcknowledged,
  directiveIssued,
  guardrailTriggered,
  keysChanged,
  keyUsed,
  pricesChanged,
  rulesChanged,
  runChanged,
  runHeartbeats,
  TOPICS,
} from './topics.ts';

type AnyTopic = (typeof TOPICS)[number];
type AnyCommand = (typeof COMMANDS)[keyof typeof COMMANDS];

/** Permissions of one service on the bus. Its broker user can do nothing else. */
export interface BusAccess {
  readonly publishes: readonly AnyTopic[];
  /** Topics it consumes or watches, or whose consumer lag it reads. */
  readonly reads: readonly AnyTopic[];
  readonly asks: readonly AnyCommand[];
  readonly answers: readonly AnyCommand[];
}

const {
  budgetStanding,
  createBudget,
  createRule,
  decide,
  decideAlert,
  deleteBudget,
  deleteRule,
  importPolicy,
  updateBudget,
} = COMMANDS;
const {
  orderControl,
  raiseAlert,
  reportChanges,
  redeliver,
  resetBreaker,
  resolveApproval,
  ruleBundle,
  setBreakerLimits,
} = COMMANDS;
const { cancelBacktest, clearLabel, createBacktest, promoteRule, readLabels, suspendRule, tenantBook } = COMMANDS;
const { applyRuleset, patchBreakerLimits, planRuleset, releaseRuleset } = COMMANDS;
const { deleteBreakerLimits, rearmRules, revertRule, settleReservation, spendApprovals, unpauseAgent, updateRule } =
  COMMANDS;

const { deleteRun, deleteRunActions, eraseActor, eraseRunActions, startReprice } = COMMANDS;
const { deleteApprovalPolicy, readVotes, setApprovalPolicy } = COMMANDS;
const { createSilence, deleteChannel, endSilence, linkChat, setChannel, setRoutes, takeSlackClick, testChannel } =
  COMMANDS;
const CHATS = [takeSlackClick, linkChat];
const NOTICES = [setChannel, deleteChannel, testChannel, setRoutes, createSilence, endSilence, ...CHATS];
const { createWebhook, deleteWebhook, rotateWebhookSecret, testWebhook, updateWebhook } = COMMANDS;

const WEBHOOKS = [createWebhook, updateWebhook, deleteWebhook, rotateWebhookSecret, testWebhook];
const RULE_WRITING = [
  ...[createRule, updateRule, deleteRule, revertRule, promoteRule, suspendRule],
  ...[planRuleset, applyRuleset, releaseRuleset],
  ...[
    createBudget,
    updateBudget,
    deleteBudget,
    setBreakerLimits,
    patchBreakerLimits,
    deleteBreakerLimits,
    resetBreaker,
  ],
];

export const BUS_ACCESS = {
  ingest: {
    publishes: [agentEvents, runHeartbeats, directiveAcknowledged, decisionDecided, keyUsed],
    reads: [
      ...[agentEvents, keysChanged, rulesChanged, pricesChanged, controlOrdered, directiveIssued, alertChanged],
      ...[breakerChanged, breakersDue],
    ],
    asks: [decide, importPolicy, ruleBundle, tenantBook],
    answers: [],
  },
  'model-gateway': {
    publishes: [agentEvents, decisionDecided, keyUsed],
    reads: [keysChanged, rulesChanged, pricesChanged, controlOrdered, directiveIssued, breakerChanged, breakersDue],
    asks: [decide, tenantBook],
    answers: [],
  },
  'run-tracking': {
    publishes: [runChanged, keyUsed, deadLetters],
    reads: [agentEvents, runHeartbeats, decisionDecided, keysChanged, pricesChanged],
    asks: [deleteRunActions, eraseRunActions],
    answers: [deleteRun, eraseActor, startReprice],
  },
  'guardrail-evaluator': {
    publishes: [guardrailTriggered, decisionDecided, breakerChanged, breakersDue, rulesChanged, keyUsed, deadLetters],
    reads: [agentEvents, breakerChanged, rulesChanged, controlOrdered, directiveIssued, keysChanged],
    asks: [resolveApproval, spendApprovals, raiseAlert],
    answers: [
      ...[...RULE_WRITING, importPolicy, decide, ruleBundle, tenantBook],
      ...[budgetStanding, settleReservation, rearmRules, readLabels, clearLabel],
    ],
  },
  'action-dispatcher': {
    publishes: [deliverySettled, alertChanged, directiveIssued, controlOrdered, keyUsed, deadLetters],
    reads: [guardrailTriggered, breakerChanged, directiveAcknowledged, keysChanged],
    asks: [rearmRules],
    answers: [
      ...[
        unpauseAgent,
        redeliver,
        resolveApproval,
        spendApprovals,
        raiseAlert,
        reportChanges,
        decideAlert,
        orderControl,
      ],
      ...[...WEBHOOKS, ...NOTICES, deleteRunActions, eraseRunActions],
      ...[readVotes, setApprovalPolicy, deleteApprovalPolicy],
    ],
  },
  backtester: {
    publishes: [keyUsed],
    // It pauses while evaluators lag.
    reads: [agentEvents, keysChanged],
    asks: [],
    answers: [createBacktest, cancelBacktest],
  },
  query: {
    publishes: [keysChanged, pricesChanged, keyUsed],
    reads: [
      ...[agentEvents, guardrailTriggered, deliverySettled, alertChanged, breakerChanged, decisionDecided],
      ...[
        rulesChanged,
        pricesChanged,
        controlOrdered,
        keysChanged,
        keyUsed,
        runChanged,
        directiveAcknowledged,
        deadLetters,
      ],
    ],
    asks: [
      ...RULE_WRITING,
      budgetStanding,
      unpauseAgent,
      redeliver,
      ...[raiseAlert, reportChanges],
      decideAlert,
      orderControl,
      ...[readVotes, setApprovalPolicy, deleteApprovalPolicy],
      ...[...WEBHOOKS, ...NOTICES],
      deleteRun,
      eraseActor,
      startReprice,
      createBacktest,
      cancelBacktest,
      readLabels,
      clearLabel,
    ],
    answers: [],
  },
} as const satisfies Record<string, BusAccess>;
