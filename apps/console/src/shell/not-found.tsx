import { Link } from '@tanstack/react-router';
import { Empty } from '../ui/faces.tsx';
import { Page } from './page.tsx';

export function NotFoundPage() {
  return (
    <Page name="none" title="Not found">
      <div className="pad">
        <Empty
          title="There is no such page."
          act={
            <Link className="b" to="/">
              Go to Now
            </Link>
          }
        >
          The address may be mistyped, or of a newer console.
        </Empty>
      </div>
    </Page>
  );
}
