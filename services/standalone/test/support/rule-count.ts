import type { Platform } from '@agentlens/platform';

/** The number of rules that an evaluator reports on `/readyz`. */
export async function ruleCountOf(platform: Platform): Promise<number> {
  const { checks } = await platform.health.report();
  const detail = checks['guardrail-evaluator']?.detail as { readonly rules?: number } | undefined;
  return detail?.rules ?? 0;
}
