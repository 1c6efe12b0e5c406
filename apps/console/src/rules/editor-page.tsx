import { useNavigate } from '@tanstack/react-router';
import { useMemo } from 'react';
import type { Catalog } from '../api/model.ts';
import { fixtureOf } from '../run/detail.tsx';
import { storyOf } from '../run/story.ts';
import { useOpened } from '../run/use-opened.ts';
import { useRunDetail, useTimeline } from '../run/use-run.ts';
import { Page } from '../shell/page.tsx';
import { Failed, Loading, Read } from '../ui/faces.tsx';
import { useListSearch } from '../ui/use-list-search.ts';
import { draftFromCall, FIRST_DRAFT } from './draft.ts';
import { RuleEditor } from './rule-editor.tsx';
import { useCatalog } from './use-rules.ts';

type Name = 'run' | 'step' | 'tool' | 'template';

export function NewRulePage() {
  const catalog = useCatalog();
  const { search } = useListSearch<Name>();
  return (
    <Page name="editor" title="New rule" crumbs={[{ name: 'Rules', to: '/guardrails' }]} time="Last 7 days">
      <Read read={catalog} what="What rules can be made of" rows={10}>
        {(data) =>
          search.run === undefined ? (
            <Blank catalog={data} />
          ) : (
            <FromStep catalog={data} runId={search.run} stepId={search.step} />
          )
        }
      </Read>
    </Page>
  );
}

function Blank({ catalog }: { catalog: Catalog }) {
  const navigate = useNavigate();
  return <RuleEditor catalog={catalog} start={FIRST_DRAFT} onDiscard={() => void navigate({ to: '/guardrails' })} />;
}

/** A rule that would have met the step it is made from, with that step to try it on. */
function FromStep({ catalog, runId, stepId }: { catalog: Catalog; runId: string; stepId: string | undefined }) {
  const navigate = useNavigate();
  const run = useRunDetail(runId);
  const timeline = useTimeline(runId);
  const step = useMemo(
    () => storyOf(timeline.data?.entries ?? [], true).find(({ id }) => id === stepId),
    [timeline.data, stepId],
  );
  const opened = useOpened(step);
  if (timeline.data !== undefined && step === undefined) return <Blank catalog={catalog} />;
  const problem = run.error ?? timeline.error ?? opened.error;
  if (run.data === undefined || step === undefined || opened.data === undefined) {
    if (problem === null) return <Loading rows={10} />;
    const retry = () => void Promise.all([run.refetch(), timeline.refetch(), opened.refetch()]);
    return <Failed what="The step this rule is made from" error={problem} onRetry={retry} />;
  }
  const call = fixtureOf(run.data, step, opened.data);
  return (
    <RuleEditor
      catalog={catalog}
      start={draftFromCall(run.data.agentId, step.name, call.args)}
      call={call}
      onDiscard={() => void navigate({ to: '/runs/$id', params: { id: runId }, search: { step: stepId } })}
    />
  );
}
