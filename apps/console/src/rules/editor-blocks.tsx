import { visible } from '../../../../libs/contracts/src/visible.ts';
import { ANY_TOOL, toolsWords } from '../../../../libs/guardrails/src/words/condition-words.ts';
import { defaultOnUnavailable } from '../../../../libs/guardrails/src/words/on-unavailable.ts';
import { client } from '../api/client.ts';
import type { Catalog } from '../api/model.ts';
import { counted } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { Icon } from '../ui/icon.tsx';
import { actionMark } from '../ui/marks.tsx';
import { type Draft, decides, fits, type Problem } from './draft.ts';
import { type Schema, SchemaFields, Words } from './schema-form.tsx';

interface BlockProps {
  readonly draft: Draft;
  readonly onChange: (next: Partial<Draft>) => void;
}

/** Who is about to call what. Tools that were seen come first. */
export function When({ draft, decides: isDecision, onChange }: BlockProps & { readonly decides: boolean }) {
  const agents = useRead(['agents', 'names'], (signal) => client.listAgents({ query: { limit: 100 }, signal }));
  const metrics = useRead(['spend', 'tools'], (signal) => client.getMetrics({ query: { range: '7d' }, signal }));
  const seen = metrics.data?.tools ?? [];
  const selected = toolsWords(draft.selector ?? {});
  return (
    <div className="blk">
      <h3>When</h3>
      <div>
        <div className="ln">
          <select
            className="in sl"
            aria-label="Agent"
            value={draft.agentId ?? ''}
            onChange={(event) => onChange({ agentId: event.target.value === '' ? null : event.target.value })}
          >
            <option value="">every agent</option>
            {draft.agentId != null && !agents.data?.agents.some(({ id }) => id === draft.agentId) && (
              <option>{draft.agentId}</option>
            )}
            {(agents.data?.agents ?? []).map(({ id }) => (
              <option key={id}>{id}</option>
            ))}
          </select>
          {isDecision ? (
            <>
              <span className="t2">is about to call</span>
              <Words
                value={draft.toolNames ?? []}
                choices={seen.map(({ tool }) => tool)}
                placeholder={draft.toolNames === undefined ? 'any tool' : 'add a tool'}
                onChange={(toolNames) => onChange({ toolNames })}
              />
            </>
          ) : (
            <span className="t2">has reported something new</span>
          )}
        </div>
        {isDecision && selected !== ANY_TOOL && (
          <div className="ln">
            <span className="hint">Only calls of {visible(selected)}, by the rule’s selector: change it as YAML.</span>
          </div>
        )}
        {isDecision && seen.length > 0 && (
          <div className="ln">
            <span className="hint">
              Seen in 7 days:{' '}
              {seen
                .slice(0, 5)
                .map(({ tool, calls }) => `${tool} ${counted(calls.calls, 'time')}`)
                .join(', ')}
              .
            </span>
          </div>
        )}
      </div>
    </div>
  );
}

const VERBS: Readonly<Record<string, string>> = {
  block: 'block the call',
  terminate_run: 'end the run',
  require_approval: 'ask a human',
  pause_agent: 'pause the agent',
  downgrade_model: 'use a cheaper model',
  modify_arguments: 'change the arguments',
  raise_alert: 'raise an alert',
  notify_webhook: 'call a webhook',
  agentgate_policy: 'change an AgentGate policy',
  allow: 'allow the call',
};

/** Action of the rule, and what happens if the rule cannot be evaluated. */
export function ThenElse({
  catalog,
  draft,
  onChange,
  problems,
}: BlockProps & { readonly catalog: Catalog; readonly problems: readonly Problem[] }) {
  const action = catalog.actions.find(({ type }) => type === draft.actionType);
  const isDecision = decides(catalog, draft.actionType);
  const choose = (actionType: string) => {
    const next = catalog.actions.find(({ type }) => type === actionType);
    const condition = catalog.conditions.find(({ type }) => fits(catalog, type, actionType));
    onChange({
      actionType,
      actionConfig: { ...next?.example },
      // An approval that cannot be requested must not become a yes.
      ...(defaultOnUnavailable(actionType) === 'block' ? { onUnavailable: 'block' } : {}),
      ...(fits(catalog, draft.conditionType, actionType) || condition === undefined
        ? {}
        : { conditionType: condition.type, conditionConfig: { ...condition.example } }),
      ...(decides(catalog, actionType) ? {} : { toolNames: undefined }),
    });
  };
  return (
    <>
      <div className="blk">
        <h3>Then</h3>
        <div>
          <div className="ln">
            <span className={actionMark(draft.actionType).tone}>
              <Icon name={actionMark(draft.actionType).icon} size={14} className="ic" />
            </span>
            <select
              className="in sl"
              aria-label="Action"
              value={draft.actionType}
              onChange={(event) => choose(event.target.value)}
            >
              {catalog.actions.map(({ type, title }) => (
                <option key={type} value={type}>
                  {VERBS[type] ?? title.toLowerCase()}
                </option>
              ))}
            </select>
          </div>
          {action !== undefined && (
            <SchemaFields
              schema={action.schema as Schema}
              value={draft.actionConfig}
              onChange={(actionConfig) => onChange({ actionConfig })}
              path="actionConfig"
              problems={problems}
            />
          )}
        </div>
      </div>
      <div className="blk">
        <h3>Else</h3>
        <div>
          {isDecision ? (
            <div className="ln">
              <Choice
                label="If the call lacks what it looks at"
                value={draft.onMissing ?? 'allow'}
                onChange={(onMissing) => onChange({ onMissing })}
              />
              <Choice
                label="if the rule cannot be evaluated in time"
                value={draft.onUnavailable ?? defaultOnUnavailable(draft.actionType)}
                onChange={(onUnavailable) => onChange({ onUnavailable })}
              />
            </div>
          ) : (
            <div className="ln">
              <label className="row">
                <span className="t2">After it fired it rests for</span>
                <input
                  className="in num short"
                  type="number"
                  min={0}
                  max={1440}
                  value={draft.cooldownMinutes ?? 15}
                  onChange={(event) =>
                    onChange({ cooldownMinutes: event.target.value === '' ? undefined : event.target.valueAsNumber })
                  }
                />
                <span className="t2">minutes</span>
              </label>
            </div>
          )}
          <div className="ln">
            <label className="row">
              <span className="t2">Priority</span>
              <input
                className="in num short"
                type="number"
                min={-1000}
                max={1000}
                value={draft.priority ?? 0}
                onChange={(event) =>
                  onChange({ priority: event.target.value === '' ? undefined : event.target.valueAsNumber })
                }
              />
            </label>
            <span className="hint">Among rules that ask for the same, the higher one is named.</span>
          </div>
        </div>
      </div>
    </>
  );
}

function Choice({
  label,
  value,
  onChange,
}: {
  label: string;
  value: 'allow' | 'block';
  onChange: (value: 'allow' | 'block') => void;
}) {
  return (
    <label className="row">
      <span className="t2">{label}</span>
      <select
        className="in sl"
        value={value}
        onChange={(event) => onChange(event.target.value === 'block' ? 'block' : 'allow')}
      >
        <option value="allow">let it pass</option>
        <option value="block">block</option>
      </select>
    </label>
  );
}
