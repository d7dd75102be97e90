import { randomBytes } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { gitProvider } from '#adapters/sources/git/provider.ts';
import type { Source } from '#domain/knowledge/connectors/source.ts';
import { startGitServer, type GitServer, type GitServerOptions } from '#test/support/sources/git-server.ts';
import { listAll, openSource } from '#test/support/sources/open-source.ts';

let server: GitServer | null = null;
afterEach(() => server?.close());
const soon = () => AbortSignal.timeout(30_000);

async function serve(files: Record<string, string | Buffer>, options: GitServerOptions = {}) {
  server = await startGitServer(options);
  for (const [name, content] of Object.entries(files)) await server.put(name, content);
  const source = await openSource(gitProvider, server);
  const refs = (await listAll(source)).documents.map(({ ref }) => ref);
  return { server, source, refs };
}

/** Contents by reference, and the requests that reading them took. */
async function readAll(source: Source, refs: readonly string[], from: GitServer) {
  const before = from.requests();
  const contents: Record<string, string> = {};
  for (const ref of refs) {
    const input = { ref, version: null, mediaType: null, maxBytes: 33_554_432 };
    const fetched = await source.fetch(input, soon());
    contents[ref] =
      fetched.kind === 'content' ? Buffer.from(fetched.content).toString('latin1') : fetched.kind;
  }
  return { contents, requests: from.requests() - before };
}

const files = Object.fromEntries(
  // Alike, so that git stores most of them as differences.
  Array.from({ length: 40 }, (_, n) => [
    `f/${n}.md`,
    `${'line of all\n'.repeat(200)}${n}\n${'more\n'.repeat(n)}`,
  ]),
);

describe.each<GitServerOptions>([{ format: 'sha1' }, { format: 'sha256' }])('ids of %o', (options) => {
  test('files that are prepared are read with one request', async () => {
    const { server: from, source, refs } = await serve(files, options);
    await from.git('gc', '-q', '--aggressive');
    const before = from.requests();
    expect(await source.prepare?.(refs, soon())).toBe(40);
    expect(from.requests() - before).toBe(1);
    const { contents, requests } = await readAll(source, refs, from);
    expect(contents).toEqual(files);
    expect(requests).toBe(0);
  });
});

test('files of one call are kept while those of the next are read', async () => {
  const { server: from, source, refs } = await serve(files);
  await source.prepare?.(refs.slice(0, 20), soon());
  await source.prepare?.(refs.slice(20), soon());
  expect((await readAll(source, refs, from)).requests).toBe(0);
  await source.prepare?.(refs.slice(20), soon());
  expect((await readAll(source, refs.slice(0, 20), from)).requests).toBe(20);
});

test('what was read with others is dropped when the last file with its content has taken it', async () => {
  const same = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`${n}.md`, `text ${n % 3}`]));
  const { server: from, source, refs } = await serve(same);
  expect(await source.prepare?.(refs.slice(0, 8), soon())).toBe(8);
  // With the same contents.
  expect(await source.prepare?.(refs.slice(8), soon())).toBe(4);
  const { contents, requests } = await readAll(source, refs, from);
  expect(contents).toEqual(same);
  expect(requests).toBe(0);
  expect(await readAll(source, refs, from)).toEqual({ contents: same, requests: 12 });
});

test('large files are read one by one, after one pack that was cut', async () => {
  const large = Object.fromEntries(
    Array.from({ length: 6 }, (_, n) => [`${n}.bin`, randomBytes(6 * 1_048_576)]),
  );
  const { server: from, source, refs } = await serve(large);
  const prepared = (await source.prepare?.(refs, soon())) ?? 0;
  expect(prepared).toBeLessThan(3);
  const { contents, requests } = await readAll(source, refs, from);
  expect(contents).toEqual(
    Object.fromEntries(Object.entries(large).map(([name, bytes]) => [name, bytes.toString('latin1')])),
  );
  expect(requests).toBe(6 - prepared);
  const before = from.requests();
  expect(await source.prepare?.(refs, soon())).toBe(0);
  expect(from.requests()).toBe(before);
});

test('a pack that is damaged, cut or refused changes no content', async () => {
  const { server: from, source, refs } = await serve(files);
  for (const answer of ['0008NAK\n', 'garbage', '']) {
    from.intercept = (_, response) => {
      response.writeHead(200, { 'content-type': 'application/x-git-upload-pack-result' }).end(answer);
      return true;
    };
    expect(await source.prepare?.(refs, soon())).toBe(0);
  }
  from.intercept = (_, response) => {
    response.writeHead(503).end();
    return true;
  };
  expect(await source.prepare?.(refs, soon())).toBe(0);
  from.intercept = null;
  expect((await readAll(source, refs, from)).contents).toEqual(files);
});

test('references that are no files of the commit need their own answer', async () => {
  const two = { 'a.md': 'A'.repeat(500), 'b.md': 'B'.repeat(500) };
  const { server: from, source, refs } = await serve(two);
  await from.put('c.md', 'C'.repeat(500));
  expect(await source.prepare?.([...refs, 'c.md', 'unknown.md'], soon())).toBe(2);
  expect((await readAll(source, refs, from)).contents).toEqual(two);
});

test('the signal of the caller ends it', async () => {
  const { server: from, source, refs } = await serve(files);
  from.intercept = () => true;
  await expect(source.prepare?.(refs, AbortSignal.timeout(200))).rejects.toMatchObject({
    name: 'TimeoutError',
  });
});
