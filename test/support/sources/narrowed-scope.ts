import { expect } from 'vitest';
import type { SourceProvider } from '#adapters/sources/provider.ts';
import { listAll, openSource } from './open-source.ts';
import type { SourceServer } from './source-server.ts';

type Opened = Pick<SourceServer, 'slug' | 'scopeConfig' | 'credential' | 'allowedOrigins' | 'roots'>;

/**
 * After a change of the scope a run asks for each document that its listing lacks: what the narrower scope leaves out
 * is still at the source, and would stay for ever if it counted as there.
 */
export async function expectNarrowed(
  provider: SourceProvider,
  server: Opened,
  narrower: Record<string, unknown>,
): Promise<void> {
  const wide = await openSource(provider, server);
  const narrow = await openSource(provider, {
    ...server,
    scopeConfig: { ...server.scopeConfig, ...narrower },
  });
  try {
    const stored = (await listAll(wide)).documents.map(({ ref }) => ref);
    const listed = new Set((await listAll(narrow)).documents.map(({ ref }) => ref));
    expect(stored.filter((ref) => !listed.has(ref))).not.toEqual([]);
    for (const ref of stored) {
      const exists = await narrow.exists(ref, AbortSignal.timeout(30_000));
      expect([ref, exists]).toEqual([ref, listed.has(ref)]);
    }
  } finally {
    await wide.close?.();
    await narrow.close?.();
  }
}
