import { Catalog } from '../catalog/catalog.ts';
import type { ConditionModule } from '../catalog/condition-module.ts';
import { all } from './all/all.ts';
import { any } from './any/any.ts';
import { costLimit } from './cost-limit/cost-limit.ts';
import { customMetric } from './custom-metric/custom-metric.ts';
import { dataFlow } from './data-flow/data-flow.ts';
import { enduserTag } from './enduser-tag/enduser-tag.ts';
import { errorRateThreshold } from './error-rate-threshold/error-rate-threshold.ts';
import { executionTime } from './execution-time/execution-time.ts';
import { expression } from './expression/expression.ts';
import { healthScoreThreshold } from './health-score-threshold/health-score-threshold.ts';
import { maxCalls } from './max-calls/max-calls.ts';
import { metricWindow } from './metric-window/metric-window.ts';
import { not } from './not/not.ts';
import { repeatedCall } from './repeated-call/repeated-call.ts';
import { sameCall } from './same-call/same-call.ts';
import { sensitiveData } from './sensitive-data/sensitive-data.ts';
import { sequence } from './sequence/sequence.ts';
import { signal } from './signal/signal.ts';
import { subject } from './subject/subject.ts';
import { timeGate } from './time-gate/time-gate.ts';
import { toolArgument } from './tool-argument/tool-argument.ts';
import { toolName } from './tool-name/tool-name.ts';
import { toolTag } from './tool-tag/tool-tag.ts';

const complete = () => CONDITIONS;

/** Every condition a rule can have. To add one, add a folder and an entry below. */
export const CONDITIONS: Catalog<ConditionModule> = new Catalog<ConditionModule>([
  errorRateThreshold,
  costLimit,
  healthScoreThreshold,
  customMetric,
  sameCall,
  toolName,
  toolTag,
  toolArgument,
  enduserTag,
  subject,
  signal,
  sequence,
  maxCalls,
  repeatedCall,
  dataFlow,
  metricWindow,
  executionTime,
  timeGate,
  sensitiveData,
  expression,
  all(complete),
  any(complete),
  not(complete),
]);
