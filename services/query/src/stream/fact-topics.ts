import {
  alertChanged,
  breakerChanged,
  controlOrdered,
  decisionDecided,
  deliverySettled,
  rulesChanged,
  type Topic,
} from '@agentlens/contracts';

import type { FactKind } from '@agentlens/operations';

/** Where the facts of each kind are published. */
export const FACT_TOPICS: Readonly<Record<FactKind, Topic<object>>> = {
  alert_changed: alertChanged as Topic<object>,
  decision: decisionDecided as Topic<object>,
  delivery: deliverySettled as Topic<object>,
  order: controlOrdered as Topic<object>,
  breaker: breakerChanged as Topic<object>,
  rule: rulesChanged as Topic<object>,
};
