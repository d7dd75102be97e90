import { expect, it } from 'vitest';
import type { ConnectionForm } from './plan.ts';
import { describeConnections } from './report.ts';
import { runConnections } from './run.ts';

/** A kill run of connections in one of its forms, as a test. */
export function testConnections(
  name: string,
  { form, seed, timeoutMs }: { form: ConnectionForm; seed: number; timeoutMs: number },
): void {
  const kills = form.strikes.filter((kind) => kind !== 'silence');
  it(
    `no connection is lost that its authorization server would honour, over ${kills.length} kills`,
    async () => {
      console.log(`connections, ${name} form: SEED=${seed}`);
      const run = await runConnections({ ...form, seed, say: (line) => console.log(line) });
      console.log(describeConnections(run));
      expect(run).toMatchObject({ missed: [], foreign: [], stuck: [] });
      expect(run.tokens).toMatchObject({ usedTwice: [], lost: [] });
      expect(run.struck.filter(({ signal }) => signal === 'SIGKILL')).toHaveLength(kills.length);
      expect(run.tokens.refreshes).toBeGreaterThan(form.strikes.length);
      expect(run.outputs['own account']).toBeGreaterThan(form.strikes.length);
    },
    timeoutMs,
  );
}
