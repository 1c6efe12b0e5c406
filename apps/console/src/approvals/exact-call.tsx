import { visibleName } from '../../../../libs/contracts/src/visible.ts';
import type { Alert } from '../api/model.ts';
import { Copy } from '../ui/copy.tsx';
import { Loading } from '../ui/faces.tsx';
import { Icon } from '../ui/icon.tsx';
import { Note, Section } from '../ui/section.tsx';
import { CallPartView } from './call-part-view.tsx';
import type { CallToDecide } from './use-call.ts';

/** The exact call as far as the key may read it, and the digest that binds the answer to it. */
export function ExactCall({ alert, call }: { alert: Alert; call: CallToDecide }) {
  const { args, result, extent, lacks, retry } = call;
  const nothing = args.value === undefined && args.text === undefined;
  return (
    <Section
      first
      title={extent === 'whole' || extent === 'reading' ? 'The exact call' : 'Part of the call'}
      note={<span className="mono">{visibleName(alert.approval?.toolName ?? '')}</span>}
    >
      {lacks !== undefined && (
        <div className="topped">
          <Note tone="warn" icon={<Icon name="warnt" size={14} />}>
            {lacks}{' '}
            {retry !== undefined && (
              <button type="button" className="b sm" onClick={retry}>
                Try again
              </button>
            )}
          </Note>
        </div>
      )}
      {extent === 'reading' ? (
        <Loading rows={5} />
      ) : nothing ? (
        <p className="hint topped">Arguments unknown.</p>
      ) : (
        <CallPartView part={args} label="Arguments" />
      )}
      {alert.approval !== undefined && (
        <div className="why2 dig">
          <span className="mono t3" title={alert.approval.argsHash}>
            sha256 {alert.approval.argsHash.slice(0, 12)} …
          </span>
          <Copy text={alert.approval.argsHash} />
          <span className="t3">The answer applies to this call only.</span>
        </div>
      )}
      {result !== undefined && (
        <Section title="Its result, which needs approval">
          <CallPartView part={result} label="Result" />
        </Section>
      )}
    </Section>
  );
}
