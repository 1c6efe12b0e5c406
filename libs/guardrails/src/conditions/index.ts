import { Catalog } from '../catalog/catalog.ts';
import type { ConditionModule } from '../catalog/condition-module.ts';
import { costLimit } from './cost-limit/cost-limit.ts';
import { customMetric } from './custom-metric/custom-metric.ts';
import { errorRateThreshold } from './error-rate-threshold/error-rate-threshold.ts';
import { healthScoreThreshold } from './health-score-threshold/health-score-threshold.ts';
import { toolName } from './tool-name/tool-name.ts';

/** Every condition a rule can have. A new one is a folder here and a line below. */
export const CONDITIONS = new Catalog<ConditionModule>([
  errorRateThreshold,
  costLimit,
  healthScoreThreshold,
  customMetric,
  toolName,
]);
