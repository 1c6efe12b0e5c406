import { type JsonObject, type ProblemDetail, unstorableText } from '@agentlens/contracts';
import { problemsOf } from '../rules/problems.ts';
import { type ValidatedRule, type ValidDraft, validateDraft } from '../rules/validate-rule.ts';
import { PolicyImport, type RuleSpec } from './policy-spec.ts';

/** Translates the body of `POST /v1/rules`, a policy and its rules in the imported format, into rule drafts. */
export function readPolicy(body: unknown, policyId: string): ValidatedRule<readonly ValidDraft[]> {
  const unstorable = unstorableText(body);
  if (unstorable.length > 0) return refused(unstorable);
  const read = PolicyImport.safeParse(body);
  if (!read.success) return refused(problemsOf(PolicyImport, read.error));
  const drafts: ValidDraft[] = [];
  const details: ProblemDetail[] = [];
  read.data.rules.forEach((rule, place) => {
    const draft = validateDraft(draftOf(read.data, rule, policyId));
    if (draft.ok) drafts.push(draft.value);
    else for (const detail of draft.problem.details ?? []) details.push(inTheirWords(detail, place));
  });
  return details.length > 0 ? refused(details) : { ok: true, value: drafts };
}

function draftOf({ policy }: PolicyImport, rule: RuleSpec, policyId: string): JsonObject {
  const { phase, tool } = rule.selector;
  const { anyOfSlugs, anyOfTags, allOfTags } = policy.agentSelector;
  return {
    name: rule.name,
    ...(policy.description === undefined ? {} : { description: policy.description }),
    enabled: policy.enabled && rule.enabled,
    mode: policy.mode,
    priority: rule.priority,
    conditionType: rule.condition.type,
    conditionConfig: rule.condition.config,
    ...actionOf(rule),
    onMissing: (rule.onMissing ?? policy.onMissingDefault) === 'allow' ? 'allow' : 'block',
    cooldownMinutes: 0,
    policyId,
    selector: {
      phases: [phase],
      ...(tool.name === undefined ? {} : { tools: tool.name }),
      ...(tool.tagsAll === undefined ? {} : { toolTagsAll: tool.tagsAll }),
      ...(tool.tagsAny === undefined ? {} : { toolTagsAny: tool.tagsAny }),
      ...(anyOfSlugs === undefined ? {} : { agentSlugsAny: anyOfSlugs }),
      ...(anyOfTags === undefined ? {} : { agentTagsAny: anyOfTags }),
      ...(allOfTags === undefined ? {} : { agentTagsAll: allOfTags }),
    },
  };
}

const ACTION_OF = { allow: 'allow', hitl: 'require_approval', block: 'block' } as const;

function actionOf({ effect: { type, reason } }: RuleSpec): JsonObject {
  const text = reason?.trim();
  const config = !text
    ? {}
    : type === 'block'
      ? { message: text }
      : type === 'hitl'
        ? { title: text.slice(0, 200) }
        : {};
  return { actionType: ACTION_OF[type], actionConfig: config };
}

/** Maps a path in the draft back to the author's format. */
function inTheirWords({ path, message }: ProblemDetail, place: number): ProblemDetail {
  const [field = '', ...rest] = path.split('.');
  const at = { conditionType: 'condition', conditionConfig: 'condition', selector: 'selector.phase' }[field] ?? field;
  const inside = rest.at(-1);
  const about = field === 'conditionConfig' && inside !== undefined ? `${inside} ` : '';
  return { path: `rules.${place}.${at}`, message: `${about}${message}` };
}

function refused(details: readonly ProblemDetail[]): ValidatedRule<never> {
  return { ok: false, problem: { error: 'Validation failed', status: 400, details: details.slice(0, 20) } };
}
