import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { client } from '../api/client.ts';
import type { Catalog, Rule, RuleSummary } from '../api/model.ts';
import { counted } from '../figures/figures.ts';
import { Act } from '../ui/act.tsx';
import { Dialog } from '../ui/dialog.tsx';
import { Icon } from '../ui/icon.tsx';
import { toast, toastError } from '../ui/toast.tsx';
import { useSettled } from '../ui/use-settled.ts';
import { ConditionBuilder } from './condition-builder.tsx';
import { bodyOf, type Draft, decides, fits, type Problem } from './draft.ts';
import { ThenElse, When } from './editor-blocks.tsx';
import { Evidence } from './evidence.tsx';
import { sentence } from './schema-form.tsx';
import type { TrialCall } from './try-call.tsx';
import './editor.css';

const YamlView = lazy(() => import('./yaml-view.tsx').then(({ YamlView: view }) => ({ default: view })));

interface RuleEditorProps {
  readonly catalog: Catalog;
  readonly start: Draft;
  /** Absent: the rule is new. */
  readonly rule?: Rule;
  readonly summary?: RuleSummary | undefined;
  /** A real step to try the draft on. */
  readonly call?: TrialCall | undefined;
  readonly onDiscard: () => void;
}

const VALIDATE_AFTER_MS = 350;

/** One sentence: when who is about to call what, if conditions hold, then the action, else what happens. */
export function RuleEditor({ catalog, start, rule, summary, call, onDiscard }: RuleEditorProps) {
  const [draft, setDraft] = useState(start);
  const [yaml, setYaml] = useState(false);
  const [enforcing, setEnforcing] = useState(false);
  const [busy, setBusy] = useState(false);
  const navigate = useNavigate();
  const queries = useQueryClient();
  const problems = useProblems(draft);
  // An untouched draft is incomplete, not wrong.
  const shown = draft === start ? [] : (problems.data?.details ?? []);
  const change = (next: Partial<Draft>) => setDraft((before) => ({ ...before, ...next }));
  const conditionTypes = catalog.conditions
    .filter(({ type }) => fits(catalog, type, draft.actionType))
    .map(({ type }) => type);

  const save = async (mode: Draft['mode']) => {
    setBusy(true);
    const body = bodyOf(draft, mode);
    try {
      const saved =
        rule === undefined
          ? await client.createRule({ body })
          : await client.updateRule({ params: { id: rule.id }, body: { ...body, agentId: draft.agentId ?? null } });
      await queries.invalidateQueries();
      toast(
        mode === 'shadow'
          ? `Saved as shadow, version ${saved.version}`
          : mode === 'enforce'
            ? `Enforced, version ${saved.version}`
            : `Saved and off, version ${saved.version}`,
      );
      void navigate({ to: '/guardrails/$id', params: { id: saved.id } });
    } catch (error) {
      toastError('Not saved', error);
    } finally {
      setBusy(false);
      setEnforcing(false);
    }
  };
  const wrong = problems.data?.valid === false;
  const cannot = busy || wrong || draft.name.trim() === '';
  return (
    <>
      <div className="bar0">
        <span className="grow t2 clip">
          {rule === undefined
            ? 'New rule'
            : `Draft of version ${rule.version + 1}; version ${rule.version} is in force`}
        </span>
        <div className="seg" role="group" aria-label="How to write it">
          <button type="button" aria-pressed={!yaml} onClick={() => setYaml(false)}>
            Builder
          </button>
          <button type="button" aria-pressed={yaml} onClick={() => setYaml(true)}>
            YAML
          </button>
        </div>
      </div>
      <form className="ed" onSubmit={(event) => event.preventDefault()} aria-label="Rule">
        {yaml ? (
          <Suspense fallback={null}>
            <YamlView draft={draft} onChange={setDraft} />
          </Suspense>
        ) : (
          <>
            <input
              className="nmf"
              aria-label="Name"
              placeholder="Name this rule"
              value={draft.name}
              maxLength={200}
              onChange={(event) => change({ name: event.target.value })}
            />
            <input
              className="des"
              aria-label="Why it is there"
              placeholder="Why it is there"
              value={draft.description ?? ''}
              maxLength={1000}
              onChange={(event) => change({ description: event.target.value || undefined })}
            />
            <When draft={draft} decides={decides(catalog, draft.actionType)} onChange={change} />
            <div className="blk">
              <h3>If</h3>
              <ConditionBuilder
                catalog={catalog}
                value={{ type: draft.conditionType, config: draft.conditionConfig }}
                onChange={({ type, config }) => change({ conditionType: type, conditionConfig: config })}
                path="conditionConfig"
                problems={shown}
                types={conditionTypes}
              />
            </div>
            <ThenElse catalog={catalog} draft={draft} onChange={change} problems={shown} />
          </>
        )}
        <Unplaced problems={shown} yaml={yaml} />
      </form>
      <Evidence draft={draft} rule={rule} summary={summary} call={call} valid={!wrong} />
      <footer className="sav">
        <span className="st shadow-v">
          <Icon name="v-shadow" size={14} />
        </span>
        <span className="t3">
          {wrong
            ? `It cannot be saved yet: ${shown.length === 0 ? 'fill in the empty fields' : 'see the marked fields'}.`
            : 'Saved as shadow it blocks nothing and counts what it would have done.'}
        </span>
        <span className="sp" />
        <button type="button" className="b quiet" onClick={onDiscard}>
          Discard
        </button>
        <Act scope="admin" disabled={cannot} onPress={() => setEnforcing(true)}>
          Enforce…
        </Act>
        <Act scope="admin" kind="pri" disabled={cannot} onPress={() => void save('shadow')}>
          Save as shadow
        </Act>
      </footer>
      {enforcing && (
        <EnforceDialog
          name={draft.name}
          summary={summary}
          onKeep={() => setEnforcing(false)}
          onEnforce={() => void save('enforce')}
        />
      )}
    </>
  );
}

/** What the server says of the draft as typed, a moment after typing. */
function useProblems(draft: Draft) {
  const settled = useSettled(draft, VALIDATE_AFTER_MS);
  const body = bodyOf({ ...settled, name: settled.name.trim() === '' ? 'unnamed' : settled.name }, 'shadow');
  return useQuery({
    queryKey: ['validate', JSON.stringify(body)],
    queryFn: ({ signal }) => client.validateRule({ body, signal }),
    placeholderData: (previous) => previous,
    retry: false,
  });
}

/** Problems that no field shows. */
function Unplaced({ problems, yaml }: { problems: readonly Problem[]; yaml: boolean }) {
  const shown = problems.filter(({ path }) => yaml || !/^(conditionConfig|actionConfig)\./.test(path));
  if (shown.length === 0) return null;
  return (
    <ul className="unplaced" role="alert">
      {shown.map(({ path, message }) => (
        <li key={path + message} className="hint bad">
          <b>{path || 'Rule'}</b> {sentence(message)}
        </li>
      ))}
    </ul>
  );
}

function EnforceDialog({
  name,
  summary,
  onKeep,
  onEnforce,
}: {
  name: string;
  summary: RuleSummary | undefined;
  onKeep: () => void;
  onEnforce: () => void;
}) {
  const would = (summary?.wouldHave ?? []).reduce((sum, one) => sum + one, 0);
  return (
    <Dialog
      title={`Enforce “${name}”?`}
      open
      onClose={onKeep}
      acts={
        <>
          <button type="button" className="b" onClick={onKeep}>
            Keep in shadow
          </button>
          <button type="button" className="b pri" onClick={onEnforce}>
            Enforce it
          </button>
        </>
      }
    >
      <div className="kd">
        <div className="note ghost">
          <Icon name="v-shadow" />
          <div>
            {would === 0
              ? 'In the last 7 days it would have acted on nothing, or it was not in shadow: there is no evidence yet.'
              : `In 7 days of shadow it would have acted ${counted(would, 'time')}.`}
          </div>
        </div>
        <p>
          From the next call on it acts, on every evaluator within seconds. The version in force now stays in the
          history of what it did.
        </p>
      </div>
    </Dialog>
  );
}
