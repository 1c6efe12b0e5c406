import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import { actsOnEvents, ruleWords } from '../../../../libs/guardrails/src/words/rule-words.ts';
import { client } from '../api/client.ts';
import type { Rule, RuleStatus, RuleSummary } from '../api/model.ts';
import { problemOf } from '../api/problem.ts';
import { count } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { Page } from '../shell/page.tsx';
import { Act } from '../ui/act.tsx';
import { Failed, Loading, Missing } from '../ui/faces.tsx';
import { Gauge } from '../ui/gauge.tsx';
import { ModeChip } from '../ui/marks.tsx';
import { Ago, Moment } from '../ui/moment.tsx';
import { Facts, Section } from '../ui/section.tsx';
import { toast, toastError } from '../ui/toast.tsx';
import { useListSearch } from '../ui/use-list-search.ts';
import { RuleChangeDialog } from './change-rule.tsx';
import { draftOf } from './draft.ts';
import { Days } from './evidence.tsx';
import { PromoteDialog, RolloutSection, SuspendButton } from './rollout.tsx';
import { RuleEditor } from './rule-editor.tsx';
import { RuleVersions } from './rule-versions.tsx';
import { thresholdOf } from './threshold.ts';
import { chipOf, modeOf, useCatalog } from './use-rules.ts';
import './editor.css';

export function RulePage() {
  const { id = '' } = useParams({ strict: false }) as { id?: string };
  const { search, change } = useListSearch<'tab'>();
  const status = useRead(['rule', id], (signal) => client.getRuleStatus({ params: { id }, signal }));
  const summaries = useRead(['summaries'], (signal) => client.listRuleSummaries({ signal }));
  const catalog = useCatalog();
  const summary = summaries.data?.summaries.find(({ ruleId }) => ruleId === id);
  const rule = status.data?.rule;
  const editing = search.tab === 'edit';
  return (
    <Page
      name={editing ? 'editor' : 'rule'}
      title={rule?.name ?? 'Rule'}
      crumbs={[{ name: 'Rules', to: '/guardrails' }]}
      time="Last 7 days"
      extra={rule !== undefined && <ModeChip {...chipOf(rule)} />}
      stop={rule?.agentId === undefined ? {} : { agentId: rule.agentId }}
    >
      {status.data === undefined || catalog.data === undefined ? (
        status.error === null ? (
          <Loading rows={10} />
        ) : problemOf(status.error).status === 404 ? (
          <Missing title="Rule not found." list={{ name: 'All rules', to: '/guardrails' }}>
            It may have been deleted. What it did stays in the decisions.
          </Missing>
        ) : (
          <Failed what="This rule" error={status.error} onRetry={() => void status.refetch()} />
        )
      ) : editing ? (
        <RuleEditor
          catalog={catalog.data}
          start={draftOf(status.data.rule)}
          rule={status.data.rule}
          summary={summary}
          onDiscard={() => change({ tab: undefined })}
        />
      ) : (
        <Shown status={status.data} summary={summary} onEdit={() => change({ tab: 'edit' })} />
      )}
    </Page>
  );
}

function Shown({
  status,
  summary,
  onEdit,
}: {
  status: RuleStatus;
  summary: RuleSummary | undefined;
  onEdit: () => void;
}) {
  const { rule, agents, recentTriggers } = status;
  const threshold = thresholdOf(rule);
  return (
    <div className="pad rulep">
      <div>
        <Head rule={rule} onEdit={onEdit} />
        <RolloutSection rule={rule} />
        <Section title="What it says">
          <p className="rule-words">{visible(ruleWords(rule))}</p>
          <Facts
            facts={[
              ['Priority', String(rule.priority)],
              [
                'Version',
                <span key="v">
                  {rule.version}, <Moment at={rule.updatedAt} />
                </span>,
              ],
            ]}
          />
        </Section>
        <Section title="Now" note={agents.length === 0 ? undefined : `${agents.length} agents`}>
          {agents.length === 0 ? (
            <p className="hint topped">
              {actsOnEvents(rule.actionType)
                ? 'It has measured no agent yet.'
                : 'It measures nothing over time: it is asked about each call.'}
            </p>
          ) : (
            <table className="tb flush">
              <thead>
                <tr>
                  <th>Agent</th>
                  <th>Value</th>
                  <th className="r">Fired</th>
                  <th className="r">Last</th>
                  <th className="r">Measured</th>
                </tr>
              </thead>
              <tbody>
                {agents.map((agent) => (
                  <tr key={agent.agentId}>
                    <td className="clip">
                      <Link to="/agents/$id" params={{ id: agent.agentId }}>
                        {agent.agentId}
                      </Link>
                      {agent.degradedReason !== undefined && <span className="warn"> {agent.degradedReason}</span>}
                    </td>
                    <td className="valc">
                      {agent.currentValue === undefined ? (
                        <span className="t3">not enough data yet</span>
                      ) : (
                        <span className="num">
                          {Number(agent.currentValue.toPrecision(4))}
                          {threshold !== undefined && (
                            <>
                              {' '}
                              of {threshold.value} {threshold.unit}
                              <Gauge
                                value={agent.currentValue / Math.max(1e-9, threshold.value)}
                                shadow={modeOf(rule) === 'shadow'}
                                label={`${agent.currentValue} of ${threshold.value}`}
                              />
                            </>
                          )}
                        </span>
                      )}
                    </td>
                    <td className="r num">{count(agent.triggerCount)}</td>
                    <td className="r t2">
                      {agent.lastTriggeredAt === undefined ? 'never' : <Ago at={agent.lastTriggeredAt} bare />}
                    </td>
                    <td className="r t3">
                      {agent.lastEvaluatedAt === undefined ? '—' : <Ago at={agent.lastEvaluatedAt} bare />}
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
        </Section>
        {recentTriggers.length > 0 && (
          <Section title="History" note="newest ten">
            <table className="tb flush">
              <tbody>
                {recentTriggers.map((trigger) => (
                  <tr key={trigger.id}>
                    <td className="t3">
                      <Moment at={trigger.triggeredAt} />
                    </td>
                    <td className="clip w100">
                      {visibleName(trigger.agentId)} <span className="t3">{visible(trigger.metadata.message)}</span>
                    </td>
                    <td className="r t2">{trigger.metadata.dryRun ? 'would have' : trigger.actionResult}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Section>
        )}
        <RuleVersions rule={rule} />
      </div>
      <aside className="p-editor-days" aria-label="Evidence">
        <Days rule={rule} summary={summary} />
      </aside>
    </div>
  );
}

function Head({ rule, onEdit }: { rule: Rule; onEdit: () => void }) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [asking, setAsking] = useState<'off' | 'shadow' | 'canary' | 'enforce' | 'delete'>();
  const mode = modeOf(rule);
  const isManaged = rule.ruleset !== undefined;
  const update = (next: 'off' | 'shadow', headers: Readonly<Record<string, string>> = {}) =>
    client.updateRule({
      params: { id: rule.id },
      body: { mode: next, enabled: next !== 'off', dryRun: false },
      headers,
    });
  const set = async (next: 'off' | 'shadow') => {
    if (isManaged) {
      setAsking(next);
      return;
    }
    try {
      await update(next);
      await queries.invalidateQueries();
      toast(next === 'shadow' ? 'In shadow' : 'Off');
    } catch (error) {
      toastError('Not changed', error);
    }
    setAsking(undefined);
  };
  return (
    <header className="rhead">
      <div>
        <p className="rname">
          <bdi>{rule.name}</bdi>
        </p>
        {rule.description !== undefined && <p className="t2">{rule.description}</p>}
        {isManaged && (
          <p className="t2">
            Kept in the ruleset <bdi>{rule.ruleset}</bdi>: its files say what the rule does. A change here overrides
            them and needs a reason.
          </p>
        )}
      </div>
      <div className="btns">
        {!isManaged && (
          <Act scope="admin" onPress={onEdit}>
            Edit
          </Act>
        )}
        {mode !== 'off' && (
          <Act scope="admin" onPress={() => void set('off')}>
            {isManaged ? 'Turn off…' : 'Turn off'}
          </Act>
        )}
        {mode !== 'shadow' && (
          <Act scope="admin" onPress={() => void set('shadow')}>
            {isManaged ? 'Put in shadow…' : 'Put in shadow'}
          </Act>
        )}
        <SuspendButton rule={rule} />
        {mode !== 'enforce' && (
          <Act scope="admin" onPress={() => setAsking('canary')}>
            Canary…
          </Act>
        )}
        {mode !== 'enforce' && (
          <Act scope="admin" kind="pri" onPress={() => setAsking('enforce')}>
            Enforce…
          </Act>
        )}
        <Act scope="admin" kind="quiet danger" onPress={() => setAsking('delete')}>
          Delete…
        </Act>
      </div>
      {(asking === 'canary' || asking === 'enforce') && (
        <PromoteDialog rule={rule} to={asking} onClose={() => setAsking(undefined)} />
      )}
      {asking === 'delete' && (
        <RuleChangeDialog
          rule={rule}
          title={`Delete “${rule.name}”?`}
          verb="Delete rule"
          kind="danger solid"
          done={`${rule.name} deleted`}
          change={(_, headers) => client.deleteRule({ params: { id: rule.id }, headers })}
          onClose={() => setAsking(undefined)}
          onDone={() => void navigate({ to: '/guardrails' })}
        >
          <p>It stops at once and cannot be brought back. What it did stays readable.</p>
        </RuleChangeDialog>
      )}
      {(asking === 'off' || asking === 'shadow') && (
        <RuleChangeDialog
          rule={rule}
          title={asking === 'off' ? `Turn “${rule.name}” off?` : `Put “${rule.name}” in shadow?`}
          verb={asking === 'off' ? 'Turn off' : 'Put in shadow'}
          done={asking === 'off' ? 'Off' : 'In shadow'}
          change={(_, headers) => update(asking, headers)}
          onClose={() => setAsking(undefined)}
        />
      )}
    </header>
  );
}
