import type { SourceProviders, SourceUse } from './source-providers.ts';
import { SourceFailure, type Source } from './source.ts';
import type { SyncErrorCode } from './sync-status.ts';

/** What a source has answered to a check; `message` is one sentence of the platform for administrators. */
export type CheckResult =
  | { ok: true; code: null; message: null }
  | { ok: false; code: SyncErrorCode; message: string };

/** Opens a source and checks it. Never rejects for a failure of the source. */
export async function probeSource(
  providers: SourceProviders,
  use: SourceUse,
  signal: AbortSignal,
): Promise<CheckResult> {
  let source: Source | null = null;
  try {
    source = await providers.open(use);
    signal.throwIfAborted();
    await source.check(signal);
    return { ok: true, code: null, message: null };
  } catch (error) {
    if (error instanceof SourceFailure) {
      return { ok: false, code: error.code, message: error.message };
    }
    throw error;
  } finally {
    await source?.close?.().catch(() => {});
  }
}
