/** The part of the body of `POST /api/guardrails` that is needed here. */
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
