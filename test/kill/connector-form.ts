import { expect, it } from 'vitest';
import type { ConnectorForm } from './connector-plan.ts';
import { cutOff, describeConnectors } from './connector-report.ts';
import { runConnectors } from './connector-run.ts';
import { withoutSources } from './connector-sources.ts';

/** A kill run of connectors in one of its forms, as a test. */
export function testConnectors(
  name: string,
  { form, seed, timeoutMs }: { form: ConnectorForm; seed: number; timeoutMs: number },
): void {
  const kills = form.rounds.flat().length;
  it.skipIf(withoutSources !== null)(
    `documents equal their sources after every run, over ${kills} kills${withoutSources === null ? '' : `: ${withoutSources}`}`,
    async () => {
      console.log(`connectors, ${name} form: SEED=${seed}`);
      const run = await runConnectors({ ...form, seed, say: (line) => console.log(line) });
      console.log(describeConnectors(run));
      expect(run).toMatchObject({ missed: [], differences: [], fetchedTooOften: [], odd: [] });
      expect(run.struck.map(({ signal }) => signal)).toEqual(Array(kills).fill('SIGKILL'));
      expect(cutOff(run)).toBeGreaterThan(kills / 2);
      expect(run.runs).toBeGreaterThanOrEqual(3 * form.rounds.length);
    },
    timeoutMs,
  );
}
