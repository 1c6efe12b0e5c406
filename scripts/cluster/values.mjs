import { REGISTRY } from '../deploy-rules/chart.mjs';

const ONE = { replicas: 1 };

/** One of everything. */
export const SMALL = {
  ...REGISTRY,
  services: {
    ingest: ONE,
    'run-tracking': ONE,
    'guardrail-evaluator': ONE,
    'action-dispatcher': ONE,
    backtester: ONE,
    query: ONE,
    'model-gateway': ONE,
  },
  edge: ONE,
  nats: ONE,
};

/** The same for charts before the model gateway, which refuse unknown names. */
export function valuesFor(chartServices) {
  const services = Object.fromEntries(Object.entries(SMALL.services).filter(([name]) => chartServices.includes(name)));
  return { ...SMALL, services };
}
