import { expect, it } from 'vitest';
import type { KnowledgeForm } from './knowledge-plan.ts';
import { afterStore, describeKnowledge, inMidEmbedding } from './knowledge-report.ts';
import { runKnowledge } from './knowledge-run.ts';
import { seedFrom } from './plan.ts';

/** A kill run of knowledge in one of its forms, as a test. */
export function testKnowledge(name: string, form: KnowledgeForm, timeoutMs: number): void {
  const kills = [...form.uploading, ...form.changing.flat()].length;
  it(
    `documents get the passages and vectors of an undisturbed run, and are found throughout, over ${kills} kills`,
    async () => {
      const seed = seedFrom(process.env);
      console.log(`knowledge, ${name} form: SEED=${seed}`);
      const run = await runKnowledge({ ...form, seed, say: (line) => console.log(line) });
      console.log(describeKnowledge(run));
      expect(run).toMatchObject({ missed: [], strays: [], searchDifferences: [], stuck: [] });
      expect(run.struck.map(({ signal }) => signal)).toEqual(Array(kills).fill('SIGKILL'));
      expect(inMidEmbedding(run)).toBeGreaterThan(0);
      expect(afterStore(run)).toBeGreaterThan(0);
      expect(run.searches.faults).toEqual([]);
      expect(run.searches.byMeaning).toBeGreaterThan(0);
      expect(run.compared.differences).toEqual([]);
      expect(run.compared.vectors).toBe(run.compared.passages);
      expect(run.compared.passages).toBeGreaterThan(run.documents);
    },
    timeoutMs,
  );
}
