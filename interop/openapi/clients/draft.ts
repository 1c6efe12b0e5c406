/** What each client makes and reads back. */
export const DRAFT = {
  name: 'Made by a generated client',
  conditionType: 'cost_limit',
  conditionConfig: { maxCostUsd: 5, scope: 'session' },
  actionType: 'pause_agent',
  actionConfig: {},
};
