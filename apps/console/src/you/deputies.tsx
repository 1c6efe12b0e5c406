import { useState } from 'react';
import { DAY_MS } from '../../../../libs/contracts/src/times.ts';
import { visibleName } from '../../../../libs/contracts/src/visible.ts';
import { client } from '../api/client.ts';
import type { Deputies as DeputyLists, Deputyship } from '../api/model.ts';
import { counted } from '../figures/figures.ts';
import { useRead } from '../live-data/live-store.ts';
import { Act } from '../ui/act.tsx';
import { Dialog, EditActs } from '../ui/dialog.tsx';
import { Read } from '../ui/faces.tsx';
import { FailureLine } from '../ui/failure-line.tsx';
import { Field } from '../ui/field.tsx';
import { Moment } from '../ui/moment.tsx';
import { Section } from '../ui/section.tsx';
import { useChange } from '../ui/use-change.ts';
import { useDialogChange } from '../ui/use-dialog-change.ts';

const DAYS = [1, 3, 7, 14, 30];

/** Who decides approvals in the place of the signed-in person, and the other way round. */
export function Deputies() {
  const read = useRead(['deputies'], (signal) => client.listDeputies({ signal }));
  const run = useChange('deputies', 'The deputy still decides in your place');
  const [naming, setNaming] = useState(false);
  const end = ({ person }: Deputyship) => void run('Ended', () => client.endDeputy({ params: { id: person } }));
  return (
    <Section
      title="Deputies"
      note="decide approvals in your place"
      link={
        <span className="ml">
          <Act kind="sm" onPress={() => setNaming(true)}>
            Name a deputy…
          </Act>
        </span>
      }
    >
      <Read read={read} what="Deputies" rows={1}>
        {({ deputies, standsInFor }) => (
          <>
            {deputies.length === 0 ? (
              <p className="hint topped">You have no deputy. Name one before you are away.</p>
            ) : (
              <table className="tb flush">
                <thead>
                  <tr>
                    <th>Name</th>
                    <th className="r not-s">From</th>
                    <th className="r">Until</th>
                    <th />
                  </tr>
                </thead>
                <tbody>
                  {deputies.map((one) => (
                    <tr key={one.person}>
                      <td className="w100 strong">{visibleName(one.name)}</td>
                      <td className="r t3 not-s">
                        <Moment at={one.startsAt} short />
                      </td>
                      <td className="r t2">
                        <Moment at={one.endsAt} short />
                      </td>
                      <td className="act">
                        <button type="button" className="b sm danger" onClick={() => end(one)}>
                          End
                        </button>
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            )}
            {standsInFor.map((one) => (
              <p key={one.person} className="hint topped">
                You decide in the place of <b>{visibleName(one.name)}</b>, from <Moment at={one.startsAt} short /> until{' '}
                <Moment at={one.endsAt} short />.
              </p>
            ))}
          </>
        )}
      </Read>
      {naming && read.data !== undefined && (
        <NameDeputy candidates={read.data.candidates} onClose={() => setNaming(false)} />
      )}
    </Section>
  );
}

function NameDeputy({ candidates, onClose }: { candidates: DeputyLists['candidates']; onClose: () => void }) {
  const { act, rejection } = useDialogChange(onClose);
  const [person, setPerson] = useState('');
  const [days, setDays] = useState(7);
  const name = () =>
    act('Deputy named', () =>
      client.setDeputy({
        params: { id: person },
        body: { endsAt: new Date(Date.now() + days * DAY_MS).toISOString() },
      }),
    );
  return (
    <Dialog
      title="Name a deputy"
      open
      onClose={onClose}
      acts={<EditActs save="Name deputy" isReady={person !== ''} onSave={() => void name()} onClose={onClose} />}
    >
      <div className="kd">
        <Field label="Who" wrong={rejection.at('id')} hint="People who may review approvals.">
          {(input) => (
            <select {...input} value={person} onChange={(event) => setPerson(event.target.value)}>
              <option value="">Choose a person</option>
              {candidates.map((one) => (
                <option key={one.person} value={one.person}>
                  {visibleName(one.name)}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label="How long" wrong={rejection.at('endsAt')}>
          {(input) => (
            <select {...input} value={days} onChange={(event) => setDays(Number(event.target.value))}>
              {DAYS.map((count) => (
                <option key={count} value={count}>
                  {counted(count, 'day')}
                </option>
              ))}
            </select>
          )}
        </Field>
        <p className="hint">
          The vote is the vote of the deputy, and the audit names both of you. You and your deputies count as one person
          of those whom a policy demands.
        </p>
        <FailureLine>{rejection.besides('id', 'endsAt')}</FailureLine>
      </div>
    </Dialog>
  );
}
