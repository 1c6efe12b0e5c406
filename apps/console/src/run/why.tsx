import { Link } from '@tanstack/react-router';
import { visible } from '../../../../libs/contracts/src/visible.ts';
import type { Alert, Decision, Rule, RuleFinding } from '../api/model.ts';
import { deciderWords } from '../decisions/decider.ts';
import { counted, duration, shortId } from '../figures/figures.ts';
import { ProofButton } from '../log/proof.tsx';
import { useRulesById } from '../rules/use-rules.ts';
import { Copy } from '../ui/copy.tsx';
import { Icon } from '../ui/icon.tsx';
import { bypassedRules } from '../ui/marks.tsx';
import { Moment } from '../ui/moment.tsx';
import { Facts } from '../ui/section.tsx';
import { RuleLine } from './rule-line.tsx';

/** Reasons for a decision, in the order of evaluation: orders, breakers, rules, budgets. */
export function Why({ decision, alert }: { decision: Decision; alert: Alert | undefined }) {
  const rules = useRulesById();
  const lockdown = decision.cause.kind === 'LOCKDOWN';
  const isBreaker = lockdown && /breaker/i.test(decision.message);
  const byBudget =
    decision.cause.kind === 'RULE_VIOLATION' && decision.evaluatedRules.every(({ violated }) => !violated);
  const said = decision.evaluatedRules.filter(({ violated, mode }) => violated && mode === 'enforce').length;
  return (
    <>
      <p className="verd">{sentenceOf(decision, rules, alert)}</p>
      <ol className="lad">
        <Rung
          name="Orders"
          state={lockdown && !isBreaker ? 'block' : 'allow'}
          text={lockdown && !isBreaker ? decision.message : 'none'}
        />
        <Rung
          name="Breakers"
          state={isBreaker ? 'block' : lockdown ? 'no' : 'allow'}
          text={isBreaker ? decision.message : lockdown ? 'not asked' : 'closed'}
        />
        <li className={said > 0 ? 'block' : 'allow'}>
          <Icon name={said > 0 ? 'v-block' : lockdown ? 'v-no' : 'v-allow'} size={14} className="ic" />
          <h3 className={lockdown ? 'off' : ''}>Rules</h3>
          <span className={said > 0 ? 'st block' : 't3'}>
            {lockdown
              ? 'not asked'
              : `${said} of ${counted(decision.evaluatedRules.length, 'rule')} ${said === 1 ? 'says' : 'say'} no`}
          </span>
          {decision.evaluatedRules.length > 0 && (
            <ul className="rls">
              {ordered(decision).map((finding) => (
                <RuleLine key={finding.ruleId} finding={finding} rule={rules.get(finding.ruleId)} decision={decision} />
              ))}
            </ul>
          )}
        </li>
        <Rung
          name="Budgets"
          state={byBudget ? 'block' : decision.verdict === 'BLOCK' ? 'no' : 'allow'}
          text={
            byBudget
              ? decision.message
              : decision.verdict === 'BLOCK'
                ? 'not checked, call already blocked'
                : 'within limits'
          }
        />
      </ol>
      <div className="well told">
        <div className="row">
          <span className="t3">The agent received</span>
          <span className="mono ml">
            {decision.verdict} {decision.control} {decision.cause.kind}
          </span>
        </div>
        <div className="plain">“{visible(decision.message)}”</div>
      </div>
      <Facts
        facts={[
          ['Decided', <Moment key="at" at={decision.decidedAt} ms />],
          decision.decider !== undefined && [
            'Where',
            <Decider key="where" decider={decision.decider} rule={rules.get(decision.decider.askedForRule ?? '')} />,
          ],
          ['Took', duration(decision.latencyMs)],
          [
            'Arguments',
            <span key="digest" className="mono" title={decision.inputsDigest}>
              sha256 {decision.inputsDigest.slice(0, 12)}… <Copy text={decision.inputsDigest} />
            </span>,
          ],
          [
            'Decision',
            <span key="id" className="mono" title={decision.id}>
              {shortId(decision.id)} <ProofButton kind="decision" id={decision.id} className="b quiet sm" />
            </span>,
          ],
        ]}
      />
    </>
  );
}

function Decider({ decider, rule }: { decider: NonNullable<Decision['decider']>; rule: Rule | undefined }) {
  const { book } = decider;
  return (
    <>
      {deciderWords(decider)}
      {book !== undefined && (
        <span className="mono" title={book}>
          {' '}
          {book.slice(0, 12)} <Copy text={book} />
        </span>
      )}
      {rule !== undefined && (
        <>
          {' '}
          (
          <Link to="/guardrails/$id" params={{ id: rule.id }}>
            {rule.name}
          </Link>
          )
        </>
      )}
    </>
  );
}

function sentenceOf(decision: Decision, rules: ReadonlyMap<string, Rule>, alert: Alert | undefined) {
  const rule = decision.finalRuleId === undefined ? undefined : rules.get(decision.finalRuleId);
  const link =
    rule === undefined ? null : (
      <Link to="/guardrails/$id" params={{ id: rule.id }}>
        {rule.name}
      </Link>
    );
  if (decision.cause.kind === 'HITL_PENDING') {
    if (alert?.status === 'approved')
      return (
        <>
          Approved once by {alert.decidedBy ?? 'unknown'}, because of {link ?? 'a rule'}.
        </>
      );
    return <>Needs approval before it runs{link !== null && <>, because of {link}</>}.</>;
  }
  if (decision.verdict === 'BLOCK')
    return (
      <>
        {decision.control === 'TERMINATE' ? 'Blocked, and the run was ended' : 'Blocked before it ran'}
        {link !== null && <>, by {link}</>}.
      </>
    );
  const shadow = decision.evaluatedRules.find(({ violated, mode }) => violated && mode === 'shadow');
  if (shadow !== undefined)
    return <>Allowed. {rules.get(shadow.ruleId)?.name ?? 'A rule'} would have stopped it, were it enforced.</>;
  const bypasses = bypassedRules(decision);
  if (bypasses.some(({ why }) => why !== 'missing')) return <>Allowed, although not every rule could be evaluated.</>;
  if (bypasses.length > 0) return <>Allowed: the call lacks what a rule looks at, and the rule lets such calls pass.</>;
  return <>Allowed: {decision.evaluatedRules.length === 0 ? 'no rule applies to this call' : 'no rule matched'}.</>;
}

function Rung({ name, state, text }: { name: string; state: 'allow' | 'block' | 'no'; text: string }) {
  return (
    <li className={state === 'no' ? 'off' : state}>
      <Icon name={`v-${state}`} size={14} className="ic" />
      <h3 className={state === 'no' ? 'off' : ''}>{name}</h3>
      <span className={state === 'block' ? 'bad' : 't3'}>{text}</span>
    </li>
  );
}

/** The deciding rule first, then shadow rules, bypasses, and rules that did not match. */
function ordered(decision: Decision): RuleFinding[] {
  const rank = (finding: RuleFinding) => {
    if (finding.violated && finding.mode === 'enforce') return finding.ruleId === decision.finalRuleId ? 0 : 1;
    if (finding.violated) return 2;
    return decision.bypasses.some(({ ruleId }) => ruleId === finding.ruleId) ? 3 : 4;
  };
  return decision.evaluatedRules.toSorted((a, b) => rank(a) - rank(b));
}
