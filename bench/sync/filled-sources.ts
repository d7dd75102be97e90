import { startFilesystemServer } from '#test/support/sources/filesystem-server.ts';
import { startGitServer } from '#test/support/sources/git-server.ts';
import { startS3Server } from '#test/support/sources/s3-server.ts';
import type { SourceServer } from '#test/support/sources/source-server.ts';
import { seeded, writeDocument } from '../ingest/documents.ts';
import type { SyncScale } from './sync-scale.ts';

export interface FilledSource {
  title: string;
  server: SourceServer;
  /** The scope of the hundredth part that `change` changes. */
  part: Record<string, unknown>;
  /** Changes the documents of one folder, one in a hundred. */
  change(): Promise<void>;
}

const folders = 100;
const writers = 16;

/** The same documents in a bucket, in a repository and in a folder, each in a hundred folders. */
export async function fillSources(scale: SyncScale): Promise<FilledSource[]> {
  const random = seeded(7);
  const s3 = await startS3Server();
  const git = await startGitServer();
  const files = await startFilesystemServer();
  const texts = Array.from({ length: scale.documents }, (_, n): [string, string] => [
    nameOf(n),
    writeDocument(random, scale.bytes),
  ]);
  for (const server of [s3, git, files]) {
    await putAll(server, texts);
  }
  const changing = (server: SourceServer) => () =>
    putAll(
      server,
      texts
        .filter((_, n) => n % folders === 0)
        .map(([name]) => [name, writeDocument(random, scale.bytes)] as const),
    );
  return [
    { title: 'S3', server: s3, part: { prefix: 'f00/' }, change: changing(s3) },
    { title: 'git', server: git, part: { path: 'f00' }, change: changing(git) },
    { title: 'files', server: files, part: { path: 'f00' }, change: changing(files) },
  ];
}

const nameOf = (n: number): string => `f${String(n % folders).padStart(2, '0')}/document-${n}.md`;

async function putAll(
  server: SourceServer,
  documents: readonly (readonly [name: string, text: string])[],
): Promise<void> {
  const left = documents.values();
  await Promise.all(
    Array.from({ length: writers }, async () => {
      for (const [name, text] of left) await server.put(name, text);
    }),
  );
}
