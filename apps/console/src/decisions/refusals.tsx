import './refusals.css';
import { Link } from '@tanstack/react-router';
import { visible, visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import { counted, shortId } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { Act } from '../ui/act.tsx';
import { Empty, Read } from '../ui/faces.tsx';
import { Moment } from '../ui/moment.tsx';
import { Section } from '../ui/section.tsx';
import { useChange } from '../ui/use-change.ts';
import { stringifySearch } from '../url/search.ts';

type Answer = Awaited<ReturnType<typeof client.listRefusals>>;
type Group = Answer['groups'][number];
type Refusal = Group['newest'][number];
type Judgement = 'right' | 'wrong';

interface RefusalsQuery {
  readonly ruleId?: string | undefined;
  readonly agentId?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** Was anyone blocked wrongly? Refused calls by rule version, judged in place. */
export function RefusalGroups({ query }: { query: RefusalsQuery }) {
  const read = useRead(['refusals', stringifySearch({ ...query })], (signal) => client.listRefusals({ query, signal }));
  return (
    <div className="pad">
      <Read read={read} what="Refused calls" rows={10}>
        {({ groups, complete }) =>
          groups.length === 0 ? (
            <Empty title="No call was refused.">
              Calls that a rule, a budget or a breaker refuses are listed here.
            </Empty>
          ) : (
            <>
              {groups.map((group) => (
                <RefusalGroup key={`${group.ruleId} ${group.ruleVersion} ${group.reason}`} group={group} />
              ))}
              {!complete && <p className="hint">Only the newest 5,000 refusals of this time were read.</p>}
            </>
          )
        }
      </Read>
    </div>
  );
}

function RefusalGroup({ group }: { group: Group }) {
  const { ruleId, ruleName, ruleVersion, reason, calls, runs, actors, right, wrong, newest } = group;
  const judge = useJudging();
  const open = newest.filter(({ judged }) => judged === undefined);
  const name = ruleName === undefined ? (reason ?? 'a deleted rule') : visible(ruleName);
  const version = ruleVersion === undefined ? '' : `, version ${ruleVersion}`;
  const users = actors === 0 ? '' : ` of ${counted(actors, 'user')}`;
  return (
    <Section
      title={`${name}${version}`}
      note={`${counted(calls, 'call')} in ${counted(runs, 'run')}${users}`}
      link={
        ruleId === undefined ? undefined : (
          <Link to="/guardrails/$id" params={{ id: ruleId }}>
            Rule
          </Link>
        )
      }
    >
      <p className="row judged">
        <span className="t2">
          {right + wrong === 0 ? 'None is judged yet.' : `${wrong} wrong, ${right} right of ${right + wrong} judged.`}
        </span>
        {open.length > 1 && (
          <span className="btns ml">
            <Act scope="review" onPress={() => void judge(open, 'wrong')}>
              All {open.length} wrong
            </Act>
            <Act scope="review" onPress={() => void judge(open, 'right')}>
              All {open.length} right
            </Act>
          </span>
        )}
      </p>
      <ul className="refused">
        {newest.map((refusal) => (
          <RefusedCall key={refusal.decisionId} refusal={refusal} onJudge={(it) => void judge([refusal], it)} />
        ))}
      </ul>
      {calls > newest.length && <p className="hint topped">The newest {newest.length} are shown.</p>}
    </Section>
  );
}

function RefusedCall({ refusal, onJudge }: { refusal: Refusal; onJudge: (judgement: Judgement) => void }) {
  const { decisionId, at, runId, agentId, actor, toolName, callId, arguments: args, judged } = refusal;
  const who = actor === undefined ? visibleName(agentId) : `${visibleName(actor)}, ${visibleName(agentId)}`;
  return (
    <li>
      <span className="clip" title={visible(args)}>
        <bdi className="mono">{visibleName(toolName ?? 'model call')}</bdi> {visible(args)}
      </span>
      <span className="t2 clip" title={who}>
        {who}
      </span>
      <span className="t2">
        <Link to="/runs/$id" params={{ id: runId }} search={{ step: callId ?? `decision ${decisionId}`, tab: 'why' }}>
          {shortId(runId)}
        </Link>
      </span>
      <span className="t3 num">
        <Moment at={at} short />
      </span>
      <span className="seg" role="group" aria-label="Was it refused rightly?" title={judgedBy(judged)}>
        {(['right', 'wrong'] as const).map((judgement) => (
          <button
            key={judgement}
            type="button"
            aria-pressed={judged?.judgement === judgement}
            onClick={() => onJudge(judgement)}
          >
            {judgement === 'right' ? 'Right' : 'Wrong'}
          </button>
        ))}
      </span>
    </li>
  );
}

function judgedBy(judged: Refusal['judged']): string | undefined {
  return judged === undefined ? undefined : `Judged ${judged.judgement} by ${visibleName(judged.by)}`;
}

function useJudging() {
  const change = useChange('refusals', 'Not judged');
  return (refusals: readonly Refusal[], judgement: Judgement) =>
    change(refusals.length === 1 ? `Judged ${judgement}` : `${refusals.length} calls judged ${judgement}`, async () => {
      for (const { decisionId } of refusals)
        await client.judgeRefusal({ params: { id: decisionId }, body: { judgement } });
    });
}
