import { Link } from '@tanstack/react-router';
import { client } from '../api/client.ts';
import type { DecisionPaths as Paths } from '../api/model.ts';
import { pathsHint } from '../decisions/decider.ts';
import { count, percent } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { Read } from '../ui/faces.tsx';
import { Facts, Section } from '../ui/section.tsx';

/** Who made the tenant's decisions, and what keeps calls from being decided at the gateway. */
export function DecisionPaths() {
  const paths = useRead(['decisions', 'paths'], (signal) => client.getDecisionPaths({ signal }));
  return (
    <Section title="Where calls are decided" note="last 24 hours">
      <Read read={paths} what="Where calls are decided" rows={4}>
        {(data) => <Shares paths={data} />}
      </Read>
    </Section>
  );
}

function Shares({ paths }: { paths: Paths }) {
  const { gateway, evaluator, unanswered, asked } = paths;
  const total = gateway + evaluator + unanswered;
  const share = (part: number) => (
    <span className="num">
      {count(part)} {total > 0 && <span className="t3">({percent(part / total)})</span>}
    </span>
  );
  const hint = pathsHint(paths);
  return (
    <>
      {total > 0 && (
        <Facts
          facts={[
            ['At gateways', share(gateway)],
            ['At the evaluator', share(evaluator)],
            unanswered > 0 && [
              'Evaluator did not answer',
              <span key="u" className="warn">
                {share(unanswered)}
              </span>,
            ],
          ]}
        />
      )}
      {hint !== undefined && <p className="t2">{hint}</p>}
      {asked.length > 0 && (
        <table className="tb flush l asked">
          <thead>
            <tr>
              <th>Why the evaluator was asked</th>
              <th className="r">Decisions</th>
            </tr>
          </thead>
          <tbody>
            {asked.map(({ reason, why, decisions, ruleId, ruleName, advice }) => (
              <tr key={`${reason} ${ruleId}`}>
                <td>
                  {why}
                  {ruleId !== undefined && (
                    <>
                      {': '}
                      {ruleName === undefined ? (
                        'a deleted rule'
                      ) : (
                        <Link to="/guardrails/$id" params={{ id: ruleId }}>
                          {ruleName}
                        </Link>
                      )}
                    </>
                  )}
                  {advice !== undefined && <p className="t3">{advice}</p>}
                </td>
                <td className="r num">{count(decisions)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}
