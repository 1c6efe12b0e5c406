import { setTimeout } from 'node:timers/promises';
import {
  DecisionGateway,
  GatewayMetrics,
  KnownRuns,
  LocalDecisionPath,
  OwnRuns,
  RunOwners,
  TreeLimiter,
} from '@agentlens/decisions';
import { createStreamingClient } from '@agentlens/egress';
import { ControlBoard, ControlTables, type Platform, PriceBooks } from '@agentlens/platform';
import { AnswerRules } from './answers/answer-rules.ts';
import { ConversationRuns } from './callers/conversation-runs.ts';
import { Admission } from './calls/admission.ts';
import { CallLimits } from './calls/call-limits.ts';
import { CallEstimates } from './calls/estimate.ts';
import { Forwarder } from './calls/forwarder.ts';
import { ProviderAttempts } from './calls/provider-attempts.ts';
import { OpenAnswers } from './calls/open-answers.ts';
import { StandingRefusals } from './standing-refusals.ts';
import { Connections } from './connections/connections.ts';
import { FreeCalls } from './free-calls.ts';
import { ModelCallMetrics } from './model-call-metrics.ts';
import { ModelCallPipeline } from './pipeline.ts';
import { ModelProviderClient } from './providers/model-provider-client.ts';
import { TrialProvider } from './providers/trial-provider.ts';
import { CallRecorder } from './records/call-recorder.ts';
import { AnswerTools } from './tools/answer-tools.ts';
import { ResultQuestions } from './tools/result-questions.ts';
import { ToolQuestions } from './tools/tool-questions.ts';

/** Builds the model gateway: every class once, with its collaborators. Starts nothing. */
export function wireModelGateway(platform: Platform) {
  const { bus, clock, config, health, idempotency, keys, secrets, egressPolicy } = platform;
  const database = platform.database('model-gateway');
  const logger = platform.logger.child({ service: 'model-gateway' });
  const now = () => clock.now();

  const board = new ControlBoard({ bus, clock, logger, reader: new ControlTables(database) });
  const prices = new PriceBooks({ bus, clock, logger, database });
  const connections = new Connections({ database, secrets, clock, logger });
  const provider = new ModelProviderClient(() => createStreamingClient(egressPolicy));
  const limits = new CallLimits();
  const metrics = new ModelCallMetrics(() => limits.open);

  const recorder = new CallRecorder({ bus, prices, clock, logger });
  const knownRuns = new KnownRuns(platform.runContexts, now, logger);
  const owners = new RunOwners(idempotency, now, (error) =>
    logger.warn({ err: error }, 'state store unavailable; runs are not assigned to agents'),
  );
  const trees = new TreeLimiter(platform.runTrees, now, logger);
  const decisionMetrics = new GatewayMetrics('model_gateway');
  // Orders are decided here. The evaluator decides every other model call, because it reserves from budgets.
  const decisionPath = new LocalDecisionPath({ config, bus, board, metrics: decisionMetrics, clock, health, logger });
  const decisions = new DecisionGateway({
    bus,
    board,
    recorder,
    metrics: decisionMetrics,
    clock,
    logger,
    path: decisionPath,
  });
  const ownRuns = new OwnRuns(knownRuns, owners);
  const runs = new ConversationRuns({ memory: idempotency, ownRuns, clock, logger });
  const estimates = new CallEstimates(now);
  const standing = new StandingRefusals({ memory: idempotency, clock, logger });
  const pause = (ms: number, signal: AbortSignal) => setTimeout(ms, undefined, { signal });
  const admission = new Admission({
    pause,
    decisions,
    runs: knownRuns,
    trees,
    quota: platform.quota,
    estimates,
    prices,
    standing,
    clock,
    logger,
  });
  const openAnswers = new OpenAnswers({ board, bus, keys, logger });
  const questions = new ToolQuestions({ decisions, runs: knownRuns, trees, clock });
  const tools = new AnswerTools({
    ...{ questions, path: decisionPath, standing, clock, logger, pause },
  });
  const forwarder = new Forwarder({
    rules: new AnswerRules({
      ...{ decisions, path: decisionPath, runs: knownRuns, trees, standing, clock, pause },
    }),
    tools,
    openAnswers,
    attempts: new ProviderAttempts({
      provider,
      trial: new TrialProvider(),
      now,
      authorize: (tenantId, connection) => connections.authorize(tenantId, connection),
    }),
  });
  const pipeline = new ModelCallPipeline({
    admission,
    board,
    clock,
    connections,
    estimates,
    forwarder,
    metrics,
    prices,
    recorder,
    results: new ResultQuestions(questions),
    runs,
  });
  const freeCalls = new FreeCalls(provider, connections, board);

  health.add('model-gateway-orders', async () => ({ ok: board.loaded }));
  health.add('model-gateway-prices', async () => ({ ok: prices.ready }));
  return {
    board,
    connections,
    decisionPath,
    decisions,
    freeCalls,
    limits,
    metrics,
    openAnswers,
    pipeline,
    prices,
    provider,
    recorder,
    tools,
  };
}
