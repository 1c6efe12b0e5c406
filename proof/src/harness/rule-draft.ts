/** Body of `POST /api/guardrails`, as far as it is needed here. */
export interface HarnessRule {
  readonly name: string;
  readonly conditionType: string;
  readonly conditionConfig: object;
  readonly actionType: string;
  readonly actionConfig: object;
  readonly cooldownMinutes: number;
  readonly agentId?: string;
  readonly dryRun?: boolean;
}
