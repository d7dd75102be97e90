import { startGitServer } from '../support/sources/git-server.ts';
import type { SourceServer } from '../support/sources/source-server.ts';
import { startWebdavServer, withoutWebdav } from '../support/sources/webdav-server.ts';
import { startCountingRelay, type CountingRelay } from './counting-relay.ts';

/** Why the sources cannot be served here; null: they can. */
export const withoutSources = withoutWebdav('apache2') ?? withoutWebdav('rclone');

/** The sources of a run; one more is a line. */
const starts: Record<string, () => Promise<SourceServer>> = {
  git: () => startGitServer({ secured: true }),
  apache: () => startWebdavServer('apache2', { secured: true }),
  rclone: () => startWebdavServer('rclone'),
};

/** A server that answers a request for a document after so long, so that a run lasts for some seconds. */
const contentMs = 100;

/** A source behind a relay, and the documents that it has now. */
export interface EditedSource {
  title: string;
  given: Pick<SourceServer, 'slug' | 'scopeConfig' | 'credential'>;
  origin: string;
  relay: CountingRelay;
  texts: Map<string, string>;
  /** @returns the number of documents whose content is new at its place */
  edit(random: () => number, edits: Edits): Promise<number>;
  close(): Promise<void>;
}

export interface Edits {
  added: number;
  changed: number;
  moved: number;
  removed: number;
}

export function startSources(): Promise<EditedSource[]> {
  return Promise.all(
    Object.entries(starts).map(async ([title, start]) => {
      const server = await start();
      const [target = ''] = server.allowedOrigins;
      const relay = await startCountingRelay(target, contentMs);
      const scopeConfig = JSON.parse(
        JSON.stringify(server.scopeConfig).replaceAll(target, relay.origin),
      ) as SourceServer['scopeConfig'];
      const credential = server.credential && { ...server.credential, origin: relay.origin };
      const texts = new Map<string, string>();
      return {
        title,
        given: { slug: server.slug, scopeConfig, credential },
        origin: relay.origin,
        relay,
        texts,
        edit: (random, edits) => edit({ server, texts, random }, edits),
        close: async () => {
          await relay.close();
          await server.close();
        },
      };
    }),
  );
}

const folders = ['', 'a/', 'a/b/', 'ä ö/', '100%/', 'документы/'];

async function edit(
  { server, texts, random }: { server: SourceServer; texts: Map<string, string>; random: () => number },
  { added, changed, moved, removed }: Edits,
): Promise<number> {
  const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(random() * list.length)];
  const text = () => `Entry ${random().toString(36).slice(2)} of the register.`;
  // Names come again after their document is gone.
  const fresh = () => {
    for (;;) {
      const name = `${pick(folders)}d${Math.floor(random() * 1_000)}.md`;
      if (!texts.has(name)) return name;
    }
  };
  /** Before this edit: none of them is edited twice. */
  const names = [...texts.keys()];
  const takeName = () => names.splice(Math.floor(random() * names.length), 1)[0];
  const put = async (name: string) => {
    texts.set(name, text());
    await server.put(name, texts.get(name) ?? '');
  };
  let fetched = 0;
  for (let n = 0; n < changed + moved + removed; n += 1) {
    const name = takeName();
    if (name === undefined) break;
    if (n < changed) {
      await put(name);
      fetched += 1;
    } else if (n < changed + moved) {
      const to = fresh();
      await server.move(name, to);
      texts.set(to, texts.get(name) ?? '');
      texts.delete(name);
      fetched += 1;
    } else {
      await server.remove(name);
      texts.delete(name);
    }
  }
  for (let n = 0; n < added; n += 1) await put(fresh());
  return fetched + added;
}
