import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { visible } from '../../../../libs/contracts/src/visible.ts';
import { ruleWords } from '../../../../libs/guardrails/src/words/rule-words.ts';
import { client } from '../api/client.ts';
import type { Decision, Rule, RuleFinding } from '../api/model.ts';
import { shortId } from '../figures/figures.ts';
import { modeOf, useCatalog } from '../rules/use-rules.ts';
import { Gauge } from '../ui/gauge.tsx';
import { ModeChip, VERDICTS, VerdictMark, wouldWord } from '../ui/marks.tsx';
import { measuredText, unitOf } from './measured.ts';

const BYPASS_WORDS: Readonly<Record<string, string>> = {
  missing: 'An argument is missing',
  unavailable: 'Required data was unavailable',
  deadline: 'Required data did not arrive in time',
  error: 'It could not be evaluated',
};
const SAYS: Readonly<Record<string, string>> = {
  block: 'Blocks',
  terminate: 'Ends the run',
  ask: 'Asks a human',
  modify: 'Modifies the call',
  allow: 'Allows',
};

interface RuleLineProps {
  readonly finding: RuleFinding;
  readonly rule: Rule | undefined;
  readonly decision: Decision;
}

/** Result of one rule: verdict, measurement and rule version. */
export function RuleLine({ finding, rule, decision }: RuleLineProps) {
  const catalog = useCatalog().data;
  const bypass = decision.bypasses.find(({ ruleId }) => ruleId === finding.ruleId);
  const enforced = finding.violated && finding.mode === 'enforce';
  const mark = enforced
    ? finding.effect === 'ask'
      ? { ...VERDICTS.ask, word: 'Asks a human' }
      : { ...VERDICTS.block, word: SAYS[finding.effect] ?? finding.effect }
    : finding.violated
      ? { ...VERDICTS.shadow, word: wouldWord(finding.effect) }
      : bypass !== undefined
        ? { ...VERDICTS.bypass, word: bypass.did === 'allow' ? 'Let pass' : 'Blocks (not evaluated)' }
        : finding.matched
          ? VERDICTS.allow
          : VERDICTS.no;
  return (
    <li className={`rl ${enforced ? 'hit' : ''}`}>
      <span className="rs">
        <VerdictMark mark={mark} wordless />
      </span>
      <div className="grow">
        <div className="row">
          <Link to="/guardrails/$id" params={{ id: finding.ruleId }} className={`clip ${enforced ? 'strong' : ''}`}>
            {rule?.name ?? `rule ${shortId(finding.ruleId)}`}
          </Link>
          <span className={`rw st ${mark.tone}`}>{mark.word}</span>
        </div>
        <Measured finding={finding} unit={unitOf(rule, finding.ruleVersion, catalog)} />
        {bypass !== undefined && (
          <div className="t2 vv">
            {BYPASS_WORDS[bypass.why]}; its setting is to {bypass.did}.
          </div>
        )}
        {(enforced || finding.violated) && <DecidingWords finding={finding} rule={rule} />}
        <div className="meta">
          <ModeChip mode={finding.mode} /> v{finding.ruleVersion}
          {rule !== undefined && rule.version !== finding.ruleVersion && (
            <span>
              {' '}
              now v{rule.version}, {modeOf(rule)}
            </span>
          )}
        </div>
      </div>
    </li>
  );
}

/** What the rule said when it decided, and what it says today if that is something else. */
function DecidingWords({ finding: { ruleId, ruleVersion }, rule }: Pick<RuleLineProps, 'finding' | 'rule'>) {
  const isCurrent = rule?.version === ruleVersion;
  const then = useQuery({
    queryKey: ['rule', ruleId, 'version', ruleVersion],
    queryFn: ({ signal }) => client.getRuleVersion({ params: { id: ruleId, version: String(ruleVersion) }, signal }),
    staleTime: Number.POSITIVE_INFINITY,
    enabled: !isCurrent,
  });
  if (isCurrent) return <div className="t2 vv">{visible(ruleWords(rule))}</div>;
  if (then.isError) return <div className="t3 vv">What version {ruleVersion} said is no longer stored.</div>;
  if (then.data === undefined) return <div className="t3 vv">…</div>;
  const words = visible(ruleWords(then.data.rule));
  const today = rule === undefined ? undefined : visible(ruleWords(rule));
  return (
    <>
      <div className="t2 vv">{words}</div>
      {today !== undefined && today !== words && <div className="t3 vv">Today: {today}</div>}
    </>
  );
}

/** Measurement and limit, if the rule measures a number. */
function Measured({
  finding: { value, limit, mode },
  unit,
}: {
  finding: Pick<RuleFinding, 'value' | 'limit' | 'mode'>;
  unit: string;
}) {
  if (value === undefined || limit === undefined) return null;
  const text = measuredText(value, limit, unit);
  // With a limit of 0 there is no share to draw.
  const share = limit > 0 ? value / limit : value > limit ? 1.2 : 1;
  return (
    <div className="row gg">
      <Gauge value={Math.max(0, share)} shadow={mode === 'shadow'} label={text} />
      <span className="num t2 r ml">{text}</span>
    </div>
  );
}
