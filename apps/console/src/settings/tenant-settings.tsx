import { client } from '../api/client.ts';
import { useRead } from '../live-data/live-store.ts';
import { Act } from '../ui/act.tsx';
import { Read } from '../ui/faces.tsx';
import { Section } from '../ui/section.tsx';
import { useChange } from '../ui/use-change.ts';

/** Each has one value in force, and says what the others would mean. */
const CHOICES = [
  {
    field: 'decisionFailMode',
    question: 'A call that nobody could judge in time',
    answers: [
      ['allow', 'is let pass'],
      ['block', 'is blocked'],
    ],
  },
  {
    field: 'defaultBreaker',
    question: 'Runs for which nobody set limits',
    answers: [
      ['on', 'have the default limits'],
      ['off', 'have no limits'],
    ],
  },
  {
    field: 'decisionArguments',
    question: 'Decisions keep the arguments of a call',
    answers: [
      ['redacted', 'without secrets and personal data'],
      ['none', 'not at all'],
    ],
  },
] as const;

export function TenantSettings() {
  const change = useChange('settings', 'Not changed');
  const settings = useRead(['settings'], (signal) => client.getSettings({ signal }));
  const set = (field: string, value: string) =>
    change('In force everywhere within 5 seconds', () => client.patchSettings({ body: { [field]: value } }));
  return (
    <Section title="Tenant">
      <Read read={settings} what="The tenant's settings" rows={3}>
        {(data) => (
          <>
            {CHOICES.map(({ field, question, answers }) => (
              <div key={field} className="row wrap topped" role="group" aria-label={question}>
                <span className="t2">{question}</span>
                {answers.map(([value, name]) => (
                  <Act
                    key={value}
                    scope="admin"
                    kind={data[field] === value ? 'pri' : ''}
                    onPress={() => void set(field, value)}
                  >
                    {name}
                  </Act>
                ))}
              </div>
            ))}
          </>
        )}
      </Read>
    </Section>
  );
}
