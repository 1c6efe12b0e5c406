import { ACTIONS } from '../actions/index.ts';
import { jsonSchemaOf } from '../catalog/catalog.ts';
import { CONDITIONS } from '../conditions/index.ts';

/** Body of `GET /api/guardrails/catalog`: everything a rule editor needs. */
export function describeCatalog() {
  return {
    conditions: CONDITIONS.modules.map((condition) => ({
      type: condition.type,
      title: condition.title,
      description: condition.description,
      unit: condition.unit,
      cadence: condition.cadence,
      phases: condition.phases,
      example: condition.example,
      schema: jsonSchemaOf(condition.config),
    })),
    actions: ACTIONS.modules.map((action) => ({
      type: action.type,
      title: action.title,
      description: action.description,
      phases: action.phases,
      urgency: action.urgency,
      secrets: action.secrets,
      example: action.example,
      schema: jsonSchemaOf(action.config),
    })),
  };
}
