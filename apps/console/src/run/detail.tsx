import { Link, useNavigate } from '@tanstack/react-router';
import { visibleName } from '../../../../libs/contracts/src/visible.ts';
import type { RunDetail } from '../api/model.ts';
import { Copy } from '../ui/copy.tsx';
import { Read } from '../ui/faces.tsx';
import { Icon } from '../ui/icon.tsx';
import { Moment } from '../ui/moment.tsx';
import { callArgsOf } from './payload-text.ts';
import { StepContent, TABS, type Tab } from './step-content.tsx';
import type { Step } from './story.ts';
import { type Opened, useOpened } from './use-opened.ts';

const NAMES: Readonly<Record<Tab, string>> = {
  call: 'Call',
  result: 'Result',
  why: 'Why',
  price: 'Tokens and price',
  raw: 'Raw',
};

interface DetailProps {
  readonly run: RunDetail;
  readonly step: Step;
  readonly tab: string | undefined;
  readonly onTab: (tab: string | undefined) => void;
}

/** Details of one step. */
export function Detail({ run, step, tab, onTab }: DetailProps) {
  const navigate = useNavigate();
  const opened = useOpened(step);
  const tabs = TABS.filter((one) => has(step, one));
  const { decision } = step;
  const stopped = decision !== undefined && (decision.effect !== 'allow' || decision.wouldHave !== undefined);
  const first: Tab = stopped ? 'why' : 'call';
  const chosen = tabs.find((one) => one === tab) ?? first;
  const isCall = step.kind === 'tool' || step.kind === 'model';
  const makeRule = () =>
    void navigate({
      to: '/guardrails/new',
      search: { run: run.id, step: step.id, tool: step.kind === 'tool' ? step.name : undefined },
    });
  return (
    <>
      <div className="row">
        <h2 className="clip">
          <bdi>{visibleName(step.name)}</bdi>
        </h2>
        <span className="t3 nowrap">
          <Moment at={new Date(step.startMs).toISOString()} ms />
        </span>
      </div>
      <div className="tabs" role="tablist" aria-label="About this step">
        {tabs.map((one) => (
          <button
            key={one}
            type="button"
            role="tab"
            aria-selected={one === chosen}
            onClick={() => onTab(one === first ? undefined : one)}
          >
            {NAMES[one]}
          </button>
        ))}
      </div>
      <div role="tabpanel" className="det-tab" aria-label={NAMES[chosen]}>
        <Read read={opened} what="This step" rows={5}>
          {(data) => <StepContent step={step} opened={data} tab={chosen} />}
        </Read>
      </div>
      {isCall && (
        <div className="btns">
          <button type="button" className="b sm" onClick={makeRule}>
            <Icon name="rules" size={14} />
            Create a rule from this step
          </button>
          {opened.data !== undefined && (
            <Copy text={fixtureText(run, step, opened.data)} label="Copy as fixture" quiet={false} />
          )}
          {step.approval !== undefined && (
            <Link className="b sm" to="/approvals" search={{ id: step.approval.id }}>
              Open approval
            </Link>
          )}
        </div>
      )}
    </>
  );
}

function has(step: Step, tab: Tab): boolean {
  switch (tab) {
    case 'call':
      return true;
    case 'result':
      return step.result !== undefined;
    case 'why':
      return step.decision !== undefined;
    case 'price':
      return step.kind === 'model' && step.result !== undefined;
    case 'raw':
      return true;
  }
}

/** The call as a fixture for rule tests. */
export function fixtureOf(run: RunDetail, step: Step, opened: Opened) {
  return {
    agentId: run.agentId,
    phase: step.kind === 'tool' ? 'tool.before' : 'llm.before',
    ...(step.kind === 'tool' ? { toolName: step.name } : {}),
    args: callArgsOf(opened) ?? {},
    runId: run.id,
    before: new Date(step.startMs).toISOString(),
  };
}

/** Built when it is copied, because arguments may be long. */
function fixtureText(run: RunDetail, step: Step, opened: Opened): () => string {
  return () => JSON.stringify(fixtureOf(run, step, opened), null, 2);
}
