import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { gitProvider } from '#adapters/sources/git/provider.ts';
import { defineProvider, type SourceProvider } from '#adapters/sources/provider.ts';
import { SourceFailure, type Source } from '#domain/knowledge/connectors/source.ts';
import { openWorld, type KnowledgeWorld } from '#test/support/knowledge-world.ts';
import { startGitServer } from '#test/support/sources/git-server.ts';
import { RunInSteps } from '#test/support/sources/run-in-steps.ts';

type GitServer = Awaited<ReturnType<typeof startGitServer>>;

let world: KnowledgeWorld;
let server: GitServer;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.stop());
beforeEach(async () => {
  server = await startGitServer();
});
afterEach(() => server.close());

/** @param before called before each document is fetched; may throw */
function openRuns(before: (ref: string) => void = () => {}): Promise<RunInSteps> {
  const git = gitProvider as SourceProvider;
  const provider = defineProvider({
    ...git,
    open: async (scope, access) => {
      const source: Source = await git.open(scope, access);
      const fetch = source.fetch.bind(source);
      return Object.assign(source, {
        fetch: async (...given: Parameters<Source['fetch']>) => {
          before(given[0].ref);
          return fetch(...given);
        },
      });
    },
  });
  return RunInSteps.open(world, provider, {
    providerSlug: 'git',
    scopeConfig: server.scopeConfig,
    allowedOrigins: server.allowedOrigins,
  });
}

describe('what a source takes back after a run that did not end well', () => {
  it('leaves the collection when it was new', async () => {
    const run = await openRuns();
    await server.put('stays.md', 'This stays.');
    await run.whole();
    await server.put('secret.md', 'The password is hunter2.');
    await run.begin();
    await run.fetch();
    await run.finish('cancelled');
    await server.git('revert', '--no-edit', 'HEAD');
    expect(await run.whole()).toMatchObject({ status: 'completed' });
    expect(await run.space.contents()).toEqual({ 'stays.md': 'This stays.' });
  });

  it('is replaced by the content of before', async () => {
    const run = await openRuns();
    await server.put('a.md', 'Public.');
    await run.whole();
    await server.put('a.md', 'The password is hunter2.');
    await run.begin();
    await run.fetch();
    await run.finish('failed');
    await server.git('reset', '-q', '--hard', 'HEAD~1');
    expect(await run.whole()).toMatchObject({ status: 'completed' });
    expect(await run.space.contents()).toEqual({ 'a.md': 'Public.' });
  });

  it('stays when it was a deletion', async () => {
    const run = await openRuns();
    await server.put('a.md', 'Alpha.');
    await server.put('b.md', 'Beta.');
    await run.whole();
    await server.remove('a.md');
    await run.begin();
    await run.fetch();
    await run.finish('cancelled');
    await server.git('revert', '--no-edit', 'HEAD');
    await run.whole();
    expect(await run.space.contents()).toEqual({ 'a.md': 'Alpha.', 'b.md': 'Beta.' });
  });

  it('stays when it was a deletion beside a change that the run did not come to', async () => {
    const cut = new AbortController();
    const run = await openRuns((ref) => {
      if (ref === 'changes.md') cut.abort(new Error('cancelled'));
    });
    await server.put('a.md', 'Alpha.');
    await server.put('b.md', 'Beta.');
    await run.whole();
    await server.remove('a.md');
    await server.put('changes.md', 'Changed.');
    await run.begin();
    await expect(run.fetch(cut.signal)).rejects.toThrow();
    await run.finish('cancelled');
    await server.git('reset', '-q', '--hard', 'HEAD~1');
    await run.whole();
    expect(await run.space.contents()).toEqual({ 'a.md': 'Alpha.', 'b.md': 'Beta.' });
  });

  it('leaves the collection while another document fails in each run', async () => {
    const run = await openRuns((ref) => {
      if (ref === 'bad.md') throw new SourceFailure('source_invalid', 'The document is broken.');
    });
    await server.put('stays.md', 'This stays.');
    await run.whole();
    await server.put('bad.md', 'Bad.');
    await server.put('secret.md', 'The password is hunter2.');
    expect(await run.whole()).toMatchObject({ status: 'completed_with_errors' });
    await server.remove('secret.md');
    expect(await run.whole()).toMatchObject({ status: 'completed_with_errors' });
    expect(await run.space.contents()).toEqual({ 'stays.md': 'This stays.' });
  });

  it('leaves the collection when a worker died in the first page of its listing', async () => {
    const cut = new AbortController();
    let killsAt = 'f225.md';
    const run = await openRuns((ref) => {
      if (ref !== killsAt) return;
      killsAt = '';
      cut.abort(new Error('killed'));
    });
    for (let n = 100; n < 230; n += 1) await server.put(`f${n}.md`, `File ${n}.`);
    await server.put('a-secret.md', 'The password is hunter2.');
    await run.begin();
    await expect(run.fetch(cut.signal)).rejects.toThrow();
    await server.remove('a-secret.md');
    await run.fetch();
    await run.detect();
    expect(await run.finish('done')).toMatchObject({ status: 'completed' });
    await run.whole();
    const names = Object.keys(await run.space.contents());
    expect(names).toHaveLength(130);
    expect(names).not.toContain('a-secret.md');
  });
});
